"""Kendall's tau and AR-ness of commit orders against their definitions, and their means over every order."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from examples import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from misuse import refused

from rws_theory import testing
from rws_theory.orders.arness import global_arness, global_arness_mean, kendall_tau, local_arness, local_arness_mean

pytestmark = pytest.mark.filterwarnings("error")


def commit_sequence(steps: list[int]) -> list[tuple[int, int]]:
    """(step, position) of each token, the tokens of a step from left to right."""
    return sorted((step, position) for position, step in enumerate(steps))


def average(scores: dict[int, bool], tokens: list[tuple[int, int]], reading: str) -> float:
    if reading == "tokens":
        return sum(scores.values()) / len(scores)
    by_step: dict[int, list[bool | None]] = {}
    for t, (step, _) in enumerate(tokens):
        by_step.setdefault(step, []).append(scores.get(t))
    whole = [all(computed) for computed in by_step.values() if None not in computed]
    return sum(whole) / len(whole)


def local_by_definition(steps: list[int], k: int, reading: str) -> float:
    tokens = commit_sequence(steps)
    p = [position for _, position in tokens]
    scores = {t: p[t - k : t + 1] == list(range(p[t] - k, p[t] + 1)) for t in range(k, len(p))}
    return average(scores, tokens, reading)


def global_by_definition(steps: list[int], k: int, reading: str) -> float:
    tokens = commit_sequence(steps)
    masked, scores = list(range(len(steps))), {}
    for t, (_, position) in enumerate(tokens):
        scores[t] = position in masked[:k]
        masked.remove(position)
    return average(scores, tokens, reading)


@settings(deadline=None, max_examples=examples(150))
@given(testing.commit_steps(), st.integers(1, 4), st.sampled_from(["tokens", "steps"]))
def test_arness_follows_its_definition(steps: np.ndarray, k: int, reading: str) -> None:
    computed = global_arness(steps, k, reading)  # type: ignore[arg-type]
    assert computed == pytest.approx(global_by_definition(steps.tolist(), k, reading), abs=1e-12)
    assume(k < steps.size)
    assume(reading == "tokens" or k <= (steps < steps.max()).sum())  # else no step starts after the first k tokens
    computed = local_arness(steps, k, reading)  # type: ignore[arg-type]
    assert computed == pytest.approx(local_by_definition(steps.tolist(), k, reading), abs=1e-12)


@settings(deadline=None, max_examples=examples(60))
@given(testing.commit_steps())
def test_left_to_right_has_arness_one_and_k_makes_it_monotone(steps: np.ndarray) -> None:
    ordered = np.sort(steps)
    assert global_arness(ordered) == global_arness(ordered, reading="steps") == 1.0
    wide = [global_arness(steps, k) for k in range(1, steps.size + 1)]
    assert wide == sorted(wide) and wide[-1] == 1.0
    if steps.size > 1:
        assert local_arness(ordered, steps.size - 1) == 1.0
        runs = [local_arness(steps, k) * (steps.size - k) for k in range(1, steps.size)]
        assert runs == sorted(runs, reverse=True)


@pytest.mark.parametrize("n", range(1, 7))
def test_means_over_every_order(n: int) -> None:
    orders = np.array(list(permutations(range(n))))
    for k in range(1, n + 1):
        assert global_arness(orders, k).mean() == pytest.approx(global_arness_mean(n, k), abs=1e-12)
        if k < n:
            assert local_arness(orders, k).mean() == pytest.approx(local_arness_mean(n, k), abs=1e-12)


@settings(deadline=None, max_examples=30)
@given(testing.commit_steps())
def test_a_batch_is_its_rows(steps: np.ndarray) -> None:
    assume(steps.min() < steps.max())
    batch = np.stack([steps, steps[::-1], np.sort(steps)])
    for function in (kendall_tau, local_arness, global_arness, lambda x: global_arness(x, 2, "steps")):
        np.testing.assert_array_equal(function(batch), [function(row) for row in batch])
        assert np.shape(function(steps)) == ()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: kendall_tau([1, 1, 1]), "commit_step must ... got a row with one only"),
        (lambda: global_arness_mean(3, 0), "k is 0:"),
        (lambda: local_arness([0, 1], 2), "k must be below the number of positions, 2, got 2"),
        (lambda: local_arness([0, 1], 1, "words"), "reading is 'words':"),
        (lambda: local_arness([0, 0, 0], 1, "steps"), "k must ... got 1"),
        (lambda: global_arness([0, 1], 1.5), "k is 1.5:"),
        (lambda: global_arness([-1, 1]), "commit_step must be 0 or more for every position, got -1"),
        (lambda: local_arness_mean(3, 3), "k must be below the number of positions, 3, got 3"),
    ],
)
def test_misuse_names_the_argument(call: object, message: str) -> None:
    refused(call, message)
