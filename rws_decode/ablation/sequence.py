"""Confidence sequences: intervals of a mean that all hold at once, so that one may stop as soon as they decide."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rws_theory.checks import finite

__all__ = ["confidence_sequence", "least_prompts"]

_CUT = 0.9  # of the largest bet that keeps the capital positive
_POINTS = 1201  # means that are tried, from -bound to bound


def confidence_sequence(
    values: Sequence[float] | NDArray[np.float64], level: float = 0.95, bound: float = 3.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return an interval of the values' mean after each value, (low, high), float64 [n] each.

    A gambler bets on whether the next value is above a mean m, another whether it is below, each with 1 at first. The
    bets are fair if m is the mean, so that neither ever has 2 / (1 - level) but with probability (1 - level) / 2
    (Ville). The interval has the means at which no gambler was ever so rich: the hedged capital process of
    Waudby-Smith and Ramdas (2023), "Estimating means of bounded random variables by betting", Section 4. A bet is
    sqrt(2 ln(2 / (1 - level)) / (variance so far times t)), t at least 100, with one further value of size 1 in the
    variance, so that values which were all equal so far are not taken to be equal for ever; and at most nine tenths of
    what a gambler can lose.

    bound: values beyond -bound and bound count as these, and the mean is that of the values so cut. Guarantee: if the
    values are independent, or each has the same mean given those before it, then all intervals hold at once with
    probability `level` at least, whatever their distribution, and however it is decided when to stop. Intervals only
    shrink, and are rounded outward to 1/600 of the bound. ValueError for values that are not finite, a level outside
    (0, 1), and a bound that is not positive.

    >>> low, high = confidence_sequence([0.0] * 200, bound=1.0)
    >>> [round(float(high[n - 1]), 2) for n in (10, 50, 200)]
    [0.74, 0.08, 0.02]
    """
    finite("level", level, above=0, below=1)
    finite("bound", bound, above=0)
    x = np.asarray(values, dtype=np.float64)
    if not np.isfinite(x).all():
        raise ValueError(f"values hold {x[~np.isfinite(x)][0]}: finite numbers are needed")
    x = np.clip(x, -bound, bound)
    n = np.arange(x.size)
    sums, squares = (np.concatenate([[0.0], np.cumsum(each)])[:-1] for each in (x, x**2))
    variance = (1.0 + squares - sums**2 / np.maximum(n, 1)) / (n + 1)  # of the values before, so that bets are fair
    bet = np.sqrt(2 * math.log(2 / (1 - level)) / (variance * np.maximum(n + 1, 100)))[:, None]
    means = np.linspace(-bound, bound, _POINTS)
    above = np.cumsum(np.log1p(np.minimum(bet, _CUT / (means + bound + 1e-9)) * (x[:, None] - means)), axis=0)
    below = np.cumsum(np.log1p(np.minimum(bet, _CUT / (bound - means + 1e-9)) * (means - x[:, None])), axis=0)
    refuted = np.maximum.accumulate(np.maximum(above, below), axis=0) >= math.log(2 / (1 - level))
    # A mean between two of the grid may hold where both are refuted: the interval goes on to the next one outside.
    kept = ~refuted
    first = np.maximum(np.argmax(kept, axis=1) - 1, 0)
    last = np.minimum(_POINTS - np.argmax(kept[:, ::-1], axis=1), _POINTS - 1)
    return means[np.maximum.accumulate(first)], means[np.minimum.accumulate(last)]


def least_prompts(margin: float, level: float, bound: float = 3.0, most: int = 100_000) -> int:
    """Return the fewest values that can prove a mean beyond the margin: the number if all of them equal the bound.

    >>> least_prompts(0.1, 0.95), least_prompts(0.1, 0.995) > least_prompts(0.1, 0.95)
    (7, True)
    """
    size = 16
    while size <= most:
        low, _ = confidence_sequence(np.full(size, bound), level, bound)
        if low[-1] > margin:
            return int(np.argmax(low > margin)) + 1
        size *= 2
    raise ValueError(f"margin is {margin}: no {most} prompts decide it within {bound}, give a larger one")
