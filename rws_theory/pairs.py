"""Crossings of many pairs of confidence curves at once: how many, decided in vectorised float64 wherever it can be."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rws_theory.confidence import check_logits
from rws_theory.crossings import crossings

__all__ = ["DECIDED_BY", "PairClasses", "classify_pairs"]

DECIDED_BY = ("bound", "parity", "signs", "isolation", "certification")
_EPS = float(np.finfo(np.float64).eps)
_CHUNK = 4096
_TERMS = 20
# Of a Taylor model of so many terms per gap, at theta = 1/3: what follows, and its derivative (see _taylor.py).
_REST = 1.5 * 3.0**-_TERMS / math.sqrt(2 * math.pi * _TERMS)
_SLOPE_REST = (1.5 * _TERMS + 0.75) * 3.0**-_TERMS / math.sqrt(2 * math.pi * _TERMS)
_OCTAVES = 9  # the scales tried for signs reach so far up and down from 1 / (mean gap)
_DEPTH = 7
Float = NDArray[np.float64]
Bool = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class PairClasses:
    """What :func:`classify_pairs` found for N pairs; each field has shape (N,).

    ``count`` is the number of crossings in (0, inf), ``complete`` whether it is proved, as in
    :class:`~rws_theory.crossings.Crossings`; ``bound`` is Laguerre's bound. ``decided_by`` indexes DECIDED_BY: "bound"
    (it is 0), "parity" (it is 1, and the signs at the two ends differ), "signs" (as many proved sign changes as the
    bound allows), "isolation" (every part of the half-line proved to hold none or one) or "certification" (the pair
    was sent to :func:`rws_theory.crossings`).
    """

    count: NDArray[np.int64]
    complete: Bool
    bound: NDArray[np.int64]
    decided_by: NDArray[np.int8]


def classify_pairs(a: ArrayLike, b: ArrayLike) -> PairClasses:
    r"""Number of crossings of each pair of logit vectors a[i], b[i], proved.

    The result is that of :func:`rws_theory.crossings` for each pair, of which only the few that float64 cannot decide
    are sent there. With the gaps merged in ascending order t_1 <= t_2 <= ..., D and H as there:

    - H at every t_k, and the slope after the last, in float64. A gap is rounded once, so the step D (t_(k+1) - t_k) of
      H is off by at most 2 eps |D| t_(k+1), and n of them add up to an error of at most (n + 8) eps sum_k |D| t_(k+1).
      Where this does not prove a sign of H the pair is certified instead, unless H is exactly zero because all gaps
      so far were common.
    - Let H end with a sign (or slope) that is not zero. It is that of g near 0: F_a(0) - F_b(0) = D(inf), and g'(0) =
      H(inf) if that is 0. H begins with the sign of g near infinity. So the number of crossings, with multiplicity, has
      the parity of the bound: a bound of 1 means exactly one crossing, of multiplicity 1.
    - Otherwise signs of g at powers of two, with the error bound of the scalar path. As many changes as the bound
      allows are all there are, each simple.
    - Otherwise Taylor models of 20 terms on those octaves, halved up to 7 times, as in the scalar path, but in
      float64 alone. The ends are covered by (0, eps], where the term of lowest order of the power series of g outweighs
      the rest, and by the leading term beyond R.

    Parameters
    ----------
    a, b : shape (N, d) each, logits; -inf is a forbidden token. N may be 0.

    Raises
    ------
    ValueError : shapes that are not (N, d) and equal; NaN, +inf or a row of -inf only.

    Examples
    --------
    >>> found = classify_pairs([[1.1, 0.6, 0.3], [2.0, 1.0, 0.0]], [[1.0, 0.4, 0.4], [3.0, 1.0, 0.0]])
    >>> found.count.tolist(), [DECIDED_BY[k] for k in found.decided_by]
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
        found = crossings(x[i], y[i])
        count[i], bound[i], complete[i] = found.count, found.bound, found.complete
    complete |= decided_by != DECIDED_BY.index("certification")
    return PairClasses(count, complete, bound, decided_by)


