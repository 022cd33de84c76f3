"""Animated pictures of one decode, or of two in lock-step.

Needs: diff pages
"""
