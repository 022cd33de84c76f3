"""How long decoding takes, beside the loops in use (`bench`) and beside what the device can do (`whole`)."""

from paper_figures.bench.loops import bench

__all__ = ["bench"]
