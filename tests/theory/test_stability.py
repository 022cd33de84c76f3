"""The stability radius against the exact crossings of all pairs, its cheap bound, and what happens at both ends."""

from __future__ import annotations

import math

import numpy as np
import pytest
from examples import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rws_theory import crossings, log_odds, selection_path, stability_radius, testing
from rws_theory.testing import from_gaps

Case = tuple[np.ndarray, int]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    logits = draw(testing.near_tied_rows(6, 6))
    return logits, draw(st.integers(0, len(logits)))


def by_all_pairs(z: np.ndarray, k: int) -> tuple[tuple[int, ...], float, float]:
    """The slow way: the crossing nearest to 1, on each side, of a chosen position and another one."""
    (piece,) = selection_path(z, k, 1.0, 1.0).pieces
    low, high = 0.0, math.inf
    for i in piece.selected:
        for j in set(range(len(z))) - set(piece.selected):
            for crossing in crossings(z[i], z[j]).crossings:
                if crossing.multiplicity is None or crossing.multiplicity % 2:
                    assert not crossing.lower <= 1 <= crossing.upper
                    low, high = (
                        (low, min(high, crossing.lower)) if crossing.lower > 1 else (max(low, crossing.upper), high)
                    )
    return piece.selected, low, high


@settings(deadline=None, max_examples=examples(150))
@given(cases())
@example((np.array([from_gaps([7, 14, 14]), from_gaps([6, 6, 26])]) / 4, 1))  # crossings on both sides of 1
@example((np.array([[2.0, 0.0, 0.0], [2.0, 0.0, -1.0]]), 1))  # equal margins, other multiplicities
@example((np.array([from_gaps([1, 5]), from_gaps([2, 4])]), 1))  # equal sums: they tie in the limit at 0
@example((np.array([[0.0, 0.0], [0.0, 0.0]]), 1))
@example((np.array([[0.0, -np.inf], [0.0, -1.0], [0.0, -3.0]]), 2))
@example((np.array([[0.0, -1.0, -np.inf], [0.0, -1.0, -2.0], [0.0, -2.0, -3.0]]), 1))  # fewer tokens
def test_the_ends_are_the_nearest_crossings_of_all_pairs(case: Case) -> None:
    z, k = case
    stable = stability_radius(z, k)
    selected, low, high = by_all_pairs(z, k)
    assert stable.selected == selected and stable.k == k
    assert stable.lower <= 1 <= stable.upper
    if stable.certified:
        assert stable.lower == pytest.approx(low, rel=2e-12, abs=0)
        assert stable.upper == pytest.approx(high, rel=2e-12, abs=0)
    else:
        assert low <= stable.lower * (1 + 1e-12) and stable.upper <= high * (1 + 1e-12)


@settings(deadline=None, max_examples=examples(300))
@given(cases())
def test_one_evaluation_never_claims_more_than_is_true(case: Case) -> None:
    stable = stability_radius(*case)
    assert stable.cheap[0] <= 1 <= stable.cheap[1]
    if stable.certified:
        assert stable.lower * (1 - 1e-12) <= stable.cheap[0] and stable.cheap[1] <= stable.upper * (1 + 1e-12)


@settings(deadline=None, max_examples=examples(100))
@given(cases(), st.sampled_from([2.0**-20, 1.0, 2.0**30]))
def test_shifts_of_the_logits_and_the_order_of_tokens_change_nothing(case: Case, step: float) -> None:
    z, k = case
    z = np.round(z * 4) / 4
    other = stability_radius(z[:, ::-1] + step, k)
    assert other == stability_radius(z, k)


def cheap_by_definition(z: np.ndarray, k: int) -> tuple[float, float]:
    """Equations (T78) and (T79) of docs/theory.md as they are written, without care for rounding."""
    inside = selection_path(z, k, 1.0, 1.0).pieces[0].selected
    gaps = z.max(axis=1, keepdims=True) - z
    down, up = [math.inf], [math.inf]
    for i in inside:
        for j in set(range(len(z))) - set(inside):
            lead = float(log_odds(z[i], 1.0) - log_odds(z[j], 1.0))
            others = np.sort(gaps[j])[1:]
            mean = float((np.exp(-others) * others).sum() / np.exp(-others).sum())
            for rates, rate in (
                (up, mean - np.sort(gaps[i])[1]),
                (down, float(log_odds(z[i], 1.0)) + math.log(z.shape[1] - 1) - mean),
            ):
                rates.append(lead / rate if rate > 0 else math.inf)
    return max(0.0, 1 - min(down)), 1 + min(up)


@pytest.mark.parametrize("seed", range(20))
def test_the_cheap_bound_is_the_formula(seed: int) -> None:
    rng = np.random.default_rng(seed)
    z = rng.normal(scale=2.0, size=(6, 9))
    assert stability_radius(z, 1 + seed % 4).cheap == pytest.approx(cheap_by_definition(z, 1 + seed % 4), rel=1e-9)


def test_a_vocabulary_as_large_as_a_model_s_is_certified() -> None:
    z = np.random.default_rng(5).normal(0, 3, (12, 30_000))
    stable = stability_radius(z, 3)
    assert stable.certified and 0 < stable.lower < stable.cheap[0] < 1 < stable.cheap[1] < stable.upper
    for inside, outside in ((stable.lower, stable.lower * (1 - 1e-11)), (stable.upper, stable.upper * (1 + 1e-11))):
        tops = [selection_path(z, 3, c, c).pieces[0].selected for c in (inside, outside)]
        assert tops[0] == stable.selected != tops[1]


def test_a_crossing_within_a_float_of_one_leaves_no_room() -> None:
    z = np.array([[1.1, 0.6, 0.3], [1.0, 0.4, 0.4]]) * 4.812118250596034  # crosses at 1, which no float is
    stable = stability_radius(z, 1)
    assert stable.lower == 0.0 and 1.0 <= stable.upper < 1 + 1e-12


@pytest.mark.parametrize("power", [-1040, -300, 300, 1000])
def test_huge_and_tiny_logits_are_proved_or_left_open(power: int) -> None:
    z = np.ldexp(np.array([[3.0, 1.0, 0.0], [2.0, 1.5, 0.0]]), power)
    stable = stability_radius(z, 1)
    assert stable.lower <= 1 <= stable.upper and stable.selected == (0,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, 2.0], 1), r"shape \(positions, d\), got shape \(2,\)"),
        (([[1.0, 2.0]], 2), "^k must be an integer from 0 to the number of positions, 1, got 2"),
        (([[np.nan, 2.0]], 1), "^logits must be finite or -inf"),
    ],
)
def test_misuse_is_named(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        stability_radius(*arguments)  # type: ignore[arg-type]
