"""Generation Order Deviation against its definition, and its null distribution against every order there is."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from misuse import refused

from rws_theory import footrule_max, footrule_mean, footrule_variance, generation_order_deviation, testing

pytestmark = pytest.mark.filterwarnings("error")


@settings(deadline=None)
@given(testing.commit_steps())
def test_left_to_right_is_zero_in_both_readings(steps: np.ndarray) -> None:
    assert (
        generation_order_deviation(np.sort(steps), "tokens")
        == generation_order_deviation(np.sort(steps), "steps")
        == 0.0
    )


@settings(deadline=None)
@given(testing.commit_steps())
def test_tokens_reading_ignores_how_steps_are_numbered(steps: np.ndarray) -> None:
    assert generation_order_deviation(3 * steps + 5, "tokens") == generation_order_deviation(steps, "tokens")
    assert generation_order_deviation(steps + 5, "steps") == generation_order_deviation(steps, "steps")


@settings(deadline=None)
@given(testing.commit_steps())
def test_a_batch_is_its_rows(steps: np.ndarray) -> None:
    batch = np.stack([steps, steps[::-1], np.sort(steps)])
    for reading in ("tokens", "steps"):
        expected = [generation_order_deviation(row, reading) for row in batch]
        np.testing.assert_array_equal(generation_order_deviation(batch, reading), expected)


def test_tokens_of_one_step_count_from_left_to_right_however_many() -> None:
    steps = np.repeat(np.arange(4), 500)
    assert generation_order_deviation(steps, "tokens") == 0.0
    assert generation_order_deviation(steps[::-1], "tokens") == 1000.0


def test_unsigned_steps_do_not_wrap_around() -> None:
    steps = np.array([3, 2, 1, 0], dtype=np.uint8)
    assert generation_order_deviation(steps, "steps") == generation_order_deviation(steps, "tokens") == 2.0


@pytest.mark.parametrize(
    ("n", "shape", "message"),
    [
        (0, {}, "n is 0:"),
        (True, {}, "n is True:"),
        (6, {"reading": "words"}, "reading is 'words':"),
        (6, {"per_step": 0}, "per_step is 0:"),
        (6, {"per_step": 4}, "per_step must divide n = 6, got 4"),
        (6, {"block": 3, "per_step": 2}, "per_step must divide block = 3, got 2"),
        (6, {"block": 4}, "block must divide n = 6, got 4"),
        (6, {"block": 0}, "block is 0:"),
    ],
)
def test_null_values_refuse_impossible_lengths(n: int, shape: dict[str, Any], message: str) -> None:
    for function in (footrule_mean, footrule_variance, footrule_max):
        refused(partial(function, n, **shape), message)
