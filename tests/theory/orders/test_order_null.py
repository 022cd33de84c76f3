"""Generation Order Deviation, Kendall's tau, AR-ness: definitions, and nulls against every order there is."""

import math
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from examples import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rws_theory import footrule_distribution, order_test, testing
from rws_theory.orders.arness import global_arness, global_arness_mean, kendall_tau, local_arness, local_arness_mean
from rws_theory.orders.deviation import footrule_max, footrule_mean, footrule_variance, generation_order_deviation

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


def arrangements(steps: list[int], block: int | None = None) -> np.ndarray:
    """The slow reference: every distinct arrangement of the steps, inside blocks."""
    size = block or len(steps)
    parts = [sorted(set(permutations(steps[i : i + size]))) for i in range(0, len(steps), size)]
    return np.array([sum(rows, ()) for rows in product(*parts)])


def every_god(steps: list[int], reading: str, block: int | None = None) -> np.ndarray:
    return generation_order_deviation(arrangements(steps, block), reading)


SHAPES = [(n, None, 1) for n in (1, 2, 5, 7)] + [(6, None, 6), (8, None, 2), (8, None, 4), (6, 3, 1), (8, 4, 2)]


@pytest.mark.parametrize(("n", "block", "per_step"), SHAPES)
@pytest.mark.parametrize("reading", READINGS)
def test_moments_and_distribution_are_of_every_order(n: int, block: int | None, per_step: int, reading: str) -> None:
    totals = np.rint(n * every_god(np.repeat(np.arange(n // per_step), per_step).tolist(), reading, block)).astype(int)
    shape: Any = {"block": block, "per_step": per_step, "reading": reading}
    mean = Fraction(int(totals.sum()), totals.size)
    variance = Fraction(int((totals**2).sum()), totals.size) - mean**2
    exact = mean / n, variance / n**2, Fraction(int(totals.max()), n)
    rounded = [function(n, **shape) for function in (footrule_mean, footrule_variance, footrule_max)]
    assert rounded == [float(value) for value in exact]
    null = footrule_distribution(n, **shape)
    support, counts = np.unique(totals, return_counts=True)
    assert null.values.tolist() == (support / n).tolist()
    np.testing.assert_allclose(null.probabilities, counts / counts.sum(), rtol=1e-13)


def as_extreme(values: np.ndarray, god: float, alternative: str) -> np.ndarray:
    mean = values.mean()
    return {
        "less": values <= god + 1e-9,
        "greater": values >= god - 1e-9,
        "two-sided": abs(values - mean) >= abs(god - mean) - 1e-9,
    }[alternative]


@pytest.mark.parametrize("alternative", ["less", "greater", "two-sided"])
@pytest.mark.parametrize("reading", READINGS)
def test_blocks_of_different_schedules_are_counted_each_by_its_own(alternative: str, reading: str) -> None:
    steps = [1, 0, 1, 3, 2, 2, 4, 4, 4, 7, 5, 9, 11, 10, 10]
    values = every_god(steps, reading, block=3)
    test = order_test(steps, reading, block=3, alternative=alternative)  # type: ignore[arg-type]
    god, mean = generation_order_deviation(steps, reading), values.mean()
    extreme = as_extreme(values, god, alternative)
    assert (test.method, test.alternative, test.reading) == ("exact", alternative, reading)
    assert test.p_value == pytest.approx(extreme.mean(), rel=1e-12)
    assert (test.god, test.mean, test.deviation) == pytest.approx((god, mean, values.std()), rel=1e-12)


@pytest.mark.parametrize(
    ("steps", "reading", "method"),
    [
        (np.arange(128), "tokens", "exact"),
        (np.arange(129), "tokens", "normal"),
        (np.minimum(np.arange(100), 93), "tokens", "exact"),  # seven tokens in the last step: 100^3 (1 + 7) = 8 million
        (np.minimum(np.arange(101), 94), "tokens", "normal"),
        (np.minimum(np.arange(101), 94), "steps", "exact"),
        ([0, 2**20 - 1], "steps", "exact"),
        ([0, 2**20], "steps", "normal"),  # n GOD reaches 2^21
        ([0, 2**20], "tokens", "exact"),
    ],
)
def test_exact_up_to_its_limits_and_normal_beyond(steps: list[int], reading: str, method: str) -> None:
    test = order_test(steps, reading)  # type: ignore[arg-type]
    assert (test.method, test.god, test.p_value <= 1) == (method, 0.0, True)
    if method == "normal":
        with pytest.raises(ValueError, match=r"^method must be 'normal' or 'monte-carlo' for an order of this size"):
            order_test(steps, reading, method="exact")  # type: ignore[arg-type]


def test_limits_hold_for_every_block_and_for_all_together() -> None:
    # Two blocks whose n GOD reach 2^20 each.
    assert order_test([0, 2**19, 2**20, 2**20 + 2**19], "steps", block=2).method == "normal"
    test = order_test([0, 2**19, 2**20, 2**20 + 2**19 - 1], "steps", block=2, alternative="less")
    assert (test.method, test.p_value) == ("exact", 0.25)
    assert order_test(np.arange(256), block=128).method == "exact"
    assert order_test(np.r_[np.zeros(128, dtype=int), np.arange(1, 129)], block=128).method == "normal"
    with pytest.raises(ValueError, match=r"^block and per_step must be smaller .* got 64 and 32$"):
        footrule_distribution(128, 64, per_step=32)


def test_p_values_of_one_step_of_blocks_that_meet_and_at_most_one() -> None:
    values = every_god([1, 0, 1, 2], "tokens", block=2)
    for steps in ([0, 1, 1, 2], [1, 0, 1, 2], [1, 0, 2, 1]):
        test = order_test(steps, block=2, alternative="less")
        assert test.p_value == (values <= test.god).mean()
    for n in range(2, 21):  # at some n the sum of the probabilities exceeds 1 by rounding; the machine decides which
        assert 1 - 1e-12 < order_test(range(n), alternative="greater").p_value <= 1
    for method in ("exact", "normal"):
        for alternative in ("less", "greater", "two-sided"):
            test = order_test([4, 4, 4], alternative=alternative, method=method)  # type: ignore[arg-type]
            assert (test.god, test.deviation, test.z, test.p_value) == (0, 0, 0, 1)


def test_what_a_test_does_unless_told() -> None:
    steps = [1, 0, 2, 3, 5, 4, 6, 7]
    assert order_test(steps) == order_test(steps, "tokens", block=8, alternative="two-sided", method="exact")
    drawn = order_test(steps, method="monte-carlo", rng=np.random.default_rng(0))
    assert (drawn.samples, drawn.alternative, drawn.reading) == (9999, "two-sided", "tokens")
    assert drawn.p_value * 10_000 == pytest.approx(round(drawn.p_value * 10_000), abs=1e-9)
    # One sample: the observed order is always counted, and the drawn one where it is as extreme.
    for alternative, p in (("greater", 1.0), ("less", 0.5)):
        rng = np.random.default_rng(0)
        assert order_test(range(8), alternative=alternative, method="monte-carlo", samples=1, rng=rng).p_value == p  # type: ignore[arg-type]


@pytest.mark.parametrize("reading", READINGS)
def test_monte_carlo_is_seeded_labelled_and_near_the_exact_value(reading: str) -> None:
    steps, kinds = [1, 0, 0, 1, 2, 3, 2, 3], {"reading": reading, "alternative": "less", "block": 4}
    exact = order_test(steps, **kinds)  # type: ignore[arg-type]
    kinds |= {"method": "monte-carlo", "samples": 4000}
    drawn = [order_test(steps, rng=np.random.default_rng(7), **kinds) for _ in range(2)]  # type: ignore[arg-type]
    assert drawn[0] == drawn[1] and (drawn[0].method, drawn[0].samples) == ("monte-carlo", 4000)
    assert drawn[0].p_value == pytest.approx(exact.p_value, abs=5 * math.sqrt(exact.p_value / 4000))
    assert drawn[0].p_value >= 1 / 4001


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


@settings(max_examples=examples(150))
@given(testing.commit_steps(), st.integers(1, 4), st.sampled_from(["tokens", "steps"]))
def test_arness_follows_its_definition(steps: np.ndarray, k: int, reading: str) -> None:
    computed = global_arness(steps, k, reading)  # type: ignore[arg-type]
    assert computed == pytest.approx(global_by_definition(steps.tolist(), k, reading), abs=1e-12)
    assume(k < steps.size)
    assume(reading == "tokens" or k <= (steps < steps.max()).sum())  # else no step starts after the first k tokens
    computed = local_arness(steps, k, reading)  # type: ignore[arg-type]
    assert computed == pytest.approx(local_by_definition(steps.tolist(), k, reading), abs=1e-12)


@settings(max_examples=examples(60))
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


@given(testing.commit_steps())
def test_a_batch_of_arness_is_its_rows(steps: np.ndarray) -> None:
    assume(steps.min() < steps.max())
    batch = np.stack([steps, steps[::-1], np.sort(steps)])
    for function in (kendall_tau, local_arness, global_arness, lambda x: global_arness(x, 2, "steps")):
        np.testing.assert_array_equal(function(batch), [function(row) for row in batch])
        assert np.shape(function(steps)) == ()
