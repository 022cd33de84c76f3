"""How far the distributions of methods are from the reward-tilted one, at budgets of forwards.

Needs: steering testing
"""
