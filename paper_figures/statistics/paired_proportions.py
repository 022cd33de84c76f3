"""Compute Tango's score interval of a difference of paired shares, such as a net win rate.

It has a width where no pair is discordant, and at -1 and 1, where the bootstrap has none.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from paper_figures.statistics.intervals import Interval
from paper_figures.statistics.resampling import checked_outcomes, finite_arrays
from rws_decode.common.later import optimize, stats
from rws_theory.checks import finite


def paired_share_difference(first: ArrayLike, second: ArrayLike, level: float = 0.95) -> Interval:
    """Return the share of 1 in `first` less that in `second`, with Tango's score interval (Tango 1998).

    `first` and `second` hold 0 and 1, shape (n,), n >= 1, of the same prompts in the same order. Only the discordant
    pairs count: it is :func:`net_share_of_counts` of the pairs (1, 0) as wins and (0, 1) as losses. ValueError is
    raised otherwise.

    >>> [round(number, 3) for number in paired_share_difference([1, 1, 1, 0], [1, 0, 0, 0])]
    [0.5, -0.235, 0.85]
    """
    first_values, second_values = finite_arrays(first=first, second=second)
    for name, values in (("first", first_values), ("second", second_values)):
        if not np.isin(values, (0, 1)).all():
            odd = float(values[~np.isin(values, (0, 1))][0])
            raise ValueError(f"{name} holds {odd}: 0 and 1 are allowed; mean_interval takes other numbers")
    return net_share(first_values - second_values, level)


def net_share(outcomes: ArrayLike, level: float = 0.95) -> Interval:
    """Return the net win rate of outcomes +1, 0 and -1, shape (n,), with its score interval.

    It is :func:`net_share_of_counts` of the wins (+1) and losses (-1).

    >>> [round(number, 3) for number in net_share([0] * 16)]
    [0.0, -0.194, 0.194]
    """
    array = checked_outcomes(outcomes)
    return net_share_of_counts(int((array > 0).sum()), int((array < 0).sum()), array.size, level)


def net_share_of_counts(wins: int, losses: int, n: int, level: float = 0.95) -> Interval:
    """Return (wins - losses) / n with the interval of all net rates that the score test does not reject (Tango 1998).

    The score of a net rate d is (wins - losses - n d) / sqrt(n (2 q + d - d^2)), q that of `restricted_loss`. The ends
    are the d at which it is -z and z, z the normal quantile of (1 + level) / 2. The interval lies in [-1, 1]. Without
    wins and losses it is +-z^2 / (n + z^2). ValueError is raised unless the counts are >= 0 and add up to at most n,
    n >= 1, and 0 < level < 1.

    >>> [round(number, 3) for number in net_share_of_counts(12, 4, 64)]
    [0.125, 0.003, 0.252]
    """
    _check_counts(wins, losses, n)
    finite("level", level, above=0, below=1)
    z = float(stats.norm.ppf((1 + level) / 2))
    net = (wins - losses) / n
    if wins == losses == 0:
        return Interval(0.0, -(z**2) / (n + z**2), z**2 / (n + z**2))
    inner = (n - z**2) / (n + z**2)  # the other end at net -1 and 1, where the score is 0 / 0
    if abs(net) == 1:
        return Interval(net, min(net, net * inner), max(net, net * inner))

    def beyond(difference: float) -> float:
        """Return a number whose sign says whether the score test rejects; it has no division by 0."""
        return (wins - losses - n * difference) ** 2 - z**2 * n * _variance(wins, losses, n, difference)

    low: Any = optimize.brentq(beyond, -1.0, net, xtol=1e-13)
    high: Any = optimize.brentq(beyond, net, 1.0, xtol=1e-13)
    return Interval(net, float(low), float(high))


def restricted_loss(wins: int, losses: int, n: int, difference: float) -> float:
    """Return the most likely share of losses q, if the share of wins is q + d for the given difference d.

    It maximises wins log(q + d) + losses log q + (n - wins - losses) log(1 - d - 2 q). That is the larger root of
    2 n q^2 - (wins + losses - (2 n - wins + losses) d) q - losses d (1 - d) = 0 (Tango 1998). It lies in
    [max(0, -d), (1 - d) / 2].

    >>> restricted_loss(12, 4, 64, 0.125)  # at the observed difference it is the observed share
    0.0625
    """
    b = (2 * n - wins + losses) * difference - wins - losses
    root = (sqrt(max(0.0, b**2 + 8 * n * losses * difference * (1 - difference))) - b) / (4 * n)
    return min(max(root, 0.0, -difference), (1 - difference) / 2)


def _variance(wins: int, losses: int, n: int, difference: float) -> float:
    loss = restricted_loss(wins, losses, n, difference)
    return max(0.0, 2 * loss + difference * (1 - difference))


def _check_counts(wins: int, losses: int, n: int) -> None:
    if min(wins, losses) < 0 or wins + losses > n or n < 1:
        raise ValueError(f"wins, losses, n are {(wins, losses, n)}: counts >= 0 with wins + losses <= n, n >= 1")
