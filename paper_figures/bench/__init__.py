"""Measure how long decoding takes: against the loops in use (`loops`), and against what the device can do (`whole`).

What another device or dtype changes is measured by `devices`, whose processes set their environment before PyTorch is
imported: so nothing is imported here.
"""
