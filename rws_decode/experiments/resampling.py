"""What the statistics of paired results share: checked arrays, percentile intervals, batches that bound memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rws_decode.metrics import Interval

__all__ = ["batch_sizes", "check_resampling", "finite_arrays", "percentile_interval"]


def finite_arrays(**arrays: ArrayLike) -> list[NDArray[np.float64]]:
    """Return the arrays in float64; ValueError unless all are finite and of one shape (n,), n >= 1.

    >>> finite_arrays(god=[1, 2], outcome=[0, 1])[1]
    array([0., 1.])
    """
    found = {name: np.asarray(values, dtype=np.float64) for name, values in arrays.items()}
    first, size = next((name, array.size) for name, array in found.items())
    for name, array in found.items():
        if array.ndim != 1 or not array.size:
            raise ValueError(f"{name} has shape {array.shape}: (n,) with n >= 1 is needed")
        if array.size != size:
            raise ValueError(f"{name} has {array.size} values: {first} has {size}, pairs are needed")
        if not np.isfinite(array).all():
            raise ValueError(f"{name} holds values that are not finite")
    return list(found.values())


def check_resampling(level: float, resamples: int) -> None:
    """Raise ValueError unless 0 < level < 1 and resamples >= 1."""
    if not 0 < level < 1:
        raise ValueError(f"level is {level}: it must lie strictly between 0 and 1")
    if resamples < 1:
        raise ValueError(f"resamples is {resamples}: at least 1 is needed")


def percentile_interval(estimate: float, draws: NDArray[np.float64], level: float) -> Interval:
    """Return the estimate with the percentile bootstrap interval of its resampled values, shape (m,), m >= 1.

    >>> percentile_interval(0.0, np.arange(-50.0, 51.0), 0.9)
    Interval(mean=0.0, low=-45.0, high=45.0)
    """
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(estimate), float(low), float(high))


def batch_sizes(total: int, width: int, cells: int = 2**20) -> Iterator[int]:
    """Yield sizes that add up to `total`, each of at most `cells` / `width` rows, and of at least one.

    >>> list(batch_sizes(10, 25, cells=100))
    [4, 4, 2]
    """
    most = max(1, cells // width)
    for start in range(0, total, most):
        yield min(most, total - start)
