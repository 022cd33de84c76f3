"""The number of crossings of many pairs of confidence curves at once, in vectorised float64 wherever it can decide."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rws_theory.certified.selection_sums import two_difference
from rws_theory.confidence import check_logits
from rws_theory.crossings import crossings
from rws_theory.show import table_html

__all__ = ["DECIDED_BY", "PairClasses", "classify_pairs"]

DECIDED_BY = ("bound", "parity", "signs", "certification")
_EPS = float(np.finfo(np.float64).eps)
_CHUNK = 4096
_OCTAVES = 9  # the scales tried for signs reach so far up and down from 1 / (mean gap)
Float = NDArray[np.float64]
Bool = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class PairClasses:
    """The numbers of crossings that :func:`classify_pairs` proved for N pairs; each field has shape (N,).

    ``count`` is the number of crossings, ``complete`` whether it is proved, ``bound`` Laguerre's bound. ``decided_by``
    indexes DECIDED_BY: "bound" (it is 0), "parity" (it is 1), "signs" (as many proved sign changes as the bound
    allows) or "certification" (:func:`rws_theory.crossings`).
    """

    count: NDArray[np.int64]
    complete: Bool
    bound: NDArray[np.int64]
    decided_by: NDArray[np.int8]

    def __repr__(self) -> str:
        return f"PairClasses({self._words})"

    def _repr_html_(self) -> str:
        used = [number for number in range(len(DECIDED_BY)) if (self.decided_by == number).any()]
        rows = []
        for count in np.unique(self.count).tolist():
            how = self.decided_by[self.count == count]
            rows.append((count, how.size, *(int((how == number).sum()) for number in used)))
        head = ("crossings", "pairs", *(f"by {DECIDED_BY[number]}" for number in used))
        return table_html(head if rows else (), rows, f"Pairs of positions: {self._words}")

    @property
    def _words(self) -> str:
        pairs = f"{self.count.size:,} pair{'' if self.count.size == 1 else 's'}"
        most = int(self.count.max(initial=0))
        up_to = f", up to {most} crossing{'s' if most > 1 else ''}" if most else ""
        proved = "all" if self.complete.all() else f"{int(self.complete.sum()):,}"
        return f"{pairs}, {int((self.count > 0).sum()):,} cross{up_to}, {proved} proved"


def classify_pairs(a: ArrayLike, b: ArrayLike) -> PairClasses:
    """Count the crossings of each pair of logit vectors a[i], b[i], with proof.

    The result is that of :func:`rws_theory.crossings` for each pair; only the few pairs that float64 cannot decide are
    sent there. The others are decided by Laguerre's bound, by its parity, or by signs at powers of two (docs/theory.md,
    section 5).

    a, b: shape (N, d) each, logits; -inf is a forbidden token. N may be 0. ValueError for shapes that are not (N, d)
    and equal, and for NaN, +inf or a row of -inf only.

    >>> classes = classify_pairs([[1.1, 0.6, 0.3], [2.0, 1.0, 0.0]], [[1.0, 0.4, 0.4], [3.0, 1.0, 0.0]])
    >>> classes
    PairClasses(2 pairs, 1 cross, up to 1 crossing, all proved)
    >>> classes.count.tolist(), [DECIDED_BY[k] for k in classes.decided_by]
    ([1, 0], ['parity', 'bound'])
    """
    x, y = np.asarray(a), np.asarray(b)
    if x.ndim != 2 or x.shape != y.shape:
        raise ValueError(f"a and b must have equal shapes (N, d), got {x.shape} and {y.shape}")
    x, y = check_logits(x, "a"), check_logits(y, "b")
    n = len(x)
    count, bound = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    decided_by, complete = np.full(n, DECIDED_BY.index("certification"), dtype=np.int8), np.zeros(n, dtype=bool)
    for start in range(0, n, _CHUNK):
        part = slice(start, start + _CHUNK)
        with np.errstate(all="ignore"):  # what overflows or is NaN proves nothing, and is certified
            count[part], bound[part], decided_by[part] = _chunk(x[part], y[part])
    for i in np.flatnonzero(decided_by == DECIDED_BY.index("certification")):
        pair = crossings(x[i], y[i])
        count[i], bound[i], complete[i] = pair.count, pair.bound, pair.complete
    complete |= decided_by != DECIDED_BY.index("certification")
    return PairClasses(count, complete, bound, decided_by)


def _chunk(x: Float, y: Float) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int8]]:
    times, signs, ordered = _merged(x, y)
    bound, proved, near_zero, first = _bound(times, signs)
    proved &= ordered
    count = np.zeros(len(x), dtype=np.int64)
    decided_by = np.full(len(x), DECIDED_BY.index("certification"), dtype=np.int8)
    for value, name in ((0, "bound"), (1, "parity")):
        easy = proved & (bound == value)
        count[easy], decided_by[easy] = value, DECIDED_BY.index(name)
    rows = np.flatnonzero(proved & (bound >= 2))
    if rows.size:
        gaps, sides, start = times[rows], signs[rows], first[rows]
        leading = np.where(gaps == start[:, None], sides, 0.0).sum(axis=1)
        middle = -np.frexp(gaps.mean(axis=1))[1][:, None]
        scales = np.ldexp(1.0, middle + np.arange(-_OCTAVES, _OCTAVES + 1))
        at_scales = _signs(gaps, np.where(gaps < start[:, None], 0.0, sides), start, scales)
        changes = _changes(np.column_stack([near_zero[rows], at_scales, np.sign(leading)]))
        done = changes == bound[rows]
        count[rows[done]], decided_by[rows[done]] = changes[done], DECIDED_BY.index("signs")
    return count, bound, decided_by


def _merged(x: Float, y: Float) -> tuple[Float, Float, Bool]:
    """Merge the gaps of both, ascending; 1 marks those of a, -1 those of b, 0 absent ones; say where the order is sure.

    A gap is a difference rounded once; its error is exact. See docs/theory.md, eq. (T28).
    """
    both, rest, side = [], [], []
    for z, sign in ((x, 1.0), (y, -1.0)):
        z = np.sort(z, axis=1)[:, ::-1]
        finite = np.isfinite(z[:, 1:])
        top, other = z[:, :1], np.where(finite, z[:, 1:], z[:, :1])
        gap, error = two_difference(top, other)
        both.append(gap)
        rest.append(error)
        side.append(np.where(finite, sign, 0.0))
    times, low, signs = (np.concatenate(parts, axis=1) for parts in (both, rest, side))
    order = np.argsort(times, axis=1)
    times, low, signs = (np.take_along_axis(values, order, axis=1) for values in (times, low, signs))
    ordered = ~((times[:, 1:] == times[:, :-1]) & (low[:, 1:] != low[:, :-1])).any(axis=1)
    return times, signs, ordered


def _changes(signs: Float) -> NDArray[np.int64]:
    """Count the sign changes along each row, zeros left out."""
    last = np.maximum.accumulate(np.where(signs != 0, np.arange(signs.shape[1]), 0), axis=1)
    filled = np.take_along_axis(signs, last, axis=1)
    return (filled[:, 1:] * filled[:, :-1] < 0).sum(axis=1)


def _bound(times: Float, signs: Float) -> tuple[NDArray[np.int64], Bool, Float, Float]:
    """Return Laguerre's bound, where it is proved, the sign of g near 0, and the smallest gap not common, or inf."""
    if not times.shape[1]:
        none = np.zeros(len(times))
        return none.astype(np.int64), none == 0, none, none
    level = signs.cumsum(axis=1)
    steps = np.diff(times, axis=1) * level[:, :-1]
    h = steps.cumsum(axis=1)
    error = (times.shape[1] + 8) * _EPS * (np.abs(level[:, :-1]) * times[:, 1:]).cumsum(axis=1)
    common = np.abs(steps).cumsum(axis=1) == 0
    proved = (np.abs(h) > error) | common
    h_signs = np.where(common, 0.0, np.sign(h))
    signs_in_order = np.column_stack([h_signs, level[:, -1:]])
    ends = np.where(level[:, -1] != 0, np.sign(level[:, -1]), h_signs[:, -1])
    first = np.where((steps != 0).any(axis=1), times[np.arange(len(times)), (steps != 0).argmax(axis=1)], np.inf)
    return _changes(signs_in_order), proved.all(axis=1), ends, first


def _signs(times: Float, weights: Float, first: Float, scales: Float) -> Float:
    """Return proved signs of rows of sum_j weights_j exp(-r (times_j - first)) at `scales` (N, m), 0 where none is.

    Common gaps below `first` have no weight. What float64 proves: docs/theory.md, eq. (T30).
    """
    offsets = np.maximum(times - first[:, None], 0.0)
    total, error = np.zeros_like(scales), np.zeros_like(scales)
    for j in range(scales.shape[1]):
        r = scales[:, j : j + 1]
        terms = weights * np.exp(-r * offsets)
        total[:, j] = terms.sum(axis=1)
        slack = 2.0 * r * times + (16.0 + terms.shape[1])
        error[:, j] = _EPS * (np.abs(terms) * np.where(terms == 0, 0.0, slack)).sum(axis=1) + 1e-290
    return np.where(np.abs(total) > error, np.sign(total), 0.0)
