"""This package inside other programs: lm-evaluation-harness, and Dream's own sampling loop."""
