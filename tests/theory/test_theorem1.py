"""Theorem 1 for single pairs: parity against exact roots, the no-flip certificate, and the four failures."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from examples import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st
from references import polynomial_crossings

import rws_theory.theorem1
from rws_theory import Crossing, Crossings, crossings, testing
from rws_theory.theorem1 import Clause, Theorem1Verdict, theorem1

WORKED_EXAMPLE = ([Fraction(11, 10), Fraction(6, 10), Fraction(3, 10)], [1, Fraction(4, 10), Fraction(4, 10)])


def exact(gaps: tuple[object, ...] | list[object]) -> list[Fraction]:
    return [Fraction(0), *(-Fraction(u) for u in gaps)]  # type: ignore[arg-type]


def of_gaps(u: object, v: object) -> Theorem1Verdict:
    return theorem1(exact(u), exact(v))  # type: ignore[arg-type]


def claim(claims: tuple[Clause, ...], name: str) -> Clause:
    (computed,) = [c for c in claims if c.name == name]
    return computed


@settings(max_examples=examples(150))
@given(testing.integer_gap_pairs())
@example(([1, 5, 6], [2, 3, 7]))  # equal sums
@example(([2, 2, 3], [1, 3, 3]))
@example(([1, 1, 4], [1, 2, 2]))  # equal smallest gap, different multiplicity
@example(([3], [3]))
def test_parities_and_corrected_clauses_are_what_the_exact_roots_say(pair: tuple[list[int], list[int]]) -> None:
    """For the ends the slow reference is 400 digits of g very near 0 and very far out."""
    u, v = pair
    truth, verdict = polynomial_crossings(u, v), of_gaps(u, v)
    signs = verdict.parity
    assert signs.below_one == sum(m for r, m in truth if r < 1) % 2
    assert signs.above_one == sum(m for r, m in truth if r > 1) % 2
    assert (signs.power is None) == (signs.gap is None) == (signs.at_one == 0) == (u == v)
    with mpmath.workdps(400):
        for r, sign in ((mpmath.mpf(10) ** -6, signs.near_zero), (1, signs.at_one), (50, signs.near_infinity)):
            g = mpmath.fsum(mpmath.exp(-r * k) for k in u) - mpmath.fsum(mpmath.exp(-r * k) for k in v)
            assert sign == -mpmath.sign(mpmath.chop(g, mpmath.mpf(10) ** -380))
    assert [c.name for c in verdict.corrected] == ["low", "high", "none"]
    assert all(c.holds is not False for c in verdict.corrected)
    if verdict.crossings.complete:
        assert all(c.holds for c in verdict.corrected)
        assert verdict.below_one == sum(r < 1 for r, _ in truth)
        assert verdict.above_one == sum(r > 1 for r, _ in truth)


LOGITS = st.lists(st.sampled_from([0, -1, -2, -3, -math.inf]), min_size=1, max_size=3).map(lambda x: [0, *x])


@given(LOGITS, LOGITS)
@example([0, -1, -math.inf], [0, -1, -1])  # Sigma_a < Sigma_b, and no crossing
def test_forbidden_tokens_refute_nothing_that_is_said_of_them(a: list[float], b: list[float]) -> None:
    verdict, (n, m) = theorem1(a, b), (sum(map(math.isfinite, x)) for x in (a, b))
    assert verdict.hypothesis == (n == m and verdict.parity.at_one > 0)
    assert n > 3 or verdict.mended_holds
    assert all(clause.holds for clause in verdict.corrected)


@settings(max_examples=examples(80))
@given(testing.integer_gap_pairs(max_count=2))
def test_the_mended_theorem_holds_up_to_dimension_three(pair: tuple[list[int], list[int]]) -> None:
    verdict = of_gaps(*pair)
    assert verdict.dimension <= 3 and verdict.crossings.complete
    # Equal Sigma or equal delta, which the paper does not treat, leave (c) to speak: it is right there too.
    assert verdict.mended_holds is True


def test_without_its_hypothesis_and_with_forbidden_tokens() -> None:
    verdict = theorem1(*WORKED_EXAMPLE[::-1])
    assert not verdict.hypothesis and verdict.printed_holds and verdict.mended_holds
    assert not any(c.premise for c in (*verdict.printed, *verdict.mended))
    same = theorem1([1.0, 0.0], [3.0, 2.0])
    assert same.parity.power is None and same.printed_holds and same.no_flip and same.below_one == 0
    assert theorem1([0, -1, -np.inf], [0, -1]).parity == theorem1([5, 4], [0, -1]).parity
    more = theorem1([0, -3, -3], [0, -1]).parity  # two gaps against one: behind near 0, ahead far out
    assert (more.power, more.near_zero, more.near_infinity, more.gap) == (0, -1, 1, 1)
    alone = theorem1([2.0], [0.0, -1.0])
    assert alone.delta == (math.inf, 1) and not alone.hypothesis and alone.no_flip and alone.dimension == 2


NAMES = ("exclusive", "a", "b", "c")


@pytest.mark.parametrize(
    ("u", "v", "printed", "mended", "corrected"),
    [
        # For each sentence: whether its premise is met, and whether it holds.
        (("3/2", 3), (1, 4), "10 11 10 01", "11 11 01 01", "odd even 0"),
        ((1, "7/2", "7/2"), ("3/2", "3/2", "13/2"), "10 11 01 01", "10 11 11 01", "odd odd 0"),
        ((1, "3/2", 7), ("1/2", 3, 5), "11 01 10 01", "11 01 01 10", "even even 0"),  # a reversal where it allows none
        # Not unique; and no crossing, though neither supermajorises the other.
        (("7/4", "7/4", "21/4", "11/2", 7), ("5/4", "13/4", "7/2", 5, 9), "10 10 10 01", "11 10 01 01", "odd even 0"),
        ((2, 2, 9), (1, 4, 4), "11 01 10 01", "11 01 01 11", "even even 0"),
        ((1, 5), (1, 3), "11 01 01 11", "11 01 01 11", "even even 1"),  # equal deltas: (c) speaks
        ((1, 3), (1, 5), "01 01 01 01", "01 01 01 01", "even even 1"),
        # Unequal numbers of tokens, about which the theorem says nothing: they meet once, at log(3) / 3.
        ((3,) * 6, (0, *(6,) * 9), "01 01 01 01", "01 01 01 01", "even even 0"),
    ],
)
def test_every_sentence_is_judged(
    u: tuple[object, ...], v: tuple[object, ...], printed: str, mended: str, corrected: str
) -> None:
    verdict = of_gaps(u, v)
    for claims, judged in ((verdict.printed, printed), (verdict.mended, mended)):
        wanted = [(name, *(bit == "1" for bit in two)) for name, two in zip(NAMES, judged.split(), strict=True)]
        assert [(c.name, c.premise, c.holds) for c in claims] == wanted
        assert all(type(c.premise) is type(c.holds) is bool for c in claims)
    low, high, none = corrected.split()
    wanted = [("low", True, True), ("high", True, True), ("none", none == "1", True)]
    assert [(c.name, c.premise, c.holds) for c in verdict.corrected] == wanted
    for clause, parity, where in zip(verdict.corrected, (low, high), ("(0, 1)", "(1, inf)"), strict=False):
        assert f" {parity} number " in clause.asserts and where in clause.asserts
    assert verdict.no_flip is (none == "1")


@pytest.mark.parametrize("side", [-1, 1])
def test_a_crossing_next_to_one_is_put_on_its_side(side: int) -> None:
    """The last gap puts the crossing within 1e-13 of r = 1, closer than enclosures are wide."""
    with mpmath.workdps(60):
        w = -mpmath.log(mpmath.exp(-1) + mpmath.exp(-3) - mpmath.exp(-2))
        root = Fraction(int(w * 10**50), 10**50) + Fraction(side, 10**15)
        verdict = of_gaps((1, 3), (2, root))

        def g(r: mpmath.mpf) -> mpmath.mpf:
            last = mpmath.mpf(root.numerator) / root.denominator
            return mpmath.exp(-r) + mpmath.exp(-3 * r) - mpmath.exp(-2 * r) - mpmath.exp(-last * r)

        above = mpmath.findroot(g, (mpmath.mpf(1) - mpmath.mpf(10) ** -13, mpmath.mpf(1) + mpmath.mpf(10) ** -13)) > 1
    assert (verdict.below_one, verdict.above_one) == ((0, 1) if above else (1, 0))
    assert all(c.holds for c in verdict.corrected)


def with_crossings(monkeypatch: pytest.MonkeyPatch, *computed: Crossing, complete: bool = False) -> Theorem1Verdict:
    """The verdict on a pair whose premises of mended (a) and (b) are met, had these crossings been reported."""
    whole = crossings(exact((1, "7/2", "7/2")), exact(("3/2", "3/2", "13/2")))
    reported = Crossings(**{**vars(whole), "crossings": computed, "complete": complete})
    monkeypatch.setattr(rws_theory.theorem1, "crossings", lambda *_: reported)
    return of_gaps((1, "7/2", "7/2"), ("3/2", "3/2", "13/2"))


def test_what_is_not_proved_is_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Crossing(0.3, 0.4, None, 0.35)
    verdict = with_crossings(monkeypatch, cluster, Crossing(1.1, 1.3, 1, 1.2))
    assert verdict.below_one is None and verdict.above_one is None and verdict.printed_holds is None
    assert [c.holds for c in verdict.corrected] == [None, None, True]
    assert claim(verdict.mended, "a").holds is claim(verdict.printed, "exclusive").holds is None
    assert claim(verdict.mended, "exclusive").holds is False  # both premises are met, whatever crosses
    two = with_crossings(monkeypatch, Crossing(0.2, 0.3, 1, 0.25), Crossing(0.5, 0.6, 1, 0.55))
    assert claim(two.printed, "a").holds is False and two.printed_holds is False  # though there may be more
    around_one = with_crossings(monkeypatch, Crossing(0.9, 1.1, None, 1.0))
    assert around_one.below_one is None and around_one.above_one is None
