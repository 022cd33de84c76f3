"""The threshold path against confidences in 50 digits, and what it promises."""

from __future__ import annotations

import math
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rws_theory import threshold_path
from rws_theory.testing import logit_arrays

TAUS = st.sampled_from([0.05, 0.5, 0.9, 0.99, 1 - 2**-53, 2**-30]) | st.floats(0.001, 0.999)


def confidence(row: np.ndarray, c: float) -> mpmath.mpf:
    """Return the largest softmax probability at a scale, in 50 digits."""
    with mpmath.workdps(50):
        allowed = [mpmath.mpf(float(z)) for z in row if np.isfinite(z)]
        return 1 / mpmath.fsum(mpmath.exp((z - max(allowed)) * mpmath.mpf(c)) for z in allowed)


def above(logits: np.ndarray, tau: float, c: float) -> tuple[int, ...]:
    return tuple(i for i, row in enumerate(logits) if confidence(row, c) >= mpmath.mpf(tau))


@given(logit_arrays(), TAUS)
@example(np.array([[0.0, 0.0], [1.0, 0.0]]), 0.5)  # a tie of two has exactly 1/2 at every scale
@example(np.array([[0.0, 0.0, -np.inf], [3.0, -np.inf, -np.inf]]), 0.75)
@example(np.array([[0.0, 0.0, -1.0]]), 0.5)  # comes near to 1/2 and never reaches it
def test_pieces_are_what_50_digits_say(logits: np.ndarray, tau: float) -> None:
    path = threshold_path(logits, tau, 0.05, 20.0)
    assert path.pieces[0].lower == 0.05 and path.pieces[-1].upper == 20.0
    scales = {
        0.05,
        20.0,
        *np.geomspace(0.05, 20.0, 7).tolist(),
        *(b for k in path.brackets for b in (k.lower, k.upper)),
    }
    for c in sorted(min(max(scale, 0.05), 20.0) for scale in scales):
        if any(bracket.lower < c < bracket.upper for bracket in path.brackets) or at_an_open_end(path, c):
            continue
        held = [piece.positions for piece in path.pieces if piece.lower <= c <= piece.upper]
        assert above(logits, tau, c) in held
    for before, after in pairwise(path.pieces):
        assert before.upper == after.lower and set(before.positions) < set(after.positions)
    for before, after in pairwise(path.brackets):
        assert before.upper < after.lower


def at_an_open_end(path: object, c: float) -> bool:
    return any(not b.breakpoint and c in (b.lower, b.upper) for b in path.brackets)  # type: ignore[attr-defined]


def test_a_vocabulary_as_large_as_a_model_s_is_certified() -> None:
    logits = np.random.default_rng(0).normal(0, 3, (16, 30_000))
    path = threshold_path(logits, 0.9, 0.05, 4096.0)
    assert path.certified and len(path.brackets) == 16
    assert max(bracket.relative_width for bracket in path.brackets) < 1e-13
    for bracket, (before, after) in zip(path.brackets, pairwise(path.pieces), strict=True):
        (new,) = set(after.positions) - set(before.positions)
        shifted = (logits[new] - logits[new].max()) * (bracket.lower + bracket.upper) / 2
        assert 1 / math.fsum(np.exp(shifted)) == pytest.approx(0.9, rel=1e-11)


def test_a_passage_that_is_not_enclosed_is_not_certified() -> None:
    path = threshold_path([[0.0, 0.0, -1.0]], 0.5, 0.05, 4096.0)  # comes so near to 1/2 that no digits tell
    assert not path.certified and [bracket.breakpoint for bracket in path.brackets] == [False]


def test_positions_that_pass_together_share_a_bracket() -> None:
    path = threshold_path([[2.0, 0.0], [5.0, 3.0], [1.0, 0.0]], 0.9, 0.1, 10.0)
    assert [piece.positions for piece in path.pieces] == [(), (0, 1), (0, 1, 2)]
    assert path.brackets[0].lower < math.log(9) / 2 < path.brackets[0].upper


def test_one_scale_is_a_range() -> None:
    assert threshold_path([[2.0, 0.0], [1.0, 0.0]], 0.8, 1.0, 1.0).pieces == ((1.0, 1.0, (0,)),)


def test_it_says_what_it_is() -> None:
    path = threshold_path([[3.0, 1.0], [2.0, 1.5]], 0.9, 0.1, 32.0)
    assert repr(path) == "ThresholdPath(tau=0.9, 0 to 2 positions over [0.1, 32], certified)"
    assert path._repr_html_().count("<tr>") == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, 2.0], 0.9, 1.0, 2.0), r"shape \(positions, d\), got shape \(2,\)"),
        (([[1.0, 2.0]], 1.0, 1.0, 2.0), "tau must be a probability between 0 and 1, got 1.0"),
        (([[1.0, 2.0]], 0.9, 2.0, 1.0), "c_min and c_max must satisfy"),
        (([[1e300, 0.0]], 0.9, 1.0, 1e10), "must stay within float64"),
    ],
)
def test_misuse_is_named(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        threshold_path(*arguments)  # type: ignore[arg-type]
