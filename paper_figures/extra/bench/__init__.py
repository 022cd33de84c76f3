"""Measure how long decoding takes: against the loops in use (`loops`), and against what the device can do (`whole`).

What another device or dtype changes is told by `rws check`.

Needs: compact savings testing
"""
