"""Compute how many prompts printed win rates can come from, and how many it takes to see a win rate of their size."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from math import ceil, floor

import numpy as np

from rws_decode.common.later import stats
from rws_theory.checks import finite, whole


def possible_sizes(rows: Sequence[Sequence[float]], largest: int, decimals: int = 1) -> list[int]:
    """Return every number of prompts, up to `largest`, whose whole counts can give all printed rows of shares.

    `rows` holds shares in percent, each row the parts of a whole (win, draw, loss), printed to `decimals`. A size n is
    possible if each row has counts that add up to n and that fit what is printed. In percent of n they must be within
    half a unit of the last decimal, both ends included, as the paper does not say how it rounds. ValueError is raised
    for an empty row, a share outside [0, 100], or largest < 1.

    >>> possible_sizes([(33.3, 66.7)], largest=10)
    [3, 6, 9]
    """
    whole("largest", largest)
    if not all(rows) or not all(0 <= share <= 100 for row in rows for share in row):
        raise ValueError(f"rows is {list(rows)!r}: rows of shares from 0 to 100 are needed")
    half = 0.5 * 10.0**-decimals + 1e-9  # decimal shares are not exact in binary
    return [n for n in range(1, largest + 1) if all(_fits(row, n, half) for row in rows)]


def _fits(row: Sequence[float], n: int, half: float) -> bool:
    counts = [range(ceil((share - half) * n / 100), floor((share + half) * n / 100) + 1) for share in row]
    return any(sum(choice) == n for choice in product(*counts))


def sign_test_power(win: float, loss: float, n: int, alpha: float = 0.05) -> float:
    """Return the probability that the exact two-sided sign test of n prompts gives p <= alpha.

    `win` and `loss` are the true shares of prompts won and lost. The rest are draws, which the test leaves out, as
    `paper_figures.statistics.win_rates` does. Prompts are independent. The result is exact: the sum over the number of
    decided prompts. ValueError is raised unless win and loss are >= 0 with a sum in (0, 1], n >= 1, and alpha lies in
    (0, 1).

    >>> sign_test_power(1.0, 0.0, 5), sign_test_power(1.0, 0.0, 6)  # five wins of five: p = 0.0625, six of six: 0.03125
    (0.0, 1.0)
    """
    if min(win, loss) < 0 or not 0 < win + loss <= 1 + 1e-12:
        raise ValueError(f"win and loss are {win} and {loss}: shares >= 0 with a sum in (0, 1] are needed")
    if n < 1 or not 0 < alpha < 1:
        raise ValueError(f"n is {n} and alpha {alpha}: n >= 1 and alpha in (0, 1) are needed")
    decided, cut = np.arange(n + 1), _largest_rejecting(n, alpha)
    share = win / (win + loss)
    rejects = stats.binom.cdf(cut, decided, share) + stats.binom.sf(decided - cut - 1, decided, share)
    return float(np.clip(stats.binom.pmf(decided, n, min(win + loss, 1.0)) @ rejects, 0.0, 1.0))


@lru_cache(maxsize=64)
def _largest_rejecting(n: int, alpha: float) -> np.ndarray:
    """Return the largest count that rejects, for 0 to n decided prompts: the same for all shares of a search."""
    decided = np.arange(n + 1)
    cut = stats.binom.ppf(alpha / 2, decided, 0.5)
    return np.where(stats.binom.cdf(cut, decided, 0.5) <= alpha / 2, cut, cut - 1)


def prompts_needed(
    win: float, loss: float, power: float = 0.8, alpha: float = 0.05, largest: int = 10**5
) -> int | None:
    """Return a number of prompts whose sign test finds a difference of this size with at least this probability.

    At one prompt fewer the probability falls short of `power`. (It rises with the number except for small steps, as
    counts are whole.) The result is None if `largest` prompts are not enough. ValueError is raised as in
    :func:`sign_test_power`, and for a power outside (0, 1).

    >>> prompts_needed(0.6, 0.4), prompts_needed(0.6, 0.3), prompts_needed(0.5, 0.5, largest=1000)
    (203, 83, None)
    """
    finite("power", power, above=0, below=1)
    low, high = 0, 1
    while sign_test_power(win, loss, high, alpha) < power:
        if high >= largest:
            return None
        low, high = high, min(2 * high, largest)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if sign_test_power(win, loss, middle, alpha) >= power else (middle, high)
    return high
