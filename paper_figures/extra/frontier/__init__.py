"""The Pareto front of log-probability and reward after one prompt of an exact model, and methods below it.

Needs: steering
"""
