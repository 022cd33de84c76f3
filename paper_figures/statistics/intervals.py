"""Compute a mean or share with an interval around it.

A mean gets a bootstrap interval. A share gets Wilson's interval or an exact one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from rws_theory.checks import finite

__all__ = [
    "Interval",
    "bootstrap_interval",
    "exact_share",
    "paired_bootstrap_interval",
    "percentile_interval",
    "share_interval",
]


class Interval(NamedTuple):
    """A mean (or share) with the interval around it."""

    mean: float
    low: float
    high: float


def bootstrap_interval(
    values: ArrayLike, rng: np.random.Generator, level: float = 0.95, resamples: int = 9999
) -> Interval:
    """Return the mean of values and its percentile bootstrap interval (Efron 1979; `scipy.stats.bootstrap`).

    `values` are finite independent draws, shape (n,), n >= 1. The interval takes the draws as they are: with n = 1, or
    equal values, it has width 0 and says nothing about the population. It never leaves the range of the values. The
    same state of `rng` gives the same interval. ValueError is raised for other values or a level outside (0, 1).

    >>> bootstrap_interval([1.0, 1.0], np.random.default_rng(0))
    Interval(mean=1.0, low=1.0, high=1.0)
    """
    array = _finite("values", values)
    finite("level", level, above=0, below=1)
    mean = float(array.mean())
    if np.ptp(array) == 0:
        return Interval(mean, mean, mean)
    ends = stats.bootstrap(
        (array,), np.mean, n_resamples=resamples, confidence_level=level, method="percentile", batch=1024, rng=rng
    ).confidence_interval
    return Interval(mean, float(ends.low), float(ends.high))


def paired_bootstrap_interval(
    first: ArrayLike, second: ArrayLike, rng: np.random.Generator, level: float = 0.95, resamples: int = 9999
) -> Interval:
    """Return the mean of first - second and its bootstrap interval over the pairs (see `bootstrap_interval`).

    `first` and `second` have shape (n,) and are of the same prompts in the same order. So what differs between prompts
    cancels.

    >>> paired_bootstrap_interval([3.0, 5.0], [1.0, 3.0], np.random.default_rng(0))
    Interval(mean=2.0, low=2.0, high=2.0)
    """
    first_values, second_values = _finite("first", first), _finite("second", second)
    if first_values.shape != second_values.shape:
        raise ValueError(f"second has {second_values.size} values: first has {first_values.size}, pairs are needed")
    return bootstrap_interval(first_values - second_values, rng, level, resamples)


def percentile_interval(estimate: float, draws: NDArray[np.float64], level: float) -> Interval:
    """Return the estimate with the percentile bootstrap interval of its resampled values, shape (m,), m >= 1.

    >>> percentile_interval(0.0, np.arange(-50.0, 51.0), 0.9)
    Interval(mean=0.0, low=-45.0, high=45.0)
    """
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(estimate), float(low), float(high))


def share_interval(successes: int, total: int, level: float = 0.95) -> Interval:
    """Return successes / total with Wilson's score interval (Wilson 1927), which has a width at 0 and 1 too.

    ValueError is raised unless 0 <= successes <= total and total >= 1.

    >>> [round(number, 3) for number in share_interval(16, 16)]
    [1.0, 0.806, 1.0]
    """
    if not 0 <= successes <= total or total < 1:
        raise ValueError(f"successes is {successes}: it must be 0 to total, which is {total} and must be at least 1")
    ends = stats.binomtest(successes, total).proportion_ci(level, method="wilson")
    return Interval(successes / total, float(ends.low), float(ends.high))


def exact_share(successes: int, total: int, level: float = 0.95) -> Interval:
    """Return successes / total with the exact interval of Clopper and Pearson (1934), of independent draws.

    >>> [round(number, 3) for number in exact_share(0, 10)]
    [0.0, 0.0, 0.308]
    """
    ends = stats.binomtest(successes, total).proportion_ci(level, method="exact")
    return Interval(successes / total, float(ends.low), float(ends.high))


def _finite(name: str, values: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not array.size:
        raise ValueError(f"{name} has shape {array.shape}: (n,) with n >= 1 is needed")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds values that are not finite")
    return array
