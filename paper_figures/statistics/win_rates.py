"""Compute win rates of a method against confidence on the same prompts: shares, intervals, sign test, fifths of GOD.

The paper's Tables 1 and 5 print wins / (wins + draws + losses). That share falls as draws rise, whichever method is
better. So the net win, the share that counts draws half, and the share of the decided prompts stand beside it.

The fifths of Table 5 are of prompts, and prompts differ: an association over prompts is no effect of order. A long
answer, or one the model is unsure of, can have both a larger GOD and another chance to win.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paper_figures.statistics.intervals import Interval, share_interval
from paper_figures.statistics.paired_proportions import net_share_of_counts
from paper_figures.statistics.resampling import checked_outcomes, finite_arrays
from rws_decode.common.later import stats
from rws_theory.checks import finite

FIFTHS = 5


@dataclass(frozen=True)
class WinRate:
    """How often a method beats confidence decoding: W wins, D draws, L losses on N = W + D + L prompts.

    - `win`, `draw` and `loss` are W / N, D / N and L / N, each with Wilson's interval.
    - `decided` is W / (W + L) with Wilson's interval, given the number of decided prompts; it is None if there are
      none.
    - `net` is (W - L) / N, and `half_draws` is (W + D / 2) / N, which is (1 + net) / 2. Both have Tango's score
      interval over prompts, which has a width also where all outcomes are equal.
    - `p` is that of the exact two-sided sign test of W against L, binomial with 1 / 2 given W + L. Draws drop out of
      it, as they say nothing of which is better. It is 1.0 if no prompt is decided.
    """

    wins: int
    draws: int
    losses: int
    win: Interval
    draw: Interval
    loss: Interval
    decided: Interval | None
    net: Interval
    half_draws: Interval
    p: float

    @property
    def n(self) -> int:
        """Return the number of prompts."""
        return self.wins + self.draws + self.losses


def paired_outcomes(method: ArrayLike, default: ArrayLike, *, tolerance: float = 0.0) -> NDArray[np.int64]:
    """Return +1 where the method's score is greater, -1 where it is less, 0 where they differ by at most `tolerance`.

    `method` and `default` are finite, (n,), n >= 1, of the same prompts in the same order. The same text has the same
    score, so a tolerance of 0 makes it a draw. `tolerance` is finite, >= 0, and compared with the difference in
    float64. ValueError is raised otherwise.

    >>> paired_outcomes([1.0, 2.0, 3.0], [0.0, 2.0, 3.5]).tolist()
    [1, 0, -1]
    """
    method_scores, default_scores = finite_arrays(method=method, default=default)
    finite("tolerance", tolerance, least=0)
    with np.errstate(over="ignore"):  # a difference that overflows is decided too
        decided = np.abs(method_scores - default_scores) > tolerance
    return np.where(decided, (method_scores > default_scores).astype(np.int64) - (method_scores < default_scores), 0)


def rate_of_outcomes(outcome: ArrayLike, *, level: float = 0.95) -> WinRate:
    """Return the win rate of outcomes +1, 0, -1, shape (n,), n >= 1: `rate_of_counts` of how many there are."""
    array = checked_outcomes(outcome)
    wins, losses = int((array > 0).sum()), int((array < 0).sum())
    return rate_of_counts(wins, array.size - wins - losses, losses, level=level)


def rate_of_counts(wins: int, draws: int, losses: int, *, level: float = 0.95) -> WinRate:
    """Return the shares, intervals and sign test of `WinRate` from the three counts, at least one of them positive.

    The order of the prompts does not matter, and exchanging wins with losses mirrors the intervals. ValueError is
    raised for other counts, or a level outside (0, 1).

    >>> rate_of_counts(6, 0, 0).p
    0.03125
    """
    total = wins + draws + losses
    if min(wins, draws, losses) < 0 or total < 1:
        raise ValueError(f"wins, draws, losses are {(wins, draws, losses)}: counts >= 0, not all 0, are needed")
    net = net_share_of_counts(wins, losses, total, level)
    decided = wins + losses
    return WinRate(
        wins=wins,
        draws=draws,
        losses=losses,
        win=share_interval(wins, total, level),
        draw=share_interval(draws, total, level),
        loss=share_interval(losses, total, level),
        decided=share_interval(wins, decided, level) if decided else None,
        net=net,
        half_draws=Interval(*((1 + bound) / 2 for bound in net)),
        p=float(stats.binomtest(wins, decided).pvalue) if decided else 1.0,
    )


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
