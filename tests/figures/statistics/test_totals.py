"""Statistics of totals over prompts: hold intervals and tests to what is counted out one by one."""

from __future__ import annotations

from itertools import product
from math import exp

import numpy as np
import pytest

from paper_figures.statistics.significance import paired_test
from paper_figures.statistics.totals import compare_totals, interval_of_totals, mean_of, pooled_perplexity_of

NLL = [[8.0, 3.0, 12.0, 1.0, 7.5], [9.0, 3.5, 10.0, 4.0, 7.5]]
TOKENS = [[4.0, 3.0, 5.0, 1.0, 3.0], [4.0, 2.0, 6.0, 2.0, 3.0]]


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def pooled(side: int, swapped: tuple[int, ...]) -> float:
    """Pooled perplexity of one side after some prompts changed sides, put together by the loop."""
    chosen = [side ^ swap for swap in swapped]
    totals = [sum(table[which][prompt] for prompt, which in enumerate(chosen)) for table in (NLL, TOKENS)]
    return exp(totals[0] / totals[1])


def test_swap_test_counts_every_exchange() -> None:
    comparison = compare_totals(pooled_perplexity_of, (NLL[0], TOKENS[0]), (NLL[1], TOKENS[1]), rng())
    none = (0,) * 5
    assert comparison.first == pytest.approx(pooled(0, none)) and comparison.second == pytest.approx(pooled(1, none))
    observed = abs(pooled(0, none) - pooled(1, none))
    gaps = [abs(pooled(0, swaps) - pooled(1, swaps)) for swaps in product((0, 1), repeat=5)]
    assert comparison.p == sum(gap >= observed - 1e-12 for gap in gaps) / 32
    assert comparison.difference.mean == pytest.approx(comparison.first - comparison.second) and comparison.pairs == 5
    assert comparison.ratio is not None and comparison.ratio.mean == pytest.approx(comparison.first / comparison.second)


def test_interval_is_that_of_resampled_prompts() -> None:
    draw = np.random.default_rng(8)
    nll, tokens = draw.gamma(4.0, 2.0, 20), draw.integers(1, 9, 20)
    interval = interval_of_totals(pooled_perplexity_of, (nll, tokens), rng())
    slow = []
    for _ in range(4000):
        rows = draw.integers(20, size=20)
        slow.append(np.exp(nll[rows].sum() / tokens[rows].sum()))
    assert interval.mean == pytest.approx(np.exp(nll.sum() / tokens.sum()))
    assert (interval.low, interval.high) == pytest.approx(tuple(np.quantile(slow, [0.025, 0.975])), rel=0.05)


def test_means_have_the_p_of_the_sign_flip_test() -> None:
    first, second = [1.0, 4.0, 2.0, 7.0, 3.0], [0.5, 4.0, 3.5, 2.0, 1.0]
    comparison = compare_totals(mean_of, (first, [1] * 5), (second, [1] * 5), rng())
    assert comparison.p == paired_test(first, second, rng())
    assert compare_totals(mean_of, (first, [1] * 5), (first, [1] * 5), rng()).p == 1.0


def test_order_of_prompts_changes_no_estimate_and_equal_seeds_repeat() -> None:
    first, second = (NLL[0], TOKENS[0]), (NLL[1], TOKENS[1])
    assert compare_totals(pooled_perplexity_of, first, second, rng()) == compare_totals(
        pooled_perplexity_of, first, second, rng()
    )
    mixed = [[[column[prompt] for prompt in (4, 2, 0, 1, 3)] for column in columns] for columns in (first, second)]
    comparison = compare_totals(pooled_perplexity_of, *mixed, rng())
    whole = compare_totals(pooled_perplexity_of, first, second, rng())
    assert comparison.p == whole.p and comparison.difference.mean == pytest.approx(whole.difference.mean)


def test_no_ratio_to_what_may_be_nothing() -> None:
    comparison = compare_totals(mean_of, ([1.0, 2.0], [1, 1]), ([0.0, 1.0], [1, 1]), rng())
    assert comparison.ratio is None and comparison.difference.mean == 1.0
    assert compare_totals(mean_of, ([1.0], [1]), ([0.0], [1]), rng()).ratio is None


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (([], []), ([], []), r"column 0 has shape \(0,\)"),
        (([1.0], [1.0]), ([1.0],), "second has 1 columns: first has 2"),
        (([1.0], [1.0]), ([float("nan")], [1.0]), "column 2 holds values that are not finite"),
        (([1.0], [1.0, 2.0]), ([1.0], [1.0]), "column 1 has 2 values: column 0 has 1"),
    ],
    ids=["empty", "columns", "nan", "lengths"],
)
def test_misuse_is_told(first: tuple[list[float], ...], second: tuple[list[float], ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compare_totals(mean_of, first, second, rng())
