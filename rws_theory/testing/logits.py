"""Hypothesis strategies of logits: rows, pairs, positions that compete, and what floats make hard."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from rws_theory.crossings import crossings
from rws_theory.testing.numbers import dyadic, scales, wide_numbers


@st.composite
def logit_vectors(
    draw: st.DrawFn, min_size: int = 1, max_size: int = 8, *, bound: float = 50.0, forbidden: bool = True
) -> NDArray[np.float64]:
    """One position's logits, float64 [d]: generic floats or a coarse grid with ties.

    bound: of their size. forbidden: whether some may be -inf, never all.

    >>> from hypothesis import find
    >>> find(logit_vectors(3, 3), lambda logits: (logits == -np.inf).sum() == 2).shape
    (3,)
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
    """Logits of several positions over one vocabulary, float64 [positions, d]."""
    positions, size = draw(st.integers(1, max_positions)), draw(st.integers(1, max_size))
    return np.stack([draw(logit_vectors(size, size)) for _ in range(positions)])


@st.composite
def wide_logits(draw: st.DrawFn, min_size: int = 1, max_size: int = 8) -> NDArray[np.float64]:
    """One position's logits of any size up to 1e306, float64 [d]: with copies, neighbouring floats and -inf."""
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


@st.composite
def logit_pairs(
    draw: st.DrawFn, min_size: int = 2, max_size: int = 8, *, forbidden: bool = True
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two positions over one vocabulary, float64 [d] each: independent, sharing some logits, or equal at every scale.

    Equal ones have the same logits up to order and an exact shift.
    """
    a = draw(logit_vectors(min_size, max_size, forbidden=forbidden))
    kind = draw(st.sampled_from(["independent", "sharing", "equal"]))
    if kind == "equal":
        a = np.round(a * 4) / 4
        return a, np.array(draw(st.permutations(list(a)))) + draw(dyadic(8))
    b = draw(logit_vectors(a.size, a.size, forbidden=forbidden))
    if kind == "sharing":
        own = np.array(draw(st.lists(st.booleans(), min_size=a.size, max_size=a.size)))
        b = np.where(own, a, b)
        if not np.isfinite(b).any():
            b = a.copy()
    return a, b


@st.composite
def integer_gap_pairs(draw: st.DrawFn, max_count: int = 6, max_gap: int = 12) -> tuple[list[int], list[int]]:
    """Gaps of two positions, exact: equally many integers each, ascending. `from_gaps` makes logits of them.

    Half of the pairs have sums of gaps within 2 of each other, which is where curves cross.
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
    """Logits with maximum `top` and the given gaps, float64 [1 + gaps]."""
    return np.array([top, *(top - u for u in gaps)], dtype=np.float64)


@st.composite
def wide_pairs(draw: st.DrawFn) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two positions over one vocabulary with gaps of ordinary size, tiny, huge or all of them; some gaps shared."""
    a, b = draw(logit_pairs(max_size=6))
    factor = draw(st.sampled_from([1.0, 1.0, 2.0**-1040, 2.0**900, 1e-6, 1e6]))
    if draw(st.integers(0, 3)) == 0:  # tiny and huge gaps side by side
        sizes = 2.0 ** np.array(draw(st.lists(st.integers(-30, 30), min_size=a.size, max_size=a.size)))
        a, b = a * sizes, b * sizes[::-1]
    return a * factor, b * factor


@st.composite
def near_tied_rows(draw: st.DrawFn, max_positions: int = 6, max_size: int = 6) -> NDArray[np.float64]:
    """Logits [positions, d] whose rows are independent, one float apart, or equal up to order and an exact shift."""
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
            token = draw(st.integers(0, size - 1))
            row[token] = np.nextafter(row[token], 0.0) if np.isfinite(row[token]) else row[token]
            rows.append(row)
    return np.stack(rows)


@st.composite
def selection_cases(
    draw: st.DrawFn, max_positions: int = 6, max_size: int = 6
) -> tuple[NDArray[np.float64], int, float, float]:
    """Rows as in `near_tied_rows`, how many positions to select, and a range of scales (sometimes one scale).

    >>> from hypothesis import given, settings
    >>> from rws_theory import selection_path
    >>> @settings(derandomize=True, deadline=None, max_examples=20)
    ... @given(selection_cases())
    ... def so_many_are_selected(case):
    ...     logits, k, low, high = case
    ...     assert all(len(piece.selected) == k for piece in selection_path(logits, k, low, high).pieces)
    >>> so_many_are_selected()
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
