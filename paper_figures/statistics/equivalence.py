"""Test whether two methods are equivalent, and compute the least difference that a number of prompts can find.

A large p-value is no proof of "no difference". Equivalence within a margin is a claim with its own test.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from paper_figures.statistics.intervals import nearly_equal, spread_of
from paper_figures.statistics.resampling import finite_arrays
from rws_decode.common.later import optimize, stats
from rws_theory.checks import finite


class Equivalence(NamedTuple):
    """What two one-sided tests of a difference within +-margin say (TOST; Schuirmann 1987).

    `p` is the greater p of the two tests: at most alpha means that the difference lies within the margin. `p_different`
    is the two-sided p of a difference of 0. Both can be small: a difference can be significant and too small to matter.
    """

    p: float
    p_different: float


def tost(differences: ArrayLike, margin: float, groups: ArrayLike | None = None) -> Equivalence:
    """Test whether the mean of paired differences lies within +-margin, by two one-sided t tests.

    `differences` are finite, shape (n,), n >= 1, and `margin` > 0 is in their unit. groups: names of clusters whose
    differences may be alike; error and degrees of freedom are those of `spread_of`. If all differences are equal but
    for rounding, or in one group, there is no t, and p is 1. ValueError is raised for other values, or a margin that is
    not positive and finite.

    >>> round(tost([0.1, -0.1, 0.2, -0.2, 0.0, 0.1, -0.1, 0.0], margin=0.2).p, 4)
    0.0017
    """
    (array,) = finite_arrays(differences=differences)
    finite("margin", margin, above=0)
    mean, (error, freedom) = float(array.mean()), spread_of(array, groups)
    if nearly_equal(array) or not 0 < error < inf:
        count = array.size if groups is None else np.unique(np.asarray(groups)).size
        return Equivalence(1.0, 1.0 if mean == 0 else 2.0 ** (1 - count))
    inside, zero = stats.t.sf([(margin - abs(mean)) / error, abs(mean) / error], freedom)
    return Equivalence(float(inside), float(2 * zero))


def least_difference(spread: ArrayLike, n: int, power: float = 0.8, alpha: float = 0.05) -> float | None:
    """Return the least true mean difference that a two-sided paired t test of n prompts finds with this probability.

    `spread` is the standard deviation of the differences, or the differences themselves, shape (m,), m >= 2, of which
    it is taken. Print it beside every "no difference". The result is None for differences that are all equal, as they
    tell no standard deviation. ValueError is raised for a standard deviation that is not positive, n < 2, alpha outside
    (0, 1), or a power outside (alpha, 1).

    >>> round(least_difference(1.0, 16), 3), round(least_difference(1.0, 400), 3)
    (0.749, 0.14)
    """
    _check_power(power, alpha)
    if np.ndim(spread) == 0:
        sd = float(np.asarray(spread, dtype=np.float64))
    else:
        (array,) = finite_arrays(spread=spread)
        if array.size < 2:
            raise ValueError(f"spread has {array.size} value: give at least 2 differences, or their standard deviation")
        if nearly_equal(array):
            return None
        sd = float(array.std(ddof=1))
    if not 0 < sd < inf or n < 2:
        raise ValueError(f"sd and n are {(sd, n)}: sd > 0 and n >= 2 are needed")
    return _center_of(n, power, alpha) * sd / sqrt(n)


@lru_cache(maxsize=64)
def _center_of(n: int, power: float, alpha: float) -> float:
    """Return the noncentrality at which the t test has this power."""
    high = 1.0
    while _power_at(high, n, alpha) < power:
        high *= 2
    center: Any = optimize.brentq(lambda center: _power_at(center, n, alpha) - power, 0.0, high)
    return float(center)


def _power_at(center: float, n: int, alpha: float) -> float:
    """Return the power of the two-sided t test of n normal differences at a noncentrality, sqrt(n) mean / sd.

    Then t has a noncentral t distribution with n - 1 degrees of freedom (`scipy.stats.nct`), which is exact. The far
    tail is the upper one of the mirrored distribution: SciPy's lower one can be NaN there.
    """
    cut = stats.t.isf(alpha / 2, n - 1)
    return float(stats.nct.sf(cut, n - 1, center) + stats.nct.sf(cut, n - 1, -center))


def _check_power(power: float, alpha: float) -> None:
    if not 0 < alpha < power < 1:
        raise ValueError(f"power is {power} and alpha {alpha}: 0 < alpha < power < 1 is needed, such as 0.8 and 0.05")
