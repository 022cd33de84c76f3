"""Compute a mean or share with an interval around it.

A mean gets an interval of the bootstrap's kind: ABC allows for skew (`mean_interval`), percentiles do not and cover
skewed values too seldom. A share gets Wilson's interval or an exact one.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paper_figures.statistics.resampling import batch_sizes, finite_arrays
from rws_decode.common.later import stats
from rws_theory.checks import finite

ROUNDING = 1e-12  # values this close, relative to the largest, are equal but for rounding


class Interval(NamedTuple):
    """A mean (or share) with the interval around it."""

    mean: float
    low: float
    high: float


def bootstrap_interval(
    values: ArrayLike, rng: np.random.Generator, level: float = 0.95, resamples: int = 9999
) -> Interval:
    """Return the mean of values and its percentile bootstrap interval (Efron 1979; `scipy.stats.bootstrap`).

    `values` are finite independent samples, shape (n,), n >= 1. The interval takes them as they are: with n = 1, or
    equal values, it has width 0 and says nothing about the population. It never leaves the range of the values. The
    same state of `rng` gives the same interval. ValueError is raised for other values or a level outside (0, 1).

    >>> bootstrap_interval([1.0, 1.0], np.random.default_rng(0))
    Interval(mean=1.0, low=1.0, high=1.0)
    """
    (array,) = finite_arrays(values=values)
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
    first_values, second_values = finite_arrays(first=first, second=second)
    return bootstrap_interval(first_values - second_values, rng, level, resamples)


def ratio_interval(first: ArrayLike, second: ArrayLike, rng: np.random.Generator) -> Interval | None:
    """Return the mean of `first` over that of `second` with its 95 % percentile bootstrap interval over the pairs.

    Both are finite, (n,), n >= 1, of the same prompts in the same order. None if the second mean is 0, here or in one
    of the 9999 resamples. ValueError is raised for other values.

    >>> ratio_interval([2.0, 4.0], [1.0, 2.0], np.random.default_rng(0))
    Interval(mean=2.0, low=2.0, high=2.0)
    """
    pairs = np.stack(finite_arrays(first=first, second=second))
    count = pairs.shape[1]
    draws = [pairs[:, rng.integers(count, size=(size, count))].mean(axis=2) for size in batch_sizes(9999, count)]
    above, below = np.column_stack([pairs.mean(axis=1), *draws])
    if not below.all():
        return None
    low, high = np.quantile(above[1:] / below[1:], [(1 - 0.95) / 2, (1 + 0.95) / 2])
    return Interval(float(above[0] / below[0]), float(low), float(high))


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
    """Return successes / total with the exact interval of Clopper and Pearson (1934), of independent samples.

    >>> [round(number, 3) for number in exact_share(0, 10)]
    [0.0, 0.0, 0.308]
    """
    ends = stats.binomtest(successes, total).proportion_ci(level, method="exact")
    return Interval(successes / total, float(ends.low), float(ends.high))


def mean_interval(values: ArrayLike, level: float = 0.95) -> Interval:
    """Return the mean of values with its ABC interval: the BCa bootstrap's, computed without resampling.

    An end is mean + s w / (1 - a w)^2 with w = a + z (DiCiccio and Efron 1992). Here s = sqrt(sum d^2) / n and
    a = sum d^3 / (6 (sum d^2)^(3/2)) of the values minus their mean, d, and z is a normal quantile. No seed is needed.

    It allows for skew, and stays within the range of the values. `values` are finite independent samples, (n,). If
    all are equal but for rounding, the mean can be any number, as a rare value may be arbitrarily large: the ends are
    -inf and inf. No method sees what was not sampled: with fewer than about 20 values other than 0, trust no interval.
    ValueError is raised for other values, or a level outside (0, 1).

    >>> [round(number, 1) for number in mean_interval([1, 2, 2, 3, 12])]
    [4.0, 1.6, 10.1]
    """
    (array,) = finite_arrays(values=values)
    finite("level", level, above=0, below=1)
    mean = float(array.mean())
    if nearly_equal(array):
        return Interval(mean, -inf, inf)
    largest = np.abs(array - mean).max()
    deviations = (array - mean) / largest  # no power under- or overflows
    length = np.linalg.norm(deviations)
    skew = (deviations**3).sum() / (6 * length**3)
    shifted = skew + stats.norm.ppf([(1 - level) / 2, (1 + level) / 2])
    ends = mean + largest * length / array.size * shifted / (1 - skew * shifted) ** 2
    low, high = np.clip(ends, array.min(), array.max())
    return Interval(mean, float(low), float(high))


def spread_of(values: ArrayLike, groups: ArrayLike | None = None) -> tuple[float, float]:
    """Return the standard error of the mean of values over groups, whose members may be alike, and its freedom.

    The error is the jackknife's, which leaves out one group at a time: sqrt((G - 1) / G sum of squared changes of the
    mean). freedom = n^2 / (sum of squared group sizes) - 1, as for that many groups of one size (Kish 1965). Without
    groups each value is one, and both are the t test's. The error is infinite for one group.

    >>> spread_of([0.0, 1.0, 2.0, 3.0], ["a", "a", "b", "b"])
    (1.0, 1.0)
    """
    (array,) = finite_arrays(values=values)
    places = np.arange(array.size) if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
    sizes = np.bincount(places)
    if sizes.size < 2:
        return inf, 0.0
    changes = np.bincount(places, weights=array - array.mean()) / (array.size - sizes)
    error = np.sqrt((1 - 1 / sizes.size) * (changes**2).sum())
    return float(error), float(array.size**2 / (sizes**2).sum() - 1)


def clustered_interval(values: ArrayLike, groups: ArrayLike, level: float = 0.95) -> Interval:
    """Return the mean of values with an interval over groups, whose members may be alike: of independent groups.

    It is mean +- t error, by `spread_of` and Student's t. values, groups: shape (n,). The ends are -inf and inf for
    fewer than two groups, and for equal values. Coverages are in docs/evidence-limits.md.

    >>> [round(number, 2) for number in clustered_interval([0.0, 1.0, 2.0, 3.0], ["a", "a", "b", "b"])]
    [1.5, -11.21, 14.21]
    """
    (array,) = finite_arrays(values=values)
    mean, (error, freedom) = float(array.mean()), spread_of(array, groups)
    if not np.isfinite(error) or nearly_equal(array):
        return Interval(mean, -inf, inf)
    half = float(stats.t.ppf((1 + level) / 2, freedom) * error)
    return Interval(mean, mean - half, mean + half)


def paired_differences(first: ArrayLike, second: ArrayLike) -> NDArray[np.float64]:
    """Return first - second, with 0 where they differ by rounding alone, 1e-12 of the larger. Both are finite, (n,).

    >>> paired_differences([0.1 + 0.2, 2.0], [0.3, 1.0]).tolist()
    [0.0, 1.0]
    """
    first_values, second_values = finite_arrays(first=first, second=second)
    differences = first_values - second_values
    rounding = ROUNDING * np.maximum(np.abs(first_values), np.abs(second_values))
    return np.where(np.abs(differences) <= rounding, 0.0, differences)


def nearly_equal(values: NDArray[np.float64]) -> bool:
    """Return whether all values are equal but for rounding: their range is at most 1e-12 of the largest.

    >>> nearly_equal(np.array([0.1 + 0.2, 0.3])), nearly_equal(np.array([0.0, 1e-300]))
    (True, False)
    """
    return bool(np.ptp(values) <= ROUNDING * np.abs(values).max())
