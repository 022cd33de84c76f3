"""Compare statistics of totals over prompts, such as a ratio of means or a pooled perplexity, prompt by prompt.

Such a number is not a mean over prompts, so a paired difference of means does not describe it. Here prompts are
resampled with all that belongs to them, and the totals of each resample are computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paper_figures.statistics.intervals import Interval, percentile_interval
from paper_figures.statistics.resampling import batch_sizes, exchange_test, finite_arrays

__all__ = ["TotalsComparison", "compare_totals", "interval_of_totals", "mean_of", "pooled_perplexity_of"]

_LEVEL, _RESAMPLES = 0.95, 9999
Floats = NDArray[np.float64]
# A statistic takes totals of some columns, [B] each, and returns its values, [B].
Statistic = Callable[..., Floats]


def mean_of(total: Floats, count: Floats) -> Floats:
    """Return total / count, the statistic of a mean; the columns are the values and ones."""
    return total / count


def pooled_perplexity_of(nll: Floats, tokens: Floats) -> Floats:
    """Return exp(nll / tokens), in which each token counts the same."""
    return np.exp(nll / tokens)


@dataclass(frozen=True)
class TotalsComparison:
    """A statistic of the first and of the second method on the same prompts.

    `difference` is first - second. `ratio` is first / second, None if the second is 0 or becomes so in a resample. `p`
    tests that there is no difference. `pairs` is the number of prompts.
    """

    first: float
    second: float
    difference: Interval
    ratio: Interval | None
    p: float
    pairs: int


def interval_of_totals(statistic: Statistic, columns: Sequence[ArrayLike], rng: np.random.Generator) -> Interval:
    """Return the statistic of the columns' totals with its percentile bootstrap interval over prompts.

    `columns` are finite, (n,) each, with one value per prompt, n >= 1. ValueError is raised otherwise.

    >>> interval_of_totals(mean_of, [[4.0, 4.0], [1, 1]], np.random.default_rng(0))
    Interval(mean=4.0, low=4.0, high=4.0)
    """
    table = _table(columns)
    draws = np.concatenate([statistic(*part) for part in _resampled(table, rng)])
    return percentile_interval(float(statistic(*table.sum(axis=1))), draws, _LEVEL)


def compare_totals(
    statistic: Statistic,
    first: Sequence[ArrayLike],
    second: Sequence[ArrayLike],
    rng: np.random.Generator,
) -> TotalsComparison:
    """Compare the statistic of two methods' totals on the same prompts: paired bootstrap intervals and a swap test.

    The intervals are of the percentile bootstrap, which draws a prompt's columns of both methods together. p is that of
    the difference, two-sided, from exchanging the two methods on random prompts. If the patterns are no more than
    9999, all are tried, and p is exact if the two of a prompt are exchangeable. Otherwise drawn ones give (b +
    1) / (m + 1) (Phipson and Smyth 2010). For means it is `significance.paired_test`. `first` and `second` are columns
    as in `interval_of_totals`, of the same prompts in the same order. ValueError is raised otherwise.

    >>> comparison = compare_totals(mean_of, [[2.0, 4.0], [1, 1]], [[1.0, 2.0], [1, 1]], np.random.default_rng(0))
    >>> comparison.ratio, comparison.difference.mean, comparison.p
    (Interval(mean=2.0, low=2.0, high=2.0), 1.5, 0.5)
    """
    if len(first) != len(second):
        raise ValueError(f"second has {len(second)} columns: first has {len(first)}, the same are needed")
    width = len(first)
    table = _table([*first, *second])
    first_value, second_value = (float(statistic(*part)) for part in np.split(table.sum(axis=1), [width]))
    draws = [[statistic(*part[:width]), statistic(*part[width:])] for part in _resampled(table, rng)]
    first_draws, second_draws = np.concatenate(draws, axis=1)
    divisible = second_value != 0 and bool((second_draws != 0).all())
    return TotalsComparison(
        first=first_value,
        second=second_value,
        difference=percentile_interval(first_value - second_value, first_draws - second_draws, _LEVEL),
        ratio=percentile_interval(first_value / second_value, first_draws / second_draws, _LEVEL)
        if divisible
        else None,
        p=_swap_test(
            statistic,
            table[:width],
            table[width:],
            first_value - second_value,
            abs(first_value) + abs(second_value),
            rng,
        ),
        pairs=table.shape[1],
    )


def _table(columns: Sequence[ArrayLike]) -> Floats:
    """Return the columns as one array, [columns, prompts]."""
    return np.stack(finite_arrays(**{f"column {number}": column for number, column in enumerate(columns)}))


def _resampled(table: Floats, rng: np.random.Generator) -> list[Floats]:
    """Return the totals of resampled prompts in batches, [columns, B] each."""
    count = table.shape[1]
    totals = []
    for size in batch_sizes(_RESAMPLES, count):
        totals.append(table[:, rng.integers(count, size=(size, count))].sum(axis=2))
    return totals


def _swap_test(
    statistic: Statistic,
    first: Floats,
    second: Floats,
    observed: float,
    size: float,
    rng: np.random.Generator,
) -> float:
    """Return the share of exchanges whose difference is at least as far from 0 as `observed`.

    `size` is the size of the two numbers whose difference it is, which bounds the rounding.
    """
    differs = (first != second).any(axis=0)
    unchanged = first[:, ~differs].sum(axis=1, keepdims=True)  # an exchange leaves these totals as they are
    first, second = first[:, differs], second[:, differs]
    pairs = first.shape[1]
    if pairs == 0:
        return 1.0
    # A pattern and its opposite sum in another order, so what is equal up to rounding counts as equal.
    bound = abs(observed) - 1e-12 * size

    def as_far(exchanged: NDArray[np.bool_]) -> int:
        swapped = exchanged.astype(np.float64).T  # [pairs, B]
        first_totals = unchanged + first @ (1 - swapped) + second @ swapped
        second_totals = unchanged + first @ swapped + second @ (1 - swapped)
        return int((np.abs(statistic(*first_totals) - statistic(*second_totals)) >= bound).sum())

    return exchange_test(pairs, as_far, rng, _RESAMPLES)
