"""Majorisation of gaps against exact roots: sufficient, necessary for three tokens, not for four; dominance."""

import math
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import sympy
from examples import examples
from hypothesis import example, given, settings
from references import polynomial_crossings

from rws_theory import Majorisation, log_odds, majorises, testing
from rws_theory.majorisation import dominance_order
from rws_theory.testing import from_gaps

Gaps = tuple[int, ...] | list[int]


def logits(gaps: Gaps) -> list[Fraction]:
    return [Fraction(0), *(-Fraction(u) for u in gaps)]


def never_behind(u: Gaps, v: Gaps) -> bool:
    if sorted(u) == sorted(v):
        return True
    at_one = math.fsum(math.exp(-k) for k in u) - math.fsum(math.exp(-k) for k in v)
    assert abs(at_one) > 1e-12
    return at_one < 0 and not any(m % 2 for _, m in polynomial_crossings(list(u), list(v)))


@settings(max_examples=examples(200))
@given(testing.integer_gap_pairs(max_count=5, max_gap=9))
@example(([2, 2, 5], [1, 4, 4]))
@example(([1, 5, 6], [2, 3, 7]))
@example(([0, 0, 2], [0, 1, 1]))
def test_it_is_what_the_sums_and_the_exact_roots_say(pair: tuple[list[int], list[int]]) -> None:
    u, v = pair
    decided = majorises(logits(u), logits(v))
    sums = [(sum(u[:m]), sum(v[:m])) for m in range(1, len(u) + 1)]
    short = [(m, mine, theirs) for m, (mine, theirs) in enumerate(sums, start=1) if mine < theirs]
    assert decided.holds == bool(decided) == (not short)
    assert decided.fails_at == (short[0] if short else None)
    assert decided.never_behind == never_behind(u, v)


def test_for_four_tokens_it_does_not_and_a_missing_gap_is_infinite() -> None:
    # The witness, and with one more gap in both for every larger d.
    x = sympy.Symbol("x")
    u, v = (2, 2, 5), (1, 4, 4)
    assert sympy.factor(sum(x**k for k in u) - sum(x**k for k in v)) == x * (x - 1) ** 3 * (x + 1)
    for common in range(5):
        decided = majorises(logits([*u, *[9] * common]), logits([*v, *[9] * common]))
        assert decided == Majorisation(False, (2, Fraction(4), Fraction(5)), True)
    assert majorises([0, -1], from_gaps([1, 3])) and majorises([0], [0, -1])
    decided = majorises([0, -9, -9], [0, -1, -math.inf])
    assert decided == Majorisation(False, (2, Fraction(18), math.inf), False)


def by_grid(u: Gaps, v: Gaps, order: int) -> bool:
    """Dominance of an order on a fine grid of times, a test that can be passed wrongly only between its points."""
    times = [Fraction(k, 16) for k in range(16 * (3 * max([*u, *v]) + 2))]

    def power(t: Fraction, w: int) -> Fraction | int:
        return (t - w) ** (order - 1) if t >= w else 0

    return all(sum(power(t, w) for w in u) <= sum(power(t, w) for w in v) for t in times)


@settings(max_examples=examples(60))
@given(testing.integer_gap_pairs(max_count=4, max_gap=6))
def test_dominance_is_what_it_is_on_a_grid_of_times(pair: tuple[list[int], list[int]]) -> None:
    u, v = pair
    order = dominance_order(logits(u), logits(v), most=5)
    assert (order == 1) == all(mine >= theirs for mine, theirs in zip(u, v, strict=True))
    assert (order in (1, 2)) == bool(majorises(logits(u), logits(v)))
    if order is not None:
        assert all(by_grid(u, v, k) for k in range(order, 6)) and never_behind(u, v)
    else:
        assert not by_grid(u, v, 5) or not never_behind(u, v)


def test_every_strict_order_of_small_gaps_has_a_finite_order_of_dominance() -> None:
    lists = list(combinations_with_replacement(range(1, 4), 3))
    for u, v in product(lists, repeat=2):
        order = dominance_order(logits(u), logits(v), most=24)
        ahead = u == v or (never_behind(u, v) and not polynomial_crossings(list(u), list(v)))
        assert (order is not None) == ahead
    assert dominance_order(logits((2, 2, 5)), logits((1, 4, 4)), most=24) == 3
    touching = [*[0] * 1, *[2] * 22, *[4] * 9], [*[1] * 8, *[3] * 24]
    assert majorises(logits(touching[1]), logits(touching[0])).never_behind is True
    assert dominance_order(logits(touching[1]), logits(touching[0]), most=12) is None


@given(testing.logit_pairs(), testing.scales(1e-3, 1e3))
def test_floats_are_never_behind_where_it_holds(pair: tuple[np.ndarray, np.ndarray], r: float) -> None:
    a, b = pair
    decided = majorises(a, b)
    if decided.never_behind:
        mine, theirs = log_odds(a, r), log_odds(b, r)
        assert mine >= theirs or math.isclose(mine, theirs, rel_tol=1e-12, abs_tol=1e-12)
    if decided.fails_at is not None:
        m, short, theirs = decided.fails_at
        assert m <= a.size and short < theirs
