"""Compute a mean with a bootstrap interval that allows for skew, and that claims no width 0 where all values are equal.

The percentile bootstrap of `paper_figures.statistics.intervals` covers skewed values too seldom.
"""

from __future__ import annotations

import warnings
from math import inf
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from paper_figures.statistics.intervals import Interval, exact_share
from paper_figures.statistics.resampling import batch_sizes, check_resampling, finite_arrays
from rws_theory.checks import one_of

__all__ = ["equal_values_interval", "mean_interval", "nearly_equal", "paired_differences", "paired_mean_interval"]

Method = Literal["BCa", "studentised"]

ROUNDING = 1e-12  # values this close, relative to the largest, are equal but for rounding


def mean_interval(
    values: ArrayLike,
    rng: np.random.Generator,
    level: float = 0.95,
    resamples: int = 9999,
    *,
    method: Method = "BCa",
    bounds: tuple[float, float] | None = None,
) -> Interval:
    """Return the mean of values with a bootstrap interval that allows for skew.

    - "BCa" corrects the percentile interval for bias and skew (Efron 1987; `scipy.stats.bootstrap`). It stays within
      the range of the values.
    - "studentised" (bootstrap-t; Efron 1979) is mean - t s / sqrt(n), with t the quantiles of (m* - mean) sqrt(n) / s*
      over resamples with mean m* and standard deviation s*. It is wider, and covers skewed values better below about
      100 draws (`tests/support/interval_coverage.py`). Where many resamples have s* = 0, an end can be infinite.

    `values` are finite independent draws, shape (n,), n >= 1. If all are equal but for rounding, both are undefined and
    :func:`equal_values_interval` replaces them. That one uses `bounds`, the least and the greatest value that a draw
    can have. No method sees what was not drawn: with fewer than about 20 values other than 0, trust none of them. The
    same state of `rng` gives the same interval. ValueError is raised for other values, bounds that exclude a value, a
    level outside (0, 1), or resamples so few that all lie on one side of the mean.

    >>> [round(number, 1) for number in mean_interval([1, 2, 2, 3, 12], np.random.default_rng(0))]
    [4.0, 1.8, 10.0]
    """
    one_of("method", method, get_args(Method))
    (array,) = finite_arrays(values=values)
    check_resampling(level, resamples)
    if nearly_equal(array):
        return equal_values_interval(float(array.mean()), array.size, level, bounds)
    _check_bounds(float(array.min()), float(array.max()), bounds)
    if resamples == 1:
        raise ValueError("resamples is 1: an interval needs more, such as 9999")
    if method == "studentised":
        return _studentised(array, rng, level, resamples)
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
    first: ArrayLike,
    second: ArrayLike,
    rng: np.random.Generator,
    level: float = 0.95,
    resamples: int = 9999,
    *,
    method: Method = "BCa",
    bounds: tuple[float, float] | None = None,
) -> Interval:
    """Return the mean of first - second with its bootstrap interval over the pairs: `mean_interval` of differences.

    `first` and `second` have shape (n,) and are of the same prompts in the same order. `bounds` are the least and the
    greatest *difference*: (-1, 1) for scores in [0, 1]. A difference that is only rounding counts as 0.

    >>> equal = [0.5] * 16  # no pair differs: at most 20.6 % of the prompts do, each by at most 1
    >>> [round(n, 3) for n in paired_mean_interval(equal, equal, np.random.default_rng(0), bounds=(-1, 1))]
    [0.0, -0.206, 0.206]
    """
    return mean_interval(paired_differences(first, second), rng, level, resamples, method=method, bounds=bounds)


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


def equal_values_interval(
    value: float, n: int, level: float = 0.95, bounds: tuple[float, float] | None = None
) -> Interval:
    """Return the interval of a mean of which n independent draws all were `value`.

    With h = exact_share(0, n).high, at most a share h of the draws has another value, which lies in `bounds`
    (low, high). So the mean lies between value - h (value - low) and value + h (high - value). Without bounds it can
    be any number, as a rare draw may be as large as it likes: the ends are -inf and inf. ValueError is raised for
    bounds that exclude the value.

    >>> equal_values_interval(1.0, 10)
    Interval(mean=1.0, low=-inf, high=inf)
    >>> [round(number, 3) for number in equal_values_interval(1.0, 10, bounds=(0, 5))]
    [1.0, 0.692, 2.234]
    """
    _check_bounds(value, value, bounds)
    if bounds is None:
        return Interval(value, -inf, inf)
    share = exact_share(0, n, level).high
    return Interval(value, value - share * (value - bounds[0]), value + share * (bounds[1] - value))


def _studentised(array: NDArray[np.float64], rng: np.random.Generator, level: float, resamples: int) -> Interval:
    n, mean, sd = array.size, float(array.mean()), float(array.std(ddof=1))
    ratios: list[NDArray[np.float64]] = []
    for size in batch_sizes(resamples, n):
        drawn = array[rng.integers(n, size=(size, n))]
        distance, spread = drawn.mean(axis=1) - mean, drawn.std(axis=1, ddof=1)
        distance[np.abs(distance) <= ROUNDING * np.abs(array).max()] = 0.0
        none = np.ptp(drawn, axis=1) == 0  # only rounding is left in their spread
        ratios.append(np.where(none & (distance != 0), np.copysign(inf, distance), 0.0))
        ratios[-1] = np.divide(distance, spread, out=ratios[-1], where=~none)
    low, high = np.quantile(np.concatenate(ratios), [(1 - level) / 2, (1 + level) / 2], method="nearest")
    return Interval(mean, mean - float(high) * sd, mean - float(low) * sd)


def _check_bounds(least: float, greatest: float, bounds: tuple[float, float] | None) -> None:
    if bounds is not None and not bounds[0] <= least <= greatest <= bounds[1]:
        raise ValueError(f"bounds is {bounds}: the values reach from {least} to {greatest}, which it must enclose")
