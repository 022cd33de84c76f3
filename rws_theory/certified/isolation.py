"""Isolate the zeros of an exponential sum on the whole half-line: one interval per simple zero, or a cluster.

(0, inf) is cut at powers of two into [0, 2^k], on which g is divided by its zero at r = 0; octaves; and a last part in
which the leading term dominates (docs/theory.md, eq. (T24)). On each part a Taylor model is cut further, until every
piece is proved to hold no zero or exactly one (eq. (T23)). What a model cannot resolve is modelled again with more
digits, at first in float64.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from flint import arb, arb_poly, fmpz_poly

from rws_theory.certified.condensed import exact, log2_floor
from rws_theory.certified.exponential_sum import ExponentialSum, precision
from rws_theory.certified.taylor import FLOAT64, TaylorModel, taylor_model

PRECISIONS = (FLOAT64, 128, 256, 512, 1024)
_DEPTH = 60
Interval = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class Isolation:
    """Intervals that hold exactly one simple zero each, and those that were not resolved, both ascending."""

    simple: tuple[Interval, ...]
    clusters: tuple[Interval, ...]


def isolate(g: ExponentialSum, limit: int, used: set[str], precisions: tuple[int, ...] = PRECISIONS) -> Isolation:
    """Isolate all zeros of a non-empty g in (0, inf), of which there are at most `limit`, with multiplicity.

    Where the signs at powers of two already change as often as `limit` allows, no model is needed.
    """
    parts = _parts(g)
    signs = [g.order_at_zero[1], *(g.sign(high, used) for _, high in parts)]
    changed = [part for part, (s, t) in zip(parts, pairwise(signs), strict=True) if s != t]
    if len(changed) == limit:
        return Isolation(tuple(changed), ())
    return resolve(g, parts, used, precisions)


def resolve(g: ExponentialSum, parts: Iterable[Interval], used: set[str], precisions: tuple[int, ...]) -> Isolation:
    """Isolate the zeros of g in `parts`, each of which one model can cover, with models of growing precision."""
    simple: list[Interval] = []
    pending = list(parts)
    for bits in precisions:
        if not pending or (bits == FLOAT64 and not g.fits_float64):
            continue
        if bits != FLOAT64:
            used.add("ball")
        unresolved: list[Interval] = []
        for low, high in pending:
            isolated, unresolved_here = _cut(g, taylor_model(g, low, high, bits), used)
            simple += isolated
            unresolved += unresolved_here
        pending = _joined(unresolved)
    return Isolation(tuple(sorted(simple)), tuple(pending))


def _parts(g: ExponentialSum) -> list[Interval]:
    """Return [0, 2^k] with 2^k times the largest offset at most 4, and octaves up to where c_1 leads.

    That is R = 0.7 b / w: docs/theory.md, eq. (T24).
    """
    opposing = [w for w, c in zip(g.shifted, g.coefficients, strict=True) if (c > 0) != (g.coefficients[0] > 0)]
    if not opposing:
        return []
    first = log2_floor(Fraction(4 * g.denominator, g.shifted[-1]))
    reach = Fraction(7 * (g.total_weight.bit_length() + 1) * g.denominator, 10 * opposing[0])
    last = log2_floor(reach) + 1
    edges = [Fraction(0), *(Fraction(2) ** k for k in range(first, max(last, first) + 1))]
    return list(pairwise(edges))


def _cut(g: ExponentialSum, model: TaylorModel, used: set[str]) -> tuple[list[Interval], list[Interval]]:
    """Return intervals with exactly one zero, and those that the model cannot resolve (eq. (T23)); elsewhere none."""
    simple: list[Interval] = []
    unresolved: list[Interval] = []
    stack = [(Fraction(model.least), Fraction(1), 0)]
    with precision(max(model.bits, 64)):
        while stack:
            low, high, depth = stack.pop()
            middle, half = (low + high) / 2, (high - low) / 2
            width = exact(half)
            local = model.polynomial(arb_poly([exact(middle), width])).coeffs()
            moduli = [abs(b) for b in local[1:]]
            if abs(local[0]) > sum(moduli, model.remainder):
                continue
            slope = sum((k * b for k, b in enumerate(moduli[1:], 2)), model.slope_remainder * width)
            ends = model.scale(low), model.scale(high)
            if moduli and moduli[0] > slope:
                if _sign(g, model, low, used) != _sign(g, model, high, used):
                    simple.append(ends)
                continue
            noise = sum((b.rad() for b in local), model.remainder)
            if depth == _DEPTH or not sum((abs(b.mid()) for b in local[1:]), arb(0)) > 4 * noise:
                unresolved.append(ends)
                continue
            stack += [(middle, high, depth + 1), (low, middle, depth + 1)]
    return simple, unresolved


def _sign(g: ExponentialSum, model: TaylorModel, s: Fraction, used: set[str]) -> int:
    """Return the sign of g at the end s of a piece: from the model if it can tell."""
    value = model.polynomial(exact(s))
    if abs(value) > model.remainder:
        return 1 if value > 0 else -1
    return g.sign_right_of(model.scale(s), used)


def _joined(intervals: list[Interval]) -> list[Interval]:
    """Join neighbouring intervals, never across a power of two, so that a model can cover each."""
    joined: list[Interval] = []
    for low, high in sorted(intervals):
        if joined and joined[-1][1] == low and low != Fraction(2) ** log2_floor(low):
            joined[-1] = (joined[-1][0], high)
        else:
            joined.append((low, high))
    return joined


MAX_DEGREE = 2000


def square_free(g: ExponentialSum) -> list[tuple[ExponentialSum, int]] | None:
    """Return sums whose zeros in (0, inf) are all simple, each with the multiplicity that its zeros have in g.

    None where the degree of the polynomial exceeds MAX_DEGREE.
    """
    step = math.gcd(*g.shifted)
    if not step or g.shifted[-1] // step > MAX_DEGREE:
        return None
    dense = [0] * (g.shifted[-1] // step + 1)
    for w, c in zip(g.shifted, g.coefficients, strict=True):
        dense[w // step] = c
    factors = []
    for factor, multiplicity in fmpz_poly(dense).factor_squarefree()[1]:
        terms = [(k * step, int(c)) for k, c in enumerate(factor.coeffs()) if c]
        factors.append((ExponentialSum(*zip(*terms, strict=True), denominator=g.denominator), multiplicity))
    return factors
