"""Find a certified interval and the multiplicity of every zero of an exponential sum, or list a cluster."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from rws_theory.certified.brent import brent_root
from rws_theory.certified.exponential_sum import ExponentialSum
from rws_theory.certified.isolation import PRECISIONS, Interval, isolate, resolve, square_free
from rws_theory.show import figures

_FIRST, _THEN = PRECISIONS[:2], PRECISIONS[2:]
_EXACT = (*PRECISIONS, 2048, 4096)
_MANY = 4096  # with more terms than this, models of more than 128 bits take minutes


@dataclass(frozen=True)
class Crossing:
    """One proved crossing inside (lower, upper), or a cluster of unknown content if `multiplicity` is None.

    At odd multiplicity P^a - P^b has different, proved signs at lower and upper. multiplicity: proved, of the one zero
    inside: 1 where the curves change order, 2 at a tangency; None for a near-tangency. root: an estimate; not proved.
    """

    lower: float
    upper: float
    multiplicity: int | None
    root: float

    def __repr__(self) -> str:
        return f"Crossing({self.place})"

    @property
    def place(self) -> str:
        """The place of the crossing, with its multiplicity if that is not 1.

        >>> Crossing(1.0, 1.5, 1, 1.25).place, Crossing(1.0, 1.5, 2, 1.25).place, Crossing(1.0, 1.5, None, 1.25).place
        ('1.25', '1.25 (multiplicity 2)', '1 to 1.5 (a cluster)')
        """
        if self.multiplicity is None:
            return f"{figures(self.lower)} to {figures(self.upper)} (a cluster)"
        return figures(self.root) + (f" (multiplicity {self.multiplicity})" if self.multiplicity > 1 else "")


def enclosed_zeros(g: ExponentialSum, exact: bool, rtol: float, used: set[str]) -> list[Crossing]:
    """Return the crossings of a non-empty g, ascending and disjoint; `exact` tries the integer polynomial first."""
    limit = g.zero_limit()
    if limit == 0:
        return []
    factors = square_free(g) if exact else None
    if factors is None:
        isolation = isolate(g, limit, used, _FIRST)
        if isolation.clusters and (factors := square_free(g)) is None:
            more = resolve(g, isolation.clusters, used, _THEN if len(g.exponents) <= _MANY else ())
            simple = sorted((*isolation.simple, *more.simple))
            clusters = _narrowed(g, more.clusters, limit - len(simple), used)
        else:
            simple, clusters = isolation.simple, []
        if factors is None:
            entries = [_refine(g, part, 1, rtol, used) for part in simple]
            return _disjoint([*entries, *(_refine(g, part, m, rtol, used) for part, m in clusters)])
    used.add("exact")
    entries = []
    for factor, multiplicity in factors:
        limit = factor.zero_limit()
        isolation = isolate(factor, limit, used, _EXACT) if limit else None
        if isolation:
            entries += [_refine(factor, part, multiplicity, rtol, used) for part in isolation.simple]
            entries += [_cluster(part) for part in isolation.clusters]
    return _disjoint(entries)


def _narrowed(
    g: ExponentialSum, clusters: Iterable[Interval], room: int, used: set[str]
) -> list[tuple[Interval, int | None]]:
    """Return the clusters that may hold zeros, by a count of those still possible (docs/theory.md, after eq. (T23))."""
    joined: list[Interval] = []
    for low, high in clusters:
        joined = [*joined[:-1], (joined[-1][0], high)] if joined and joined[-1][1] == low else [*joined, (low, high)]
    odd = [(low, high) for low, high in joined if g.sign_right_of(low, used) != g.sign(high, used)]
    if len(odd) >= room - 1:  # the others hold zeros in pairs, and one more pair would exceed `room`
        return [(part, 1) for part in odd]
    return [(part, None) for part in joined]


def _inward(part: Interval) -> tuple[float, float]:
    """Return the widest floats inside the interval; inf where it ends beyond them."""
    low, high = _outward(part)
    low = math.nextafter(low, math.inf) if Fraction(low) < part[0] else low
    high = math.nextafter(high, 0.0) if math.isfinite(high) and Fraction(high) > part[1] else high
    return low, high


def _outward(part: Interval) -> tuple[float, float]:
    """Return the narrowest floats around the interval."""
    ends = []
    for end, direction in zip(part, (-1, 1), strict=True):
        try:
            value = float(end)
        except OverflowError:
            value = math.inf
        if math.isinf(value):
            value = np.finfo(float).max if direction < 0 else math.inf
        elif (Fraction(value) - end) * direction < 0:
            value = math.nextafter(value, math.inf * direction)
        ends.append(float(value))
    return ends[0], ends[1]


def _cluster(part: Interval) -> Crossing:
    low, high = _outward(part)
    return Crossing(low, high, None, low if math.isinf(high) else low + (high - low) / 2)


def _disjoint(entries: list[Crossing]) -> list[Crossing]:
    """Sort the entries; those that floats cannot tell apart become one cluster."""
    disjoint: list[Crossing] = []
    for crossing in sorted(entries, key=lambda c: (c.lower, c.upper)):
        if disjoint and crossing.lower < disjoint[-1].upper:
            before = disjoint[-1]
            root = (before.root + crossing.root) / 2
            disjoint[-1] = Crossing(before.lower, max(before.upper, crossing.upper), None, root)
        else:
            disjoint.append(crossing)
    return disjoint


def _refine(g: ExponentialSum, part: Interval, multiplicity: int | None, rtol: float, used: set[str]) -> Crossing:
    """Certify an interval of relative width rtol for the one zero of g in `part`, at whose ends the signs differ."""
    if multiplicity is None:
        return _cluster(part)
    low, high = _inward(part)
    if math.isinf(high):
        high = float(np.finfo(float).max)
        if part[0] >= high or g.sign(high, used) == g.sign_right_of(part[0], used):
            return Crossing(high, math.inf, multiplicity, high)
    if low >= high:
        return _cluster(part)
    sign_high = g.sign(high, used)
    while low == 0:  # approach 0 until the zero is passed
        middle = high / 2
        if middle == 0:
            return Crossing(0.0, high, multiplicity, high)
        low, high = (0.0, middle) if g.sign(middle, used) == sign_high else (middle, high)
    sign_low = g.sign(low, used)
    if sign_low == sign_high:  # the zero lies between an end and the float next to it
        return _cluster(part)

    def probe(r: float) -> None:
        nonlocal low, high
        if low < r < high:
            low, high = (r, high) if g.sign(r, used) == sign_low else (low, r)

    root = math.sqrt(low) * math.sqrt(high)
    if g.fits_float64 and g.value(low) * sign_low > 0 > g.value(high) * sign_low:
        root = brent_root(g.value, low, high, xtol=rtol * low / 8)
        reach = 0.48 * rtol * root
        while reach < high - low:
            probe(root - reach)
            probe(root + reach)
            if high - low <= 2.5 * reach:
                break
            reach *= 8
    while high - low > rtol * high and low < (middle := low + (high - low) / 2) < high:
        probe(middle)
    return Crossing(low, high, multiplicity, root if low < root < high else low + (high - low) / 2)
