"""The stability radius against the crossings of all pairs, and the threshold path against 50 digits."""

import math
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from examples import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rws_theory import crossings, log_odds, selection_path, stability_radius, testing, threshold_path
from rws_theory.testing import from_gaps, logit_arrays

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
            for each in crossings(z[i], z[j]).crossings:
                if each.multiplicity is None or each.multiplicity % 2:
                    assert not each.lower <= 1 <= each.upper
                    low, high = (low, min(high, each.lower)) if each.lower > 1 else (max(low, each.upper), high)
    return piece.selected, low, high


@settings(max_examples=examples(150))
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


@settings(max_examples=examples(300))
@given(cases())
def test_one_evaluation_never_claims_more_than_is_true(case: Case) -> None:
    stable = stability_radius(*case)
    assert stable.cheap[0] <= 1 <= stable.cheap[1]
    if stable.certified:
        assert stable.lower * (1 - 1e-12) <= stable.cheap[0] and stable.cheap[1] <= stable.upper * (1 + 1e-12)


@settings(max_examples=examples(100))
@given(cases(), st.sampled_from([2.0**-20, 1.0, 2.0**30]))
def test_shifts_of_the_logits_and_the_order_of_tokens_change_nothing(case: Case, step: float) -> None:
    z, k = case
    z = np.round(z * 4) / 4
    assert stability_radius(z[:, ::-1] + step, k) == stability_radius(z, k)


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
    z = np.random.default_rng(seed).normal(scale=2.0, size=(6, 9))
    assert stability_radius(z, 1 + seed % 4).cheap == pytest.approx(cheap_by_definition(z, 1 + seed % 4), rel=1e-9)


def test_a_vocabulary_as_large_as_a_model_s_is_certified() -> None:
    z = np.random.default_rng(5).normal(0, 3, (12, 30_000))
    stable = stability_radius(z, 3)
    assert stable.certified and 0 < stable.lower < stable.cheap[0] < 1 < stable.cheap[1] < stable.upper
    for inside, outside in ((stable.lower, stable.lower * (1 - 1e-11)), (stable.upper, stable.upper * (1 + 1e-11))):
        tops = [selection_path(z, 3, c, c).pieces[0].selected for c in (inside, outside)]
        assert tops[0] == stable.selected != tops[1]


TAUS = st.sampled_from([0.05, 0.5, 0.9, 0.99, 1 - 2**-53, 2**-30]) | st.floats(0.001, 0.999)


def confidence(row: np.ndarray, c: float) -> mpmath.mpf:
    finite = row[np.isfinite(row)]
    # 50 digits of the smallest share: beside a tie of two, exp(-120) decides whether the confidence reaches 1/2.
    with mpmath.workdps(50 + math.ceil(np.ptp(finite) * c / math.log(10))):
        allowed = [mpmath.mpf(float(z)) for z in finite]
        return 1 / mpmath.fsum(mpmath.exp((z - max(allowed)) * mpmath.mpf(c)) for z in allowed)


@given(logit_arrays(), TAUS)
@example(np.array([[0.0, 0.0], [1.0, 0.0]]), 0.5)  # a tie of two has exactly 1/2 at every scale
@example(np.array([[0.0, 0.0, -np.inf], [3.0, -np.inf, -np.inf]]), 0.75)
@example(np.array([[0.0, 0.0, -1.0]]), 0.5)  # comes near to 1/2 and never reaches it
@example(np.array([[0.0, 6.0, 6.0]]), 0.5)
def test_pieces_are_what_50_digits_say(logits: np.ndarray, tau: float) -> None:
    path = threshold_path(logits, tau, 0.05, 20.0)
    assert path.pieces[0].lower == 0.05 and path.pieces[-1].upper == 20.0
    scales = {*np.geomspace(0.05, 20.0, 7).tolist(), *(b for k in path.brackets for b in (k.lower, k.upper))}
    for c in sorted(min(max(scale, 0.05), 20.0) for scale in scales):
        if any(b.lower < c < b.upper or (not b.breakpoint and c in (b.lower, b.upper)) for b in path.brackets):
            continue
        held = [piece.positions for piece in path.pieces if piece.lower <= c <= piece.upper]
        assert tuple(i for i, row in enumerate(logits) if confidence(row, c) >= mpmath.mpf(tau)) in held
    for before, after in pairwise(path.pieces):
        assert before.upper == after.lower and set(before.positions) < set(after.positions)
    for before, after in pairwise(path.brackets):
        assert before.upper < after.lower


def test_threshold_paths_that_are_open_shared_or_of_one_scale() -> None:
    path = threshold_path([[0.0, 0.0, -1.0], [2.0, 0.0, 0.0]], 0.5, 0.05, 4096.0)  # tends to 1/2 and never passes
    assert path.certified and [piece.positions for piece in path.pieces] == [(), (1,)]
    path = threshold_path([[0.0, 0.0, -1.0]], 0.5 - 2**-54, 0.05, 36.044)  # so near to 1/2 that no digits tell
    assert not path.certified and [bracket.breakpoint for bracket in path.brackets] == [False]
    path = threshold_path([[2.0, 0.0], [5.0, 3.0], [1.0, 0.0]], 0.9, 0.1, 10.0)
    assert [piece.positions for piece in path.pieces] == [(), (0, 1), (0, 1, 2)]
    assert path.brackets[0].lower < math.log(9) / 2 < path.brackets[0].upper
    assert threshold_path([[2.0, 0.0], [1.0, 0.0]], 0.8, 1.0, 1.0).pieces == ((1.0, 1.0, (0,)),)