def _chunk(x: Float, y: Float) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int8]]:
    times, signs, ordered = _merged(x, y)
    bound, known, near_zero, first = _bound(times, signs)
    known &= ordered
    count = np.zeros(len(x), dtype=np.int64)
    decided_by = np.full(len(x), DECIDED_BY.index("certification"), dtype=np.int8)
    for value, name in ((0, "bound"), (1, "parity")):
        easy = known & (bound == value)
        count[easy], decided_by[easy] = value, DECIDED_BY.index(name)
    rows = np.flatnonzero(known & (bound >= 2))
    if rows.size:
        sums = _Sums.of(times[rows], signs[rows], first[rows])
        middle = -np.frexp(times[rows].mean(axis=1))[1][:, None]  # powers of two: what is halved below stays exact
        edges = np.ldexp(1.0, middle + np.arange(-_OCTAVES, _OCTAVES + 1))
        at_edges = sums.signs(edges)
        every = np.column_stack([near_zero[rows], at_edges, np.sign(sums.leading)])
        changes = _changes(every)
        done = changes == bound[rows]
        count[rows[done]], decided_by[rows[done]] = changes[done], DECIDED_BY.index("signs")
        rest = np.flatnonzero(~done & sums.free_below(edges[:, 0]) & sums.leads_beyond(edges[:, -1]))
        found = sums.take(rest).isolated(edges[rest])
        sure = rows[rest[found >= 0]]
        count[sure], decided_by[sure] = found[found >= 0], DECIDED_BY.index("isolation")
    return count, bound, decided_by


def _merged(x: Float, y: Float) -> tuple[Float, Float, Bool]:
    """Gaps of both, ascending; 1 for those of a, -1 for those of b, 0 for absent ones; and where the order is sure.

    A gap hi is a difference rounded once; lo, its error, is exact (Knuth's two-sum). Rounding keeps the order, so gaps
    compare as their hi do, except where hi is the same and lo is not.
    """
    both, rest, side = [], [], []
    for z, sign in ((x, 1.0), (y, -1.0)):
        z = np.sort(z, axis=1)[:, ::-1]
        finite = np.isfinite(z[:, 1:])
        top, other = z[:, :1], np.where(finite, z[:, 1:], z[:, :1])
        gap = top - other
        back = gap - top
        both.append(gap)
        rest.append((top - (gap - back)) + (-other - back))
        side.append(np.where(finite, sign, 0.0))
    times, low, signs = (np.concatenate(parts, axis=1) for parts in (both, rest, side))
    order = np.argsort(times, axis=1)
    times, low, signs = (np.take_along_axis(values, order, axis=1) for values in (times, low, signs))
    ordered = ~((times[:, 1:] == times[:, :-1]) & (low[:, 1:] != low[:, :-1])).any(axis=1)
    return times, signs, ordered


def _changes(signs: Float) -> NDArray[np.int64]:
    """Sign changes along each row, zeros left out."""
    last = np.maximum.accumulate(np.where(signs != 0, np.arange(signs.shape[1]), 0), axis=1)
    filled = np.take_along_axis(signs, last, axis=1)
    return (filled[:, 1:] * filled[:, :-1] < 0).sum(axis=1)


def _bound(times: Float, signs: Float) -> tuple[NDArray[np.int64], Bool, Float, Float]:
    """Laguerre's bound, where it is proved, the sign of g near 0, and the smallest gap that is not common (or inf)."""
    if not times.shape[1]:
        none = np.zeros(len(times))
        return none.astype(np.int64), none == 0, none, none
    level = signs.cumsum(axis=1)
    steps = np.diff(times, axis=1) * level[:, :-1]
    h = steps.cumsum(axis=1)
    error = (times.shape[1] + 8) * _EPS * (np.abs(level[:, :-1]) * times[:, 1:]).cumsum(axis=1)
    common = np.abs(steps).cumsum(axis=1) == 0
    proved = (np.abs(h) > error) | common
    at = np.where(common, 0.0, np.sign(h))
    every = np.column_stack([at, level[:, -1:]])
    ends = np.where(level[:, -1] != 0, np.sign(level[:, -1]), at[:, -1])
    first = np.where((steps != 0).any(axis=1), times[np.arange(len(times)), (steps != 0).argmax(axis=1)], np.inf)
    return _changes(every), proved.all(axis=1), ends, first


