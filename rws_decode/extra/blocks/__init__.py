"""Models that fill a text block by block, causal in their past, and the kept keys and values that save forwards.

Needs: families
"""
