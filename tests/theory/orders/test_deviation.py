"""Generation Order Deviation and AR-ness: their definitions, and mean and maximum over every order there is."""

from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from examples import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rws_theory import footrule_max, footrule_mean, generation_order_deviation, local_arness, testing

READINGS = ("tokens", "steps")


@given(testing.commit_steps())
def test_a_batch_is_its_rows_and_numbers_of_steps_may_be_shifted(steps: np.ndarray) -> None:
    batch = np.stack([steps, steps[::-1], np.sort(steps)])
    for reading in READINGS:
        expected = [generation_order_deviation(row, reading) for row in batch]
        np.testing.assert_array_equal(generation_order_deviation(batch, reading), expected)
        np.testing.assert_array_equal(generation_order_deviation(batch + 5, reading), expected)
    unsigned = np.array([3, 2, 1, 0], dtype=np.uint8)  # does not wrap around
    assert generation_order_deviation(unsigned, "steps") == generation_order_deviation(unsigned, "tokens") == 2.0
    if steps.size > 1:
        np.testing.assert_array_equal(local_arness(batch), [local_arness(row) for row in batch])


SHAPES = [(n, None, 1) for n in (1, 2, 5, 7)] + [(6, None, 6), (8, None, 2), (8, None, 4), (6, 3, 1), (8, 4, 2)]


@pytest.mark.parametrize(("n", "block", "per_step"), SHAPES)
@pytest.mark.parametrize("reading", READINGS)
def test_mean_and_maximum_are_of_every_order(n: int, block: int | None, per_step: int, reading: str) -> None:
    """The slow reference: every distinct arrangement of the steps, inside blocks."""
    steps, size = np.repeat(np.arange(n // per_step), per_step).tolist(), block or n
    parts = [sorted(set(permutations(steps[i : i + size]))) for i in range(0, n, size)]
    orders = np.array([sum(rows, ()) for rows in product(*parts)])
    totals = np.rint(n * generation_order_deviation(orders, reading)).astype(int)  # type: ignore[arg-type]
    shape: Any = {"block": block, "per_step": per_step, "reading": reading}
    assert footrule_mean(n, **shape) == float(Fraction(int(totals.sum()), n * totals.size))
    assert footrule_max(n, **shape) == totals.max() / n


@settings(max_examples=examples(150))
@given(testing.commit_steps(), st.integers(1, 4))
def test_arness_follows_its_definition(steps: np.ndarray, k: int) -> None:
    p = [position for _, position in sorted((step, position) for position, step in enumerate(steps.tolist()))]
    assume(k < steps.size)
    runs = [p[t - k : t + 1] == list(range(p[t] - k, p[t] + 1)) for t in range(k, len(p))]
    assert local_arness(steps, k) == pytest.approx(np.mean(runs), abs=1e-12)
    assert local_arness(np.sort(steps), k) == 1.0
