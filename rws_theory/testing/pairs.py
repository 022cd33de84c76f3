"""Hypothesis strategies of pairs of positions, whose curves may cross, touch or be one."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from rws_theory.testing.logits import logit_vectors
from rws_theory.testing.numbers import dyadic

__all__ = ["from_gaps", "integer_gap_pairs", "logit_pairs", "saturated_pairs", "wide_pairs"]


@st.composite
def logit_pairs(
    draw: st.DrawFn, min_size: int = 2, max_size: int = 8, *, forbidden: bool = True
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two positions over one vocabulary, float64 [d] each: independent, sharing some logits, or equal up to order and
    an exact shift, and then of equal confidence at every scale.

    >>> from hypothesis import find
    >>> from rws_theory import crossings
    >>> crossings(*find(logit_pairs(2, 4), lambda pair: crossings(*pair).identical))
    Crossings(equal at every scale)
    """
    a = draw(logit_vectors(min_size, max_size, forbidden=forbidden))
    kind = draw(st.sampled_from(["independent", "sharing", "equal"]))
    if kind == "equal":
        a = np.round(a * 4) / 4
        return a, np.array(draw(st.permutations(list(a)))) + draw(dyadic(8))
    b = draw(logit_vectors(a.size, a.size, forbidden=forbidden))
    if kind == "sharing":
        kept = np.array(draw(st.lists(st.booleans(), min_size=a.size, max_size=a.size)))
        b = np.where(kept, a, b)
        if not np.isfinite(b).any():
            b = a.copy()
    return a, b


@st.composite
def integer_gap_pairs(draw: st.DrawFn, max_count: int = 6, max_gap: int = 12) -> tuple[list[int], list[int]]:
    """Gaps of two positions, exact: equally many integers each, ascending. `from_gaps` makes logits of them.

    The curves cross where a polynomial in exp(-r) with integer coefficients has a zero, so a computer algebra system
    knows the truth. Half of the pairs have sums of gaps within 2 of each other, which is where curves cross.

    >>> from hypothesis import find
    >>> from rws_theory import crossings
    >>> u, v = find(integer_gap_pairs(), lambda gaps: crossings(*map(from_gaps, gaps)).count == 1)
    >>> crossings(from_gaps(u), from_gaps(v)).count
    1
    """
    size = draw(st.integers(1, max_count))
    gaps = st.lists(st.integers(0, max_gap), min_size=size, max_size=size).map(sorted)
    u, v = draw(gaps), draw(gaps)
    if draw(st.booleans()):
        short = sum(u) - sum(v) + draw(st.integers(-2, 2))
        v[-1] = max(0, v[-1] + short)
        v.sort()
    return u, v


def from_gaps(gaps: list[int] | list[float] | tuple[float, ...], top: float = 0.0) -> NDArray[np.float64]:
    """Logits with maximum `top` and the given gaps, float64 [1 + gaps].

    >>> from_gaps([1, 2], top=3.0).tolist()
    [3.0, 2.0, 1.0]
    """
    return np.array([top, *(top - u for u in gaps)], dtype=np.float64)


@st.composite
def saturated_pairs(draw: st.DrawFn) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Two positions and a scale at which both confidences are 1.0 in float64, though their smallest gaps differ.

    What ranks them must not compare probabilities. Log-odds tell them apart:

    >>> from hypothesis import given, settings
    >>> from rws_theory import log_odds, max_probability
    >>> @settings(derandomize=True, deadline=None)
    ... @given(saturated_pairs())
    ... def log_odds_do_not_saturate(case):
    ...     a, b, scale = case
    ...     assert max_probability(a, scale) == max_probability(b, scale) == 1.0
    ...     assert log_odds(a, scale) != log_odds(b, scale)
    >>> log_odds_do_not_saturate()
    """
    r = float(draw(st.sampled_from([1, 2, 4, 8, 16, 32])))
    size = draw(st.integers(1, 6))
    grid = st.integers(int(44 / r * 16), int(44 / r * 16) + 400).map(lambda k: k / 16)
    u, v = (draw(st.lists(grid, min_size=size, max_size=size)) for _ in range(2))
    if min(u) == min(v):
        v[v.index(min(v))] += draw(st.sampled_from([-1, 1])) / 16
        if min(u) == min(v):
            v = [x + 1 / 16 for x in v]
    return from_gaps(u, draw(dyadic(8))), from_gaps(v, draw(dyadic(8))), r


@st.composite
def wide_pairs(draw: st.DrawFn) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two positions over one vocabulary with gaps of ordinary size, tiny, huge or all of them; some gaps shared."""
    a, b = draw(logit_pairs(max_size=6))
    factor = draw(st.sampled_from([1.0, 1.0, 2.0**-1040, 2.0**900, 1e-6, 1e6]))
    if draw(st.integers(0, 3)) == 0:  # tiny and huge gaps side by side
        sizes = 2.0 ** np.array(draw(st.lists(st.integers(-30, 30), min_size=a.size, max_size=a.size)))
        a, b = a * sizes, b * sizes[::-1]
    return a * factor, b * factor