@dataclass(frozen=True, eq=False)
class _Sums:
    """Rows of sum_j weights_j exp(-r offsets_j), offsets the gaps less `first`, common gaps below it left out."""

    times: Float
    offsets: Float
    weights: Float
    leading: Float

    @classmethod
    def of(cls, times: Float, signs: Float, first: Float) -> _Sums:
        weights = np.where(times < first[:, None], 0.0, signs)
        leading = np.where(times == first[:, None], signs, 0.0).sum(axis=1)
        return cls(times, np.maximum(times - first[:, None], 0.0), weights, leading)

    def take(self, rows: NDArray[np.intp]) -> _Sums:
        return _Sums(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))

    def signs(self, scales: Float) -> Float:
        """Proved signs at `scales` (N, m), 0 where float64 does not prove one.

        An offset is off by at most 1.5 eps times the gap, so a term has a relative error of (2 r t + 16) eps; sums of n
        terms in any order add n eps.
        """
        total, error = np.zeros_like(scales), np.zeros_like(scales)
        for j in range(scales.shape[1]):
            r = scales[:, j : j + 1]
            terms = self.weights * np.exp(-r * self.offsets)
            total[:, j] = terms.sum(axis=1)
            slack = 2.0 * r * self.times + (16.0 + terms.shape[1])
            error[:, j] = _EPS * (np.abs(terms) * np.where(terms == 0, 0.0, slack)).sum(axis=1) + 1e-290
        return np.where(np.abs(total) > error, np.sign(total), 0.0)

    def free_below(self, scale: Float) -> Bool:
        """Whether no zero lies in (0, `scale`], scale >= 2^-10 / (mean gap).

        |g(r) - g(0)| <= r max(Sigma_a, Sigma_b), and |g(r) - r g'(0)| <= r^2/2 max(sum u^2, sum v^2) if g(0) = 0, since
        both parts of g have errors of one sign. A tenth is left for rounding: of g'(0) = Sigma_b - Sigma_a too, which
        must be at least 2^-11 of the largest gap where it is to prove anything.
        """
        a, b = np.where(self.weights > 0, self.times, 0.0), np.where(self.weights < 0, self.times, 0.0)
        size, sigma_a, sigma_b = np.abs(self.weights.sum(axis=1)), a.sum(axis=1), b.sum(axis=1)
        linear = scale * np.maximum(sigma_a, sigma_b) <= 0.9 * size
        square = scale * np.maximum((a * a).sum(axis=1), (b * b).sum(axis=1)) <= 1.8 * np.abs(sigma_a - sigma_b)
        return np.where(size > 0, linear, square)

    def leads_beyond(self, scale: Float) -> Bool:
        """Whether the leading term outweighs all terms of the other sign at `scale`, hence beyond."""
        opposing = (np.sign(self.weights) == -np.sign(self.leading)[:, None]) & (self.offsets > 0)
        terms = np.where(opposing, np.exp(-scale[:, None] * self.offsets), 0.0)
        return (scale * self.times[:, -1] < 1e12) & (terms.sum(axis=1) < 0.9)

    def isolated(self, edges: Float) -> NDArray[np.int64]:
        """Number of zeros between the first and the last edge, each at most twice the one before; -1: not proved."""
        count = np.zeros(len(edges), dtype=np.int64)
        row = np.repeat(np.arange(len(edges)), edges.shape[1] - 1)
        low, high = edges[:, :-1].ravel(), edges[:, 1:].ravel()
        for depth in range(_DEPTH + 1):
            if not row.size:
                return count
            none, one = self._pieces(row, low, high)
            np.add.at(count, row[one], 1)
            left = ~none & ~one
            row, low, high = row[left], low[left], high[left]
            if depth == _DEPTH:
                count[row] = -1
            middle = (low + high) / 2
            row, low, high = np.tile(row, 2), np.concatenate([low, middle]), np.concatenate([middle, high])
        return count

    def _pieces(self, row: NDArray[np.intp], low: Float, high: Float) -> tuple[Bool, Bool]:
        """Where [low, high], high <= 2 low, is proved to hold no zero, and where exactly one.

        Taylor models sum_k A_k s^k as in _taylor.py, but at r = c - rho s, of 20 terms and of all offsets. An offset
        that is off by 1.5 eps t moves its term of order k, of modulus M_k, by 1.5 eps t (c M_k + rho M_(k-1)), that of
        order 0 by 1.5 eps t c M_0; the rest is as there, with 64 for 2 k + 24. What underflows is below 1e-290, and M_0
        sums to 1 or more.
        """
        c, rho = (low + high) / 2, (high - low) / 2
        offsets, times = self.offsets[row], c[:, None] * self.times[row]
        terms, step = self.weights[row] * np.exp(-c[:, None] * offsets), rho[:, None] * offsets
        values, moduli, moved = np.empty((3, len(row), _TERMS))
        for k in range(_TERMS):
            size = np.abs(terms)
            values[:, k], moduli[:, k] = terms.sum(axis=1), size.sum(axis=1)
            moved[:, k] = np.einsum("ij,ij->i", size, times)
            terms *= step / (k + 1)
        moved[:, 1:] += moved[:, :-1].copy()
        order, tail = np.arange(_TERMS), terms.shape[1] * (3.0 * rho / c) ** _TERMS
        slack = 2 * _EPS * ((64 + terms.shape[1]) * moduli + 2 * moved)
        most, least = np.abs(values) + slack, np.abs(values) - slack
        monotone = least[:, 1] > 1.0001 * (most[:, 2:] @ order[2:] + _SLOPE_REST * tail)
        plus, minus = values.sum(axis=1), values @ (-1.0) ** order
        signed = np.minimum(np.abs(plus), np.abs(minus)) > 1.0001 * (slack.sum(axis=1) + _REST * tail)
        none = least[:, 0] > 1.0001 * (most[:, 1:].sum(axis=1) + _REST * tail)
        none |= monotone & signed & (plus * minus > 0)
        return none, monotone & signed & ~none
