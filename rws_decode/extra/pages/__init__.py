"""Pages to scrub of one decode, or of several in lock-step, and the tables that notebooks show of results.

Needs: diff
"""
