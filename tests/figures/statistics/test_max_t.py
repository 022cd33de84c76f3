"""Step-down max-T: against one loop per step, the paired test of one row, Holm's correction, and simulated nulls."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import ttest_1samp

from paper_figures.statistics.significance import holm, max_t, max_t_of_groups, paired_test

ROWS = st.tuples(st.integers(1, 4), st.integers(1, 7)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(-8, 8).map(lambda quarters: quarters / 4))
)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def _size(row: np.ndarray) -> float:
    """Return |t|, infinite for equal values other than 0 and 0 for zeros."""
    if np.ptp(row) == 0:
        return np.inf if row[0] else 0.0
    return abs(ttest_1samp(row, 0.0).statistic)


def _slow(differences: np.ndarray) -> list[float]:
    """Adjust by all sign patterns, step by step: at each, the rows that are not yet judged compete."""
    sizes = np.array([_size(row) for row in differences])
    patterns = [np.array(signs) for signs in product((1, -1), repeat=differences.shape[1])]
    flipped = [[_size(signs * row) for row in differences] for signs in patterns]
    left, adjusted, before = set(range(len(differences))), [1.0] * len(differences), 0.0
    while left:
        row = max(left, key=lambda i: (sizes[i], -i))
        reached = np.mean([max(sizes_there[i] for i in left) >= sizes[row] - 1e-9 for sizes_there in flipped])
        before = adjusted[row] = max(before, float(reached))
        left.remove(row)
    return adjusted


@given(ROWS)
def test_all_patterns_give_what_the_loop_gives(differences: np.ndarray) -> None:
    if differences.shape[1] > 1:
        assert max_t(differences, rng()) == pytest.approx(_slow(differences))


@given(ROWS, st.sampled_from([19, 9999]))
def test_one_row_is_the_paired_test(differences: np.ndarray, resamples: int) -> None:
    row = differences[0]
    wanted = paired_test(row, np.zeros_like(row), rng(), resamples)
    assert max_t(differences[:1], rng(), resamples)[0] == pytest.approx(wanted)


@given(ROWS, st.integers(1, 3), st.randoms(use_true_random=False))
def test_copies_and_order_change_nothing(differences: np.ndarray, copies: int, random) -> None:
    adjusted = max_t(differences, rng())
    order = list(range(len(differences)))
    random.shuffle(order)
    assert max_t(differences[order], rng()) == pytest.approx([adjusted[i] for i in order])
    assert max_t(np.tile(differences, (copies, 1)), rng()) == pytest.approx(adjusted * copies)
    assert max_t(-1e-200 * differences, rng()) == pytest.approx(adjusted)


@given(ROWS)
def test_adjusted_is_at_least_raw_and_in_the_order_of_t(differences: np.ndarray) -> None:
    adjusted = max_t(differences, rng())
    raw = [max_t(row[None], rng())[0] for row in differences]
    assert all(a >= r - 1e-12 for a, r in zip(adjusted, raw, strict=True))
    sizes = [_size(row) if row.size > 1 else abs(row[0]) for row in differences]
    for i, j in product(range(len(sizes)), repeat=2):
        assert sizes[i] <= sizes[j] + 1e-9 or adjusted[i] <= adjusted[j] + 1e-12


@given(st.lists(st.integers(0, 8), min_size=2, max_size=7), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_adjusted_is_at_most_holms_where_all_rows_have_one_null(sizes: list[int], count: int, seed: int) -> None:
    """Rows of the same sizes in other orders and signs: the chance of any is at most the sum of the chances."""
    draws = rng(seed)
    rows = np.array([draws.permutation(sizes) * draws.choice([-1, 1], len(sizes)) for _ in range(count)])
    adjusted, raw = max_t(rows, rng()), [max_t(row[None], rng())[0] for row in rows]
    assert all(a <= h + 1e-12 for a, h in zip(adjusted, holm(raw), strict=True))


def test_correlated_rows_pay_less_than_holms_and_independent_ones_no_more() -> None:
    base = rng(3).normal(0.0, 1.0, 100)
    alike = base - base.mean() + 0.25 + rng(4).normal(0.0, 0.1, (8, 100))
    p_alike = max_t(alike, rng(), 1999)
    raw = [max_t(row[None], rng(), 1999)[0] for row in alike]
    assert max(p_alike) < 0.05 < max(holm(raw))
    independent = rng(5).normal(0.25, 1.0, (8, 100))
    p_independent = max_t(independent, rng(), 1999)
    raw = [max_t(row[None], rng(), 1999)[0] for row in independent]
    assert all(a <= h + 0.03 for a, h in zip(p_independent, holm(raw), strict=True))


@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_family_wise_error_is_at_most_alpha(correlation: float) -> None:
    """Five true nulls and one real effect: any null below alpha is an error."""
    draws, simulations, errors, detections = rng(7), examples(4000), 0, 0
    for _ in range(simulations):
        noise = draws.normal(size=(6, 20)) * np.sqrt(1 - correlation) + draws.normal(size=20) * np.sqrt(correlation)
        noise[0] += 1.0
        adjusted = max_t(noise, draws, 199)
        errors += min(adjusted[1:]) <= 0.1
        detections += adjusted[0] <= 0.1
    assert errors / simulations <= 0.1 + 3 * np.sqrt(0.09 / simulations)
    assert detections / simulations > 0.9


def _slow_of_groups(differences: np.ndarray, groups: np.ndarray) -> list[float]:
    """Adjust by every pattern of signs of groups: |t| of all rows that are no larger, by loops over prompts."""

    def size(row: np.ndarray, turned: np.ndarray) -> float:
        values = row * turned
        residuals = values - values.mean()
        squares = sum(residuals[groups == name].sum() ** 2 for name in set(groups.tolist()))
        return abs(values.mean()) / np.sqrt(squares)

    patterns = [np.array([signs[g] for g in groups]) for signs in product((1, -1), repeat=max(groups) + 1)]
    found = [size(row, np.ones(len(groups))) for row in differences]
    turned = [[size(row, signs) for row in differences] for signs in patterns]
    adjusted = [0.0] * len(found)
    for row in sorted(range(len(found)), key=lambda i: -found[i]):
        left = [i for i in range(len(found)) if found[i] <= found[row] * (1 + 1e-9)]
        own = np.mean([max(sizes[i] for i in left) >= found[row] * (1 - 1e-9) for sizes in turned])
        larger = [adjusted[i] for i in range(len(found)) if found[i] >= found[row]]
        adjusted[row] = max(float(own), *larger)
    return adjusted


@given(st.integers(0, 2**20), st.integers(1, 4), st.lists(st.integers(1, 4), min_size=2, max_size=5))
def test_signs_of_groups_give_what_the_loop_gives(seed: int, rows: int, sizes: list[int]) -> None:
    groups = np.repeat(np.arange(len(sizes)), sizes)
    differences = rng(seed).normal(0.5, 1.0, (rows, len(groups)))
    assert max_t_of_groups(differences, groups) == pytest.approx(_slow_of_groups(differences, groups))
    assert max_t_of_groups(np.zeros((1, len(groups))), groups) == [1.0]


def test_few_unequal_groups_err_little_more_often_than_they_say() -> None:
    """The openings of the record's addresses share half a deviation; six true nulls: 0.063 of 1,500 simulations."""
    groups = np.repeat(np.arange(11), (100, 80, 56, 33, 29, 28, 22, 20, 18, 9, 5))
    draws, simulations = rng(8), examples(1000)
    noise = draws.normal(size=(simulations, 6, 400)) + 0.5 * draws.normal(size=(simulations, 6, 11))[..., groups]
    errors = np.mean([min(max_t_of_groups(rows, groups)) <= 0.05 for rows in noise])
    assert errors == pytest.approx(0.063, abs=4 * np.sqrt(0.063 / simulations))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: max_t([1.0, 2.0], rng()), r"differences has shape \(2,\)"),
        (lambda: max_t(np.zeros((2, 0)), rng()), r"differences has shape \(2, 0\)"),
        (lambda: max_t([[np.nan, 1.0]], rng()), "differences holds values that are not finite"),
        (lambda: max_t([[1.0, 2.0]], rng(), 0), "resamples is 0"),
        (lambda: max_t_of_groups(np.ones((1, 17)), range(17)), "groups has 17 names: at most 16"),
    ],
    ids=["shape", "empty", "nan", "resamples", "groups"],
)
def test_misuse_is_named(call, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()
