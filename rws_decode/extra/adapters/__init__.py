"""The decoder behind other libraries' calls: transformers' generate, Dream's hooks, lm-evaluation-harness.

Needs: drafts log_prob
"""
