"""Compute a mean or share with an interval around it.

A mean gets a bootstrap interval: BCa allows for skew (`mean_interval`), percentiles do not and cover skewed values too
seldom. A share gets Wilson's interval or an exact one.
"""

from __future__ import annotations

import warnings
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from paper_figures.statistics.resampling import batch_sizes, check_resampling, finite_arrays
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

    `values` are finite independent draws, shape (n,), n >= 1. The interval takes the draws as they are: with n = 1, or
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
    """Return successes / total with the exact interval of Clopper and Pearson (1934), of independent draws.

    >>> [round(number, 3) for number in exact_share(0, 10)]
    [0.0, 0.0, 0.308]
    """
    ends = stats.binomtest(successes, total).proportion_ci(level, method="exact")
    return Interval(successes / total, float(ends.low), float(ends.high))


def mean_interval(values: ArrayLike, rng: np.random.Generator, level: float = 0.95, resamples: int = 9999) -> Interval:
    """Return the mean of values with a BCa bootstrap interval (Efron 1987; `scipy.stats.bootstrap`).

    It corrects the percentile interval for bias and skew, and stays within the range of the values. `values` are finite
    independent draws, shape (n,), n >= 1. If all are equal but for rounding, the mean can be any number, as a rare draw
    may be as large as it likes: the ends are -inf and inf. No method sees what was not drawn: with fewer than about 20
    values other than 0, trust no interval. The same state of `rng` gives the same interval. ValueError is raised for
    other values, a level outside (0, 1), or resamples so few that all lie on one side of the mean.

    >>> [round(number, 1) for number in mean_interval([1, 2, 2, 3, 12], np.random.default_rng(0))]
    [4.0, 1.8, 10.0]
    """
    (array,) = finite_arrays(values=values)
    check_resampling(level, resamples)
    if nearly_equal(array):
        return Interval(float(array.mean()), -inf, inf)
    if resamples == 1:
        raise ValueError("resamples is 1: an interval needs more, such as 9999")
    with warnings.catch_warnings():  # of ends that are not numbers; the error below says what to do
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        ends = stats.bootstrap(
            (array,), np.mean, n_resamples=resamples, confidence_level=level, method="BCa", batch=1024, rng=rng
        ).confidence_interval
    if not np.isfinite([ends.low, ends.high]).all():
        raise ValueError(f"resamples is {resamples}: all lie on one side of the mean, so more are needed, such as 9999")
    return Interval(float(array.mean()), float(ends.low), float(ends.high))


def paired_mean_interval(
    first: ArrayLike, second: ArrayLike, rng: np.random.Generator, level: float = 0.95, resamples: int = 9999
) -> Interval:
    """Return the mean of first - second with its bootstrap interval over the pairs: `mean_interval` of differences.

    `first` and `second` have shape (n,) and are of the same prompts in the same order. A difference that is only
    rounding counts as 0.

    >>> paired_mean_interval([0.5, 0.5], [0.5, 0.5], np.random.default_rng(0))
    Interval(mean=0.0, low=-inf, high=inf)
    """
    return mean_interval(paired_differences(first, second), rng, level, resamples)


def clustered_interval(values: ArrayLike, groups: ArrayLike, level: float = 0.95) -> Interval:
    """Return the mean of values with an interval over groups, whose members may be alike: of independent groups.

    mean +- t se, t of Student's law with G - 1 degrees of freedom, se = sqrt(G / (G - 1) sum over groups of (sum of the
    group's deviations)^2) / n (Liang and Zeger 1986). values, groups: shape (n,). The ends are -inf and inf for fewer
    than two groups, and for equal values. Its coverage at 12 groups, simulated: 0.95 of equal sizes, 0.93 of 2
    to 39 values.

    >>> [round(number, 2) for number in clustered_interval([0.0, 1.0, 2.0, 3.0], ["a", "a", "b", "b"])]
    [1.5, -11.21, 14.21]
    """
    (array,) = finite_arrays(values=values)
    names, places = np.unique(np.asarray(groups), return_inverse=True)
    if len(names) < 2 or nearly_equal(array):
        return Interval(float(array.mean()), -inf, inf)
    sums = np.bincount(places, weights=array - array.mean())
    error = np.sqrt(len(names) / (len(names) - 1) * (sums**2).sum()) / array.size
    half = float(stats.t.ppf((1 + level) / 2, len(names) - 1) * error)
    return Interval(float(array.mean()), float(array.mean()) - half, float(array.mean()) + half)


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
