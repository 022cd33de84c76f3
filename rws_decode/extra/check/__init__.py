"""Whether a model answers alike on another machine, and which answers hinge on a near-tie.

Needs: diff
"""
