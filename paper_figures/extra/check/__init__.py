"""Whether a model answers alike on another machine.

Needs: diff
"""
