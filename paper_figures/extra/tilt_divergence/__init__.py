"""How far the distributions of strategies and steering methods are from the reward-tilted one, by forwards.

Needs: steering
"""
