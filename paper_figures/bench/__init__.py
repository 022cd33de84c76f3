"""Measure how long decoding takes: against the loops in use (`loops`), and against what the device can do (`whole`)."""

from paper_figures.bench.loops import bench

__all__ = ["bench"]
