"""Pictures along the scale: confidence curves, sets that change, answers of a path, and how far a set is stable.

Needs: diff pages scale_paths
"""
