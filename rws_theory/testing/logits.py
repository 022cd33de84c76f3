"""Hypothesis strategies of logits: rows, several positions, pairs, and what floats make hard."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from rws_theory.testing.numbers import dyadic, wide_numbers

__all__ = ["logit_arrays", "logit_vectors", "wide_logits"]


@st.composite
def logit_vectors(
    draw: st.DrawFn, min_size: int = 1, max_size: int = 8, *, bound: float = 50.0, forbidden: bool = True
) -> NDArray[np.float64]:
    """One position's logits, float64 [d]: generic floats or a coarse grid with ties.

    bound: of their size. forbidden: whether some may be -inf, never all.

    >>> from hypothesis import find, given, settings
    >>> from rws_theory import max_probability
    >>> @settings(derandomize=True, deadline=None)
    ... @given(logit_vectors(2, 6))
    ... def no_position_is_less_sure_than_chance(logits):
    ...     assert max_probability(logits, 2.0) >= (1 - 1e-12) / logits.size
    >>> no_position_is_less_sure_than_chance()
    >>> np.sort(find(logit_vectors(3, 3), lambda logits: (logits == -np.inf).sum() == 2))
    array([-inf, -inf,   0.])
    """
    size = draw(st.integers(min_size, max_size))
    entry = draw(st.sampled_from([st.floats(-bound, bound), dyadic(3)]))
    values = np.array(draw(st.lists(entry, min_size=size, max_size=size)), dtype=np.float64)
    if forbidden and draw(st.booleans()):
        closed = np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)))
        closed[draw(st.integers(0, size - 1))] = False
        values[closed] = -np.inf
    return values


@st.composite
def logit_arrays(draw: st.DrawFn, max_positions: int = 4, max_size: int = 6) -> NDArray[np.float64]:
    """Logits of several positions over one vocabulary, float64 [positions, d].

    >>> from hypothesis import given, settings
    >>> from rws_theory import max_probability
    >>> @settings(derandomize=True, deadline=None)
    ... @given(logit_arrays())
    ... def rows_do_not_touch_each_other(logits):
    ...     alone = [float(max_probability(row, 2.0)) for row in logits]
    ...     assert np.allclose(max_probability(logits, 2.0), alone, rtol=1e-15)
    >>> rows_do_not_touch_each_other()
    """
    positions, size = draw(st.integers(1, max_positions)), draw(st.integers(1, max_size))
    return np.stack([draw(logit_vectors(size, size)) for _ in range(positions)])


@st.composite
def wide_logits(draw: st.DrawFn, min_size: int = 1, max_size: int = 8) -> NDArray[np.float64]:
    """One position's logits of any size up to 1e306, float64 [d]; copies, neighbours of other entries and -inf among
    them.

    >>> from hypothesis import given, settings
    >>> from rws_theory import log_odds
    >>> @settings(derandomize=True, deadline=None)
    ... @given(wide_logits())
    ... def log_odds_of_any_floats_are_numbers(logits):
    ...     assert not np.isnan(log_odds(logits, 1.0))
    >>> log_odds_of_any_floats_are_numbers()
    """
    size = draw(st.integers(min_size, max_size))
    values = np.array(draw(st.lists(wide_numbers(1e306), min_size=size, max_size=size)), dtype=np.float64)
    for i in range(1, size):
        kind = draw(st.sampled_from(["own", "own", "copy", "beside", "closed"]))
        other = values[draw(st.integers(0, i - 1))]
        if kind == "copy":
            values[i] = other
        elif kind == "beside":
            values[i] = np.nextafter(other, draw(st.sampled_from([-1.0, 1.0])) * np.inf) if other > -np.inf else other
        elif kind == "closed":
            values[i] = -np.inf
    return np.array(draw(st.permutations(list(values))))
