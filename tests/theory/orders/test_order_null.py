"""The null distribution of GOD against every order there is, and tests of orders against it."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from misuse import refused

from rws_theory.orders import footrule_distribution, order_test
from rws_theory.orders.deviation import footrule_max, footrule_mean, footrule_variance, generation_order_deviation

pytestmark = pytest.mark.filterwarnings("error")

READINGS = ("tokens", "steps")


def arrangements(steps: list[int], block: int | None = None) -> np.ndarray:
    """The slow reference: every distinct arrangement of the steps, inside blocks."""
    size = block or len(steps)
    parts = [sorted(set(permutations(steps[i : i + size]))) for i in range(0, len(steps), size)]
    return np.array([sum(rows, ()) for rows in product(*parts)])


def every_god(steps: list[int], reading: str, block: int | None = None) -> np.ndarray:
    return generation_order_deviation(arrangements(steps, block), reading)


SHAPES = [(n, None, 1) for n in range(1, 8)] + [
    (6, None, 2),
    (6, None, 3),
    (6, None, 6),
    (8, None, 2),
    (8, None, 4),
    (6, 3, 1),
    (8, 4, 2),
    (6, 2, 2),
    (9, 3, 3),
]


@pytest.mark.parametrize(("n", "block", "per_step"), SHAPES)
@pytest.mark.parametrize("reading", READINGS)
def test_moments_maximum_and_distribution_are_those_of_every_order(
    n: int, block: int | None, per_step: int, reading: str
) -> None:
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


def test_blocks_may_meet_in_one_step() -> None:
    values = every_god([1, 0, 1, 2], "tokens", block=2)
    for steps in ([0, 1, 1, 2], [1, 0, 1, 2], [1, 0, 2, 1]):
        test = order_test(steps, block=2, alternative="less")
        assert test.p_value == (values <= test.god).mean()


def test_no_p_value_exceeds_one_by_rounding() -> None:
    for n in range(2, 21):  # at some n the sum of the probabilities exceeds 1 by rounding; the machine decides which
        assert 1 - 1e-12 < order_test(range(n), alternative="greater").p_value <= 1


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
    drawn = [
        order_test(steps, method="monte-carlo", samples=4000, rng=np.random.default_rng(7), **kinds)  # type: ignore[arg-type]
        for _ in range(2)
    ]
    assert drawn[0] == drawn[1] and (drawn[0].method, drawn[0].samples) == ("monte-carlo", 4000)
    assert drawn[0].p_value == pytest.approx(exact.p_value, abs=5 * math.sqrt(exact.p_value / 4000))
    assert drawn[0].p_value >= 1 / 4001


def test_one_step_has_one_order() -> None:
    for method in ("exact", "normal"):
        for alternative in ("less", "greater", "two-sided"):
            test = order_test([4, 4, 4], alternative=alternative, method=method)  # type: ignore[arg-type]
            assert (test.god, test.deviation, test.z, test.p_value) == (0, 0, 0, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0, 1]],), "commit_step must have shape (n,) for a test, got shape (1, 2)"),
        ((np.array([0, 2**63], dtype=np.uint64),), "commit_step must ... got 9223372036854775808"),
        (([0, 1], "tokens", {"method": "guess"}), "method is 'guess':"),
        (([0, 1, 2], "tokens", {"block": 2}), "block must divide n = 3, got 2"),
        (([2, 3, 0, 1], "tokens", {"block": 2}), "block must ... got 2"),
        ((list(range(129)), "tokens", {"method": "exact"}), "method must ... got 'exact'"),
        (([0, 1], "tokens", {"method": "monte-carlo"}), "rng must ... got None"),
        (
            ([0, 1], "tokens", {"method": "monte-carlo", "samples": 0, "rng": np.random.default_rng(0)}),
            "samples is 0:",
        ),
    ],
)
def test_misuse_of_a_test_names_the_argument(arguments: tuple[object, ...], message: str) -> None:
    options = arguments[2] if len(arguments) == 3 else {}
    refused(lambda: order_test(*arguments[:2], **options), message)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0}, "n is 0:"),
        ({"n": 6, "block": 3, "per_step": 2}, "block and per_step must ... got n = 6, block = 3, per_step = 2"),
        ({"n": 6, "per_step": 4}, "block and per_step must divide n and block, got n = 6, block = 6, per_step = 4"),
        ({"n": 256}, "block and per_step must ... got 256 and 1"),
    ],
)
def test_misuse_of_the_distribution_names_the_argument(arguments: dict[str, object], message: str) -> None:
    refused(lambda: footrule_distribution(**arguments), message)  # type: ignore[arg-type]
