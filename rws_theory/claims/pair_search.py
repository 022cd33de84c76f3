"""Search pairs of gap vectors on a grid: every pair up to a size, what is true of each, and the first with a property.

Gaps are positive integers over an integer, the unit. Counterexamples are ordered by tokens, largest integer,
lexicographic order, unit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations_with_replacement, pairwise

import numpy as np
from flint import arb
from numpy.typing import NDArray

from rws_theory.certified.condensed import exact
from rws_theory.certified.exponential_sum import ExponentialSum, gap_difference
from rws_theory.crossings import Crossings, crossings

SMALLEST = "smallest of whole-number gaps over a unit: fewest tokens, then smallest largest gap"
UNITS = tuple(range(1, 13))
# For a property that needs so large a Laguerre bound: the most tokens and the largest integer that are tried.
_TRIED = {0: (3, 8), 2: (4, 15), 3: (5, 17)}


@dataclass(frozen=True)
class Pair:
    """Two positions by their gaps, integers over `unit`, each ascending; everything about them is exact or proved."""

    a: tuple[int, ...]
    b: tuple[int, ...]
    unit: int = 1

    def __str__(self) -> str:
        over = f" / {self.unit}" if self.unit > 1 else ""
        return f"gaps a = {self.a}{over}, b = {self.b}{over}".replace(",)", ")")

    @property
    def dimension(self) -> int:
        """Number of tokens d, one more than the gaps."""
        return len(self.a) + 1

    @property
    def logits(self) -> tuple[list[Fraction], list[Fraction]]:
        """Logits whose largest is 0."""
        a, b = ([Fraction(0), *(Fraction(-u, self.unit) for u in gaps)] for gaps in (self.a, self.b))
        return a, b

    @property
    def sigma(self) -> tuple[Fraction, Fraction]:
        """Total gaps."""
        return Fraction(sum(self.a), self.unit), Fraction(sum(self.b), self.unit)

    @property
    def delta(self) -> tuple[Fraction, Fraction]:
        """Smallest gaps."""
        return Fraction(self.a[0], self.unit), Fraction(self.b[0], self.unit)

    @cached_property
    def g(self) -> ExponentialSum:
        """g(r) = F_a(r) - F_b(r)."""
        return gap_difference(list(self.a), list(self.b), self.unit)

    def order(self, r: float) -> int:
        """Return the proved sign of P^a(r) - P^b(r)."""
        return -self.g.sign(r)

    @cached_property
    def order_at_one(self) -> int:
        """The sign of P^a(1) - P^b(1), proved."""
        return self.order(1.0)

    @cached_property
    def order_near_zero(self) -> int:
        """The sign of P^a - P^b at all small enough scales, by the first power sum that differs; exact (eq. (T6))."""
        return -self.g.order_at_zero[1] if self.g.exponents else 0

    @cached_property
    def order_at_infinity(self) -> int:
        """The sign of P^a - P^b at all large enough scales, by the smallest gap that is left; exact (eq. (T7))."""
        coefficients = self.g.coefficients
        return 0 if not coefficients else (-1 if coefficients[0] > 0 else 1)

    @cached_property
    def crossings(self) -> Crossings:
        """The certified crossings."""
        return crossings(*self.logits)

    @cached_property
    def counts(self) -> tuple[int, int]:
        """How many crossings lie in (0, 1) and in (1, inf).

        With at most one (Laguerre) it lies where the order differs from that at 1; otherwise by certified isolation.
        ArithmeticError if the isolation was not complete.
        """
        if self.g.laguerre_bound <= 1:
            return int(self.order_near_zero != self.order_at_one), int(self.order_at_infinity != self.order_at_one)
        isolated = _isolated(*sorted((self.a, self.b)))  # at the scales r / unit
        if not isolated.complete:
            raise ArithmeticError(f"crossings of {self} were not isolated completely")
        unit_scale = Fraction(1, self.unit)
        low = [c for c in isolated.crossings if Fraction(c.upper) < unit_scale]
        high = [c for c in isolated.crossings if Fraction(c.lower) > unit_scale]
        if len(low) + len(high) != len(isolated.crossings):
            raise ArithmeticError(f"a crossing of {self} could not be told from 1")
        return sum(c.multiplicity or 0 for c in low), sum(c.multiplicity or 0 for c in high)

    @property
    def values(self) -> str:
        """The crossings to five decimals."""
        return ", ".join(f"{c.lower:.5f}..." for c in self.crossings.crossings)

    def probabilities(self, r: float) -> tuple[float, float]:
        """P^a and P^b at a scale, rounded to float64, for a reader; the proof is :meth:`order`."""
        a, b = (1 / (1 + math.fsum(math.exp(-r * u / self.unit) for u in gaps)) for gaps in (self.a, self.b))
        return a, b

    @property
    def signs(self) -> str:
        """g on both sides of every crossing, at scales of few digits, for a reader with a calculator; signs proved.

        >>> Pair((2, 2), (1, 4)).signs
        'g(r) = F_a - F_b: g(0.2) = +0.0726, g(1) = -0.1155'
        """
        scales = _between([c.root for c in self.crossings.crossings])
        values = []
        for r in scales:
            exact = [[(arb(-r) * u / self.unit).exp() for u in gaps] for gaps in (self.a, self.b)]
            value = sum(exact[0], arb(0)) - sum(exact[1], arb(0))
            if not value * -self.order(r) > 0:
                raise ArithmeticError(f"g({r}) of {self} has no proved sign")
            values.append(f"g({r:.7g}) = {_signed(float(value))}")
        return f"g(r) = F_a - F_b: {', '.join(values)}"


def confidence(gaps: Iterable[Fraction | int], r: Fraction | int) -> arb:
    """Return a certified interval of P(r) = 1 / (1 + sum exp(-r gap))."""
    return 1 / sum((exact(Fraction(-r * gap)).exp() for gap in gaps), arb(1))


def _signed(value: float) -> str:
    """Return a number with its sign: four decimals, or three digits where that is too few."""
    return f"{value:+.4f}" if abs(value) >= 5e-3 else f"{value:+.2e}"


def _between(roots: list[float]) -> list[float]:
    """Return a scale below the roots, one between neighbours, and one above: 1 where it fits, else of few digits."""
    edges = [0.0, *roots, 4 * max(1.0, *roots[-1:])]
    scales = []
    for low, high in pairwise(edges):
        middle = math.sqrt(low * high) if low else high / 2
        rounded = (float(f"{middle:.{digits}e}") for digits in range(16))
        scales.append(next(r for r in (1.0, *rounded) if low < r < high))
    return scales


@lru_cache(maxsize=2**14)
def _isolated(a: tuple[int, ...], b: tuple[int, ...]) -> Crossings:
    """Return the certified crossings of integer gaps: one isolation serves both orders, every unit and every search."""
    return Pair(a, b).crossings


@lru_cache(maxsize=64)
def _multisets(n: int, largest: int) -> tuple[tuple[int, ...], ...]:
    return tuple(combinations_with_replacement(range(1, largest + 1), n))


@lru_cache(maxsize=64)
def _integrals(n: int, largest: int) -> NDArray[np.int16]:
    """Return H of each multiset alone, (t, multisets), at integers t.

    H is the running integral of the number of gaps <= t.
    """
    counts = np.zeros((len(_multisets(n, largest)), largest + 1), dtype=np.int16)
    for row, gaps in zip(counts, _multisets(n, largest), strict=True):
        np.add.at(row, list(gaps), 1)
    return np.ascontiguousarray(counts.cumsum(axis=1, dtype=np.int16).cumsum(axis=1, dtype=np.int16).T)


def _bounds(integrals: NDArray[np.int16], index: int) -> NDArray[np.int8]:
    """Return Laguerre's bound of one multiset against all: the sign changes of H, which is linear between integers."""
    last, changes = (np.zeros(integrals.shape[1], dtype=np.int8) for _ in range(2))
    for level in integrals:
        sign = np.sign(level[index] - level).astype(np.int8)
        changes += sign * last < 0
        np.copyto(last, sign, where=sign != 0)
    return changes


