"""How long decoding takes: beside the loops in use (`bench`), and of a whole GPU beside its limits (`whole.measure`)."""

from rws_decode.bench.loops import bench

__all__ = ["bench"]
