"""Step-down max-T: against one loop per step, the paired test of one row, and simulated nulls of groups."""

from itertools import product

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import ttest_1samp

from paper_figures.statistics.significance import max_t, max_t_of_groups, paired_test

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
