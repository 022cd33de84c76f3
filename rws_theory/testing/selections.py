"""Hypothesis strategies of positions that compete: rows that tie, rows that all but tie, and how many are chosen."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from rws_theory.crossings import crossings
from rws_theory.testing.logits import logit_vectors
from rws_theory.testing.numbers import dyadic, scales

__all__ = ["near_tied_rows", "near_ties", "selection_cases"]


@st.composite
def near_tied_rows(draw: st.DrawFn, max_positions: int = 6, max_size: int = 6) -> NDArray[np.float64]:
    """Logits [positions, d] whose rows are independent, or equal to an earlier one up to order and an exact shift, or
    one float step beside it.

    >>> from hypothesis import find
    >>> rows = find(near_tied_rows(), lambda logits: 0 < abs(logits[0] - logits[-1]).max() < 1e-12)
    >>> bool((rows[0] != rows[-1]).any())
    True
    """
    positions, size = draw(st.integers(1, max_positions)), draw(st.integers(1, max_size))
    rows: list[NDArray[np.float64]] = []
    for _ in range(positions):
        kind = draw(st.sampled_from(["new", "new", "same", "beside"])) if rows else "new"
        if kind == "new":
            rows.append(draw(logit_vectors(size, size, bound=draw(st.sampled_from([2.0, 8.0])))))
            continue
        row = np.array(draw(st.permutations(list(rows[draw(st.integers(0, len(rows) - 1))]))))
        if kind == "same":
            exactly = np.array_equal(row * 4, np.round(row * 4))
            rows.append(row + draw(dyadic(2)) if exactly else row)
        else:
            at = draw(st.integers(0, size - 1))
            row[at] = np.nextafter(row[at], 0.0) if np.isfinite(row[at]) else row[at]
            rows.append(row)
    return np.stack(rows)


@st.composite
def selection_cases(
    draw: st.DrawFn, max_positions: int = 6, max_size: int = 6
) -> tuple[NDArray[np.float64], int, float, float]:
    """Rows as in `near_tied_rows`, how many positions to select, and a range of scales (sometimes one scale).

    >>> from hypothesis import given, settings
    >>> from rws_theory import log_odds, selection_path
    >>> @settings(derandomize=True, deadline=None, max_examples=20)
    ... @given(selection_cases())
    ... def the_first_piece_is_what_sorting_selects(case):
    ...     logits, k, low, high = case
    ...     first = selection_path(logits, k, low, high).pieces[0].selected
    ...     assert len(first) == k and min(log_odds(logits[list(first)], low), default=np.inf) >= max(
    ...         log_odds(np.delete(logits, first, axis=0), low), default=-np.inf
    ...     ) - 1e-9
    >>> the_first_piece_is_what_sorting_selects()
    """
    logits = draw(near_tied_rows(max_positions, max_size))
    ends = sorted([draw(scales(0.01, 32.0)), draw(scales(0.01, 32.0))])
    if draw(st.integers(0, 7)) == 0:
        ends[1] = ends[0]
    return logits, draw(st.integers(0, len(logits))), ends[0], ends[1]


@st.composite
def near_ties(draw: st.DrawFn, wide: bool = True) -> tuple[NDArray[np.float64], int, float]:
    """Rows as in `near_tied_rows`, how many are chosen, and a scale, often within a few floats of a crossing of two.

    wide: whether logits and scale may also be as large or small as floats are.
    """
    z, k, low, _ = draw(selection_cases())
    if len(z) > 1 and draw(st.booleans()):
        first, second = draw(st.permutations(range(len(z))))[:2]
        roots = [c.root for c in crossings(z[first], z[second]).crossings if 1e-4 < c.root < 1e4]
        if roots:
            low = draw(st.sampled_from(roots))
            for _ in range(draw(st.integers(0, 3))):
                low = float(np.nextafter(low, draw(st.sampled_from([0.0, np.inf]))))
    # Powers of two keep ties and crossings.
    sizes = [(0, 0), (0, 0), (-1040, 0), (-1040, 1000), (-300, 300), (40, -40), (300, -300)]
    power, shift = draw(st.sampled_from(sizes)) if wide else (0, 0)
    return z * 2.0**power, k, low * 2.0**shift
