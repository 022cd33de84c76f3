"""Generation Order Deviation against its definition, and its null distribution against every order there is."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from rws_theory import footrule_max, footrule_mean, footrule_variance, generation_order_deviation, testing

pytestmark = pytest.mark.filterwarnings("error")


def by_definition(steps: list[int], reading: str) -> float:
    """(1/n) sum |a_i - o_i|, one position at a time."""
    n = len(steps)
    if reading == "steps":
        left_to_right = sorted(steps)
        return sum(abs(left_to_right[i] - steps[i]) for i in range(n)) / n
    commit_order = [i for step in sorted(set(steps)) for i in range(n) if steps[i] == step]
    return sum(abs(i - commit_order.index(i)) for i in range(n)) / n


@settings(deadline=None)
@given(testing.commit_steps())
def test_both_readings_follow_the_definition(steps: np.ndarray) -> None:
    for reading in ("tokens", "steps"):
        assert generation_order_deviation(steps, reading) == pytest.approx(
            by_definition(steps.tolist(), reading), abs=1e-12
        )


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


@pytest.mark.parametrize("n", range(1, 8))
def test_mean_and_maximum_over_every_order(n: int) -> None:
    orders = np.array(list(permutations(range(n))))
    tokens = generation_order_deviation(orders, "tokens")
    np.testing.assert_array_equal(tokens, generation_order_deviation(orders, "steps"))
    assert tokens.mean() == pytest.approx(footrule_mean(n), abs=1e-12)
    assert tokens.max() == footrule_max(n) == generation_order_deviation(np.arange(n)[::-1])


@pytest.mark.parametrize(("n", "block"), [(4, 2), (6, 2), (6, 3), (8, 4), (4, 1), (5, 5)])
def test_mean_and_maximum_over_every_order_within_blocks(n: int, block: int) -> None:
    rows = np.zeros((1, 0), dtype=int)
    for start in range(0, n, block):
        inside = np.array(list(permutations(range(start, start + block))))
        rows = np.array([[*row, *tail] for row in rows.tolist() for tail in inside.tolist()])
    values = generation_order_deviation(rows)
    assert values.mean() == pytest.approx(footrule_mean(n, block), abs=1e-12)
    assert values.max() == footrule_max(n, block)


@pytest.mark.parametrize(("steps", "per_step"), [(2, 2), (3, 2), (2, 3), (4, 2)])
def test_steps_reading_with_several_tokens_a_step_over_every_order(steps: int, per_step: int) -> None:
    labels = sorted(np.repeat(np.arange(steps), per_step).tolist())
    orders = np.array(_arrangements(labels))
    values = generation_order_deviation(orders, "steps")
    assert values.mean() == pytest.approx(footrule_mean(steps), abs=1e-12)
    assert values.max() == footrule_max(steps)


def _arrangements(labels: list[int]) -> list[list[int]]:
    if not labels:
        return [[]]
    return [[x, *rest] for x in sorted(set(labels)) for rest in _arrangements(_without(labels, x))]


def _without(labels: list[int], x: int) -> list[int]:
    index = labels.index(x)
    return labels[:index] + labels[index + 1 :]


def test_tokens_of_one_step_count_from_left_to_right_however_many() -> None:
    steps = np.repeat(np.arange(4), 500)
    assert generation_order_deviation(steps, "tokens") == 0.0
    assert generation_order_deviation(steps[::-1], "tokens") == 1000.0


def test_unsigned_steps_do_not_wrap_around() -> None:
    steps = np.array([3, 2, 1, 0], dtype=np.uint8)
    assert generation_order_deviation(steps, "steps") == generation_order_deviation(steps, "tokens") == 2.0


@pytest.mark.parametrize(
    ("steps", "reading", "message"),
    [
        ([0.0, 1.0], "tokens", "commit_step must be integers, got dtype float64"),
        ([True, False], "tokens", "commit_step must be integers, got dtype bool"),
        ([0, -1], "tokens", "commit_step must be 0 or more for every position, got -1"),
        (
            np.zeros(0, dtype=int),
            "tokens",
            "commit_step must have shape (n,) or (batch, n) with n >= 1, got shape (0,)",
        ),
        (
            np.zeros((1, 1, 1), dtype=int),
            "tokens",
            "commit_step must have shape (n,) or (batch, n) with n >= 1, got shape (1, 1, 1)",
        ),
        (3, "tokens", "commit_step must have shape (n,) or (batch, n) with n >= 1, got shape ()"),
        ([0, 1], "words", "reading is 'words':"),
    ],
)
def test_misuse_names_the_argument(steps: object, reading: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        generation_order_deviation(steps, reading)  # type: ignore[arg-type]
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("n", "shape", "message"),
    [
        (0, {}, "n is 0:"),
        (2.5, {}, "n is 2.5:"),
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
        with pytest.raises(ValueError) as caught:
            function(n, **shape)
        assert str(caught.value) == message
