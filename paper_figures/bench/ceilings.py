"""What a device can do at best, measured: bytes copied per second, and operations per second of a matrix product."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

import torch

from paper_figures.bench.clock import each_seconds

__all__ = ["Ceilings", "copy_bandwidth", "matrix_rate", "measure_ceilings"]

# Larger than any cache, and enough of it that a copy takes far longer than its launch.
_COPY_BYTES = {"cuda": 2**31, "cpu": 2**27}
_SIDE = {"cuda": 8192, "cpu": 1024}


@dataclass(frozen=True)
class Ceilings:
    """bandwidth: bytes per second, read and written both counted; rate: operations per second, of `dtype`."""

    bandwidth: float
    rate: float
    dtype: str

    def __post_init__(self) -> None:
        if not (self.bandwidth > 0 and self.rate > 0):
            raise ValueError(f"bandwidth is {self.bandwidth} and rate {self.rate}: both must be positive")


def copy_bandwidth(device: torch.device, *, nbytes: int | None = None, repeats: int = 7, seed: int = 0) -> float:
    """Return the bytes per second, read plus written, of copying `nbytes` random bytes: the median of several copies.

    nbytes: a multiple of 8; 2 GiB on CUDA, 128 MiB on a CPU if not given.
    """
    size = (_COPY_BYTES.get(device.type, _COPY_BYTES["cpu"]) if nbytes is None else nbytes) // 8
    draw = torch.Generator(device).manual_seed(seed)
    source = torch.empty(size, dtype=torch.int64, device=device).random_(generator=draw)
    target = torch.empty_like(source)
    return 2 * source.nbytes / median(each_seconds([lambda: target.copy_(source)], device, repeats=repeats))


def matrix_rate(
    device: torch.device, dtype: torch.dtype, *, side: int | None = None, repeats: int = 7, seed: int = 0
) -> float:
    """Return the operations per second, 2 side^3 each, of products of random square matrices: the median of several.

    side: 8192 on CUDA, 1024 on a CPU if not given.
    """
    side = _SIDE.get(device.type, _SIDE["cpu"]) if side is None else side
    draw = torch.Generator(device).manual_seed(seed)
    pairs = [[torch.empty(side, side, dtype=dtype, device=device).normal_(generator=draw) for _ in "ab"] for _ in "xy"]
    out = torch.empty(side, side, dtype=dtype, device=device)
    calls = [lambda a=a, b=b: torch.matmul(a, b, out=out) for a, b in pairs]
    return 2 * side**3 / median(each_seconds(calls, device, repeats=repeats))


def measure_ceilings(device: torch.device, dtype: torch.dtype, *, seed: int = 0) -> Ceilings:
    """Return both ceilings of a device, for products of `dtype`."""
    bandwidth = copy_bandwidth(device, seed=seed)
    rate = matrix_rate(device, dtype, seed=seed)
    return Ceilings(bandwidth, rate, str(dtype).removeprefix("torch."))