def all_pairs(n: int, largest: int, bound: int = 0) -> Iterator[Pair]:
    """Yield, in lexicographic order, the pairs of different multisets of n gaps up to `largest`, which one of them has.

    Only those whose Laguerre bound is at least `bound`. Each unordered pair comes in both orders.
    """
    multisets, integrals = _multisets(n, largest), _integrals(n, largest)
    index_pairs = set()
    for first, gaps in enumerate(multisets):
        if gaps[-1] == largest:
            for second in np.flatnonzero(_bounds(integrals, first) >= bound).tolist():
                index_pairs |= {(first, second), (second, first)}
    for first, second in sorted(index_pairs):
        if first != second:
            yield Pair(multisets[first], multisets[second])


def ordered_pairs(n: int, largest: int) -> Iterator[Pair]:
    """Yield every pair with gaps up to `largest` that satisfies the assumption of Theorem 1, P^a(1) > P^b(1)."""
    for top in range(1, largest + 1):
        yield from (pair for pair in all_pairs(n, top) if pair.order_at_one > 0)


def smallest(holds: Callable[[Pair], bool], *, bound: int = 0, units: tuple[int, ...] = (1,)) -> Pair | None:
    """Return the smallest pair with P^a(1) > P^b(1) and a property, or None if the search finds none.

    `holds` is the property. Pairs whose Laguerre bound is below `bound` (0, 2 or 3) are passed over, because they
    cannot have it. `units` is what the integers are divided by, ascending; the first that fits is taken.
    """
    dimension, largest = _TRIED[bound]
    for d in range(2, dimension + 1):
        for top in range(1, largest + 1):
            for pair in all_pairs(d - 1, top, bound):
                for unit in units:
                    candidate = Pair(pair.a, pair.b, unit)
                    if candidate.order_at_one > 0 and holds(candidate):
                        return candidate
    return None
