"""Win rates by fifths of GOD, as in the paper's Table 5, and how often they would rise by chance.

The fifths are of prompts, and prompts differ: `paper_figures.statistics.trend` says what this cannot show.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from paper_figures.statistics.quantile_groups import is_monotone, monotone_chance, quantile_groups
from paper_figures.statistics.resampling import checked_outcomes, finite_arrays
from paper_figures.statistics.win_rates import WinRate, rate_of_outcomes

__all__ = ["GroupRate", "QuintileRates", "quintile_rates"]


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


def quintile_rates(god: ArrayLike, outcome: ArrayLike, *, groups: int = 5, level: float = 0.95) -> QuintileRates:
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
    rates = [
        rate_of_outcomes(results[labels == group], level=level) if size else None
        for group, size in enumerate(cut.sizes)
    ]
    wins = [0 if rate is None else rate.wins for rate in rates]
    return QuintileRates(
        tuple(GroupRate(*group) for group in zip(cut.sizes, cut.ranges, rates, strict=True)),
        is_monotone(wins, cut.sizes),
        monotone_chance(sum(wins), cut.sizes),
    )
