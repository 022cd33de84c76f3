"""Win rates by fifths of GOD, as in the paper's Table 5, and how often they would rise by chance.

The fifths are of prompts, and prompts differ: `paper_figures.statistics.trend` says what this cannot show.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from paper_figures.statistics.resampling import checked_outcomes, finite_arrays
from paper_figures.statistics.win_rates import WinRate, rate_of_outcomes
from rws_theory.checks import whole

__all__ = ["GroupRate", "QuintileRates", "group_of_ties", "is_monotone", "monotone_chance", "quantile_groups",
           "quintile_rates"]  # fmt: skip


FIFTHS = 5


@dataclass(frozen=True)
class GroupRate:
    """One group: n prompts with GOD from god[0] to god[1], and their win rate.

    `god` and `rate` are None if n is 0.
    """

    n: int
    god: tuple[float, float] | None
    rate: WinRate | None


@dataclass(frozen=True)
class QuintileRates:
    """The groups, from the lowest GOD, and whether the win share rises over them.

    `monotone` is that of `is_monotone`, and `chance` is that of `monotone_chance`.
    """

    groups: tuple[GroupRate, ...]
    monotone: bool
    chance: float


def quintile_rates(god: ArrayLike, outcome: ArrayLike, *, groups: int = FIFTHS) -> QuintileRates:
    """Return the win rate in each group of `quantile_groups` of GOD, and whether the win share rises throughout.

    `god` is that of the method's answers: finite, (n,), n >= 1. `outcome` is +1, 0 or -1 for the same prompts. The
    intervals are those of `WinRate` within the group, as if its bounds had been fixed beforehand. ValueError is raised
    as the two functions say.

    >>> rates = quintile_rates([1, 2, 3, 4], [-1, 1, 1, 1], groups=2)
    >>> [group.rate.win.mean for group in rates.groups], rates.monotone, round(rates.chance, 9)
    ([0.5, 1.0], True, 0.5)
    """
    values, _ = finite_arrays(god=god, outcome=outcome)
    results = checked_outcomes(outcome)
    cut = quantile_groups(values, groups)
    labels = np.array(cut.labels)
    rates = [rate_of_outcomes(results[labels == group]) if size else None for group, size in enumerate(cut.sizes)]
    wins = [0 if rate is None else rate.wins for rate in rates]
    return QuintileRates(
        tuple(GroupRate(*group) for group in zip(cut.sizes, cut.ranges, rates, strict=True)),
        is_monotone(wins, cut.sizes),
        monotone_chance(sum(wins), cut.sizes),
    )


@dataclass(frozen=True)
class QuantileGroups:
    """Values in groups of rising rank.

    `labels` holds each value's group, from 0. `sizes` and `ranges` hold the size and the (least, greatest) value of
    each group. The range is None if the group is empty.
    """

    labels: tuple[int, ...]
    sizes: tuple[int, ...]
    ranges: tuple[tuple[float, float] | None, ...]


def quantile_groups(values: ArrayLike, groups: int = FIFTHS) -> QuantileGroups:
    """Cut values into groups of equal size as far as ties allow, by mid-rank: equal values share a group.

    A value of mid-rank r (the mean of the ranks 1..n that its ties hold) goes to group floor(groups (r - 1/2) / n),
    counted from 0 and computed in integers. A mid-rank on a cut goes up. Without ties the sizes differ by at most one;
    with them groups may be of any size, also empty. The order of the values does not matter, nor does a rising
    transformation. `values` are finite, (n,), n >= 1, and groups >= 1. ValueError is raised otherwise.

    >>> quantile_groups([0.1, 0.1, 0.1, 0.4, 0.2], 2)
    QuantileGroups(labels=(0, 0, 0, 1, 1), sizes=(3, 2), ranges=((0.1, 0.1), (0.2, 0.4)))
    """
    (array,) = finite_arrays(values=values)
    whole("groups", groups)
    _, value_index, ties = np.unique(array, return_inverse=True, return_counts=True)
    labels = group_of_ties(ties, groups)[value_index]
    members = [array[labels == group] for group in range(groups)]
    return QuantileGroups(
        tuple(labels.tolist()),
        tuple(part.size for part in members),
        tuple((float(part.min()), float(part.max())) if part.size else None for part in members),
    )


def group_of_ties(ties: NDArray[np.int64], groups: int) -> NDArray[np.int64]:
    """Return the group of each distinct value, by the rule of `quantile_groups`.

    `ties` says how many hold each value, in rising order, shape (..., values), not all 0 along the last axis. The group
    of a value that none holds means nothing.

    >>> group_of_ties(np.array([[3, 1, 1], [1, 1, 0]]), 2).tolist()[0]
    [0, 1, 1]
    """
    before = ties.cumsum(axis=-1) - ties
    # 2 r - 1 is 2 * before + ties, for the mid-rank r = before + (ties + 1) / 2.
    return groups * (2 * before + ties) // (2 * ties.sum(axis=-1, keepdims=True))


def is_monotone(wins: Sequence[int], sizes: Sequence[int]) -> bool:
    """Return whether the win share rises from each group to the next, strictly, as the paper says of Table 5.

    Shares are compared in integers. Empty groups are passed over. If fewer than two groups hold prompts, nothing rises
    and the result is False. ValueError is raised unless 0 <= wins <= size in each group.

    >>> is_monotone([1, 2, 3], [4, 4, 4]), is_monotone([1, 2, 2], [4, 4, 4])
    (True, False)
    """
    if len(wins) != len(sizes):
        raise ValueError(f"sizes has {len(sizes)} groups: wins has {len(wins)}, one number each is needed")
    filled = [(won, size) for won, size in zip(wins, sizes, strict=True) if size]
    if any(not 0 <= won <= size for won, size in zip(wins, sizes, strict=True)):
        raise ValueError(f"wins is {list(wins)}: each must be 0 to its group's size, {list(sizes)}")
    return len(filled) > 1 and all(a * m < b * n for (a, n), (b, m) in itertools.pairwise(filled))


def monotone_chance(wins: int, sizes: Sequence[int]) -> float:
    """Return the chance of `is_monotone` if `wins` wins lie on the prompts at random, the groups being as they are.

    It is exact up to rounding. The permutation distribution of the wins per group is multivariate hypergeometric, that
    of independent binomials given their sum, and is added up group by group. For k large equal groups it nears 1 / k!,
    the chance that k continuous numbers come in rising order. Shares that tie make it less. ValueError is raised unless
    0 <= wins <= sum of sizes.

    >>> round(monotone_chance(1, [1, 1]), 9), round(monotone_chance(4500, [1800] * 5) * 120, 1)
    (0.5, 0.9)
    """
    total = sum(sizes)
    if min(sizes, default=0) < 0 or not 0 <= wins <= total:
        raise ValueError(f"wins is {wins}: it must be 0 to the sum of sizes, {list(sizes)}, none of them negative")
    filled = [size for size in sizes if size]
    if len(filled) < 2 or wins in (0, total):
        return 0.0
    share = wins / total
    below = np.zeros((wins + 1, 1))  # [used, w]: chance of `used` wins so far, rising, at most w in the last group
    below[0, 0] = 1.0
    before = 0
    for size in filled:
        chance = stats.binom.pmf(np.arange(size + 1), size, share)
        current = np.zeros((wins + 1, size + 1))
        for won in range(min(size, wins) + 1):
            # The most wins of the group before with a smaller share. Any number will do if no group is before.
            last = (won * before - 1) // size if before else 0
            if last >= 0:
                current[won:, won] = below[: wins + 1 - won, last] * chance[won]
        below, before = current.cumsum(axis=1), size
    return float(min(1.0, below[wins, -1] / stats.binom.pmf(wins, total, share)))
