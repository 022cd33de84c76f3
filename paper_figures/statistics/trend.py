"""Test whether the outcome of prompts rises with their GOD: a rank correlation, and the slope per fifth.

The rank correlation has a permutation test. None of this can show that order *causes* wins. Prompts differ: a long
answer, or one the model is unsure of, can have both a larger GOD and another chance to win. An association over prompts
is not an effect of order. Comparisons within a prompt come nearer to one (`paper_figures.statistics.partial_effect`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paper_figures.statistics.god_quintiles import FIFTHS, group_of_ties
from paper_figures.statistics.intervals import Interval, percentile_interval
from paper_figures.statistics.resampling import batch_sizes, checked_outcomes, finite_arrays
from rws_theory.checks import whole

__all__ = ["Trend", "trend_test"]


@dataclass(frozen=True)
class Trend:
    """Whether the outcome rises with GOD over n prompts; `trend_test` says what each number is.

    `status` is "ok", or says what is constant; tau is then None and p 1.0. `slope` is None if all prompts are in one
    group.
    """

    n: int
    status: Literal["ok", "constant god", "constant outcome"]
    tau: float | None
    p: float
    exact: bool
    slope: Interval | None


def trend_test(god: ArrayLike, outcome: ArrayLike, rng: np.random.Generator, *, resamples: int = 9999) -> Trend:
    """Test whether the outcome is monotone in GOD, over prompts: Kendall's tau-b with its permutation p-value.

    tau is tau-b (Kendall 1945) rather than Spearman's rho. It counts pairs of prompts, so the three values of an
    outcome need no invented spacing. C - D is an integer, so no rounding decides which arrangements tie.

    p is two-sided: the share of arrangements of the outcomes over the prompts with |tau| no less. All arrangements are
    tried if they are no more than `resamples` (`exact`); otherwise drawn ones give (b + 1) / (m + 1), which is never 0.

    The slope says by how much the share of wins rises per fifth. It is the least-squares slope over the prompts on the
    number of the group, as in the Cochran-Armitage test, with the percentile bootstrap interval over prompts. The
    groups are cut anew in each resample. Resamples that fall in one group have no slope and are left out. The module
    says what the slope cannot tell.

    `god` is finite, (n,), n >= 1, and `outcome` is +1, 0 or -1. The order of the prompts does not matter. ValueError is
    raised otherwise.

    >>> trend_test([1, 2, 3, 4], [-1, -1, 1, 1], np.random.default_rng(0)).p
    0.3333333333333333
    """
    whole("resamples", resamples)
    values, _ = finite_arrays(god=god, outcome=outcome)
    results = checked_outcomes(outcome).astype(np.int8)
    slope = _slope(values, results == 1, rng, resamples)
    if np.ptp(values) == 0:
        return Trend(values.size, "constant god", None, 1.0, True, slope)
    if np.ptp(results) == 0:
        return Trend(values.size, "constant outcome", None, 1.0, True, slope)
    results = results[np.lexsort((results, values))]
    ties = np.unique(values, return_counts=True)[1]
    concordance = int(_concordance(results[None], ties)[0])
    wins, losses = int((results > 0).sum()), int((results < 0).sum())
    arrangements = math.comb(values.size, wins) * math.comb(values.size - wins, losses)
    exact = arrangements <= resamples
    if exact:
        as_far = sum(int((abs(_concordance(rows, ties)) >= abs(concordance)).sum()) for rows in _arrangements(results))
        p = as_far / arrangements
    else:
        as_far = 0
        for size in batch_sizes(resamples, values.size):
            permuted = rng.permuted(np.broadcast_to(results, (size, values.size)), axis=1)
            as_far += int((abs(_concordance(permuted, ties)) >= abs(concordance)).sum())
        p = (as_far + 1) / (resamples + 1)
    untied = math.sqrt(_untied_pairs(values)) * math.sqrt(_untied_pairs(results))
    return Trend(values.size, "ok", concordance / untied, p, exact, slope)


def _concordance(outcomes: NDArray[np.int8], ties: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return C - D of each row of outcomes, [B, n], in rising order of GOD.

    `ties` says how many prompts have each GOD. For outcomes y of +1, 0, -1, sign(y_i - y_j) is y_i - y_j less half of
    y_i |y_j| - |y_i| y_j. So the sum over pairs is half the sum of y_i times (those below i less those above), in which
    a draw counts twice.
    """
    ends = ties.cumsum()
    first, last = np.repeat(ends - ties, ties), np.repeat(ends, ties)
    upto = np.zeros((len(outcomes), outcomes.shape[1] + 1), dtype=np.int32)
    np.cumsum(1 + (outcomes == 0), axis=1, out=upto[:, 1:])
    across = upto[:, first] + upto[:, last] - upto[:, -1:]  # [B, n]
    return np.einsum("ij,ij->i", outcomes, across, dtype=np.int64) // 2


def _arrangements(results: NDArray[np.int8]) -> Iterator[NDArray[np.int8]]:
    """Yield every distinct arrangement of the outcomes, in batches [<= 1024, n]."""
    n, wins, losses = results.size, int((results == 1).sum()), int((results == -1).sum())

    def each() -> Iterator[NDArray[np.int8]]:
        for won in itertools.combinations(range(n), wins):
            for lost in itertools.combinations(sorted(set(range(n)) - set(won)), losses):
                row = np.zeros(n, dtype=np.int8)
                row[list(won)], row[list(lost)] = 1, -1
                yield row

    arranged = each()
    while batch := list(itertools.islice(arranged, 1024)):
        yield np.stack(batch)


def _untied_pairs(values: NDArray[np.generic]) -> int:
    ties = np.unique(values, return_counts=True)[1]
    return math.comb(values.size, 2) - sum(math.comb(int(tie), 2) for tie in ties)


def _slope(
    god: NDArray[np.float64], won: NDArray[np.bool_], rng: np.random.Generator, resamples: int
) -> Interval | None:
    # Prompts of equal GOD and result are alike, so a resample is a multinomial draw of how many there are of each.
    cells, counts = np.unique(np.stack([god, won]), axis=1, return_counts=True)
    starts = np.flatnonzero(np.concatenate([[True], np.diff(cells[0]) != 0]))

    def slopes(counts: NDArray[np.int64]) -> NDArray[np.float64]:  # [B, cells] -> [B]
        members = np.add.reduceat(counts, starts, axis=1)  # [B, distinct]
        wins = np.add.reduceat(counts * (cells[1] == 1), starts, axis=1)
        label = group_of_ties(members, FIFTHS)
        spread = god.size * (members * label**2).sum(axis=1) - (members * label).sum(axis=1) ** 2
        covariance = god.size * (label * wins).sum(axis=1) - (members * label).sum(axis=1) * wins.sum(axis=1)
        return covariance[spread > 0] / spread[spread > 0]

    estimate = slopes(counts[None])
    if not estimate.size:
        return None
    batches = [
        slopes(rng.multinomial(god.size, counts / god.size, size=size)) for size in batch_sizes(resamples, counts.size)
    ]
    draws = np.concatenate(batches)
    return percentile_interval(estimate[0], draws if draws.size else estimate, 0.95)
