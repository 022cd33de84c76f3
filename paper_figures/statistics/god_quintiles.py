"""Win rates by fifths of GOD, as in the paper's Table 5.

The fifths are of prompts, and prompts differ: `paper_figures.statistics.trend` says what this cannot show.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paper_figures.statistics.resampling import checked_outcomes, finite_arrays
from paper_figures.statistics.win_rates import WinRate, rate_of_outcomes

__all__ = ["GroupRate", "group_of_ties", "quintile_rates"]

FIFTHS = 5


class GroupRate(NamedTuple):
    """One group: n prompts with GOD from god[0] to god[1], and their win rate.

    `god` and `rate` are None if n is 0.
    """

    n: int
    god: tuple[float, float] | None
    rate: WinRate | None


def quintile_rates(god: ArrayLike, outcome: ArrayLike) -> tuple[GroupRate, ...]:
    """Return the win rate in each fifth of the prompts by GOD, from the lowest: the groups of `group_of_ties`.

    `god` is that of the method's answers: finite, (n,), n >= 1. `outcome` is +1, 0 or -1 for the same prompts. Neither
    the order of the prompts matters nor a rising transformation of GOD. The intervals are those of `WinRate` within the
    group, as if its bounds had been fixed beforehand. ValueError is raised for other arrays.

    >>> [group.n for group in quintile_rates([0.1, 0.1, 0.1, 0.4, 0.2], [1, 1, -1, 0, 1])]
    [0, 3, 0, 1, 1]
    """
    values, _ = finite_arrays(god=god, outcome=outcome)
    results = checked_outcomes(outcome)
    _, value_index, ties = np.unique(values, return_inverse=True, return_counts=True)
    labels = group_of_ties(ties, FIFTHS)[value_index]
    groups = []
    for group in range(FIFTHS):
        members = values[labels == group]
        span = (float(members.min()), float(members.max())) if members.size else None
        groups.append(GroupRate(members.size, span, rate_of_outcomes(results[labels == group]) if span else None))
    return tuple(groups)


def group_of_ties(ties: NDArray[np.int64], groups: int) -> NDArray[np.int64]:
    """Return the group of each distinct value: groups are of equal size as far as ties allow, by mid-rank.

    `ties` says how many hold each value, in rising order, shape (..., values), not all 0 along the last axis. A value
    of mid-rank r (the mean of the ranks 1..n that its ties hold) goes to group floor(groups (r - 1/2) / n), counted
    from 0 and computed in integers. A mid-rank on a cut goes up. Without ties the sizes differ by at most one; with
    them groups may be of any size, also empty. The group of a value that none holds means nothing.

    >>> group_of_ties(np.array([[3, 1, 1], [1, 1, 0]]), 2).tolist()[0]
    [0, 1, 1]
    """
    before = ties.cumsum(axis=-1) - ties
    # 2 r - 1 is 2 * before + ties, for the mid-rank r = before + (ties + 1) / 2.
    return groups * (2 * before + ties) // (2 * ties.sum(axis=-1, keepdims=True))
