"""Compute a mean or share with an interval around it.

A mean gets a bootstrap interval. A share gets Wilson's interval, an exact one, or one for clusters.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import expm1, log1p
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

__all__ = [
    "Interval",
    "bootstrap_interval",
    "clustered_share",
    "exact_share",
    "none_of_n",
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
    if not 0 < level < 1:
        raise ValueError(f"level is {level}: it must lie strictly between 0 and 1")
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


def none_of_n(n: int, level: float = 0.95) -> float:
    """Return the largest share that is still plausible if none of n independent draws showed what was looked for.

    It is the exact one-sided upper bound 1 - (1 - level)^(1/n). At level 0.95 it is about 3 / n, the rule of three
    (Hanley and Lippman-Hand 1983), which is never less than it. ValueError is raised unless n >= 1 and 0 < level < 1.

    >>> round(none_of_n(400), 4), 3 / 400
    (0.0075, 0.0075)
    """
    if n < 1 or not 0 < level < 1:
        raise ValueError(f"n is {n} and level {level}: n >= 1 draws and a level in (0, 1) are needed")
    return -expm1(log1p(-level) / n)


def clustered_share(
    successes: Sequence[int],
    totals: Sequence[int],
    rng: np.random.Generator,
    level: float = 0.95,
    resamples: int = 9999,
) -> Interval:
    """Return the pooled share of successes in clusters, with an interval that resamples whole clusters.

    It is the percentile bootstrap interval. If the share is 0 or 1, that has no width, and the exact interval of as
    many draws as clusters replaces it. With one cluster the interval is 0 to 1. `successes` and `totals` are those of
    each cluster, totals >= 1. ValueError is raised for no clusters, and for other counts.

    >>> [round(number, 3) for number in clustered_share([0, 0, 0], [8, 8, 8], np.random.default_rng(0))]
    [0.0, 0.0, 0.708]
    """
    s, t = np.asarray(successes), np.asarray(totals)
    if s.ndim != 1 or s.shape != t.shape or not s.size or not ((s >= 0) & (s <= t) & (t >= 1)).all():
        raise ValueError(f"successes is {successes!r}, totals {totals!r}: counts of at least one cluster are needed")
    share = float(s.sum() / t.sum())
    if s.size == 1:
        return Interval(share, 0.0, 1.0)
    if share in (0.0, 1.0):
        return exact_share(int(share) * s.size, s.size, level)
    picked = rng.integers(s.size, size=(resamples, s.size))
    return percentile_interval(share, s[picked].sum(axis=1) / t[picked].sum(axis=1), level)


def _finite(name: str, values: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not array.size:
        raise ValueError(f"{name} has shape {array.shape}: (n,) with n >= 1 is needed")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds values that are not finite")
    return array
