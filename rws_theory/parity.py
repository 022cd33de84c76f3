"""What is decided about two positions without finding a crossing: who is ahead where, and that none is possible.

Notation: gaps u of a and v of b, F_x(r) = sum_k exp(-r gap_k) and g = F_a - F_b, so that P^a(r) > P^b(r) exactly where
g(r) < 0 (docs/theory.md, eq. (T5)). All arithmetic is exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

from numpy.typing import ArrayLike

from rws_theory.certified.exponential_sum import ExponentialSum, exact_gaps, gap_difference
from rws_theory.crossings import exact_logits
from rws_theory.show import Exact

Logits = ArrayLike | Sequence[int | Fraction]
_AHEAD = {-1: "b", 0: "neither", 1: "a"}


@dataclass(frozen=True)
class Parity:
    """Which of two positions is ahead near 0, at 1 and near infinity, and the parities that follow: see :func:`parity`.

    ``near_zero``, ``at_one``, ``near_infinity`` are the signs of P^a - P^b as r -> 0, at r = 1 and as r -> inf. All are
    0 exactly if the gap multisets are equal. ``below_one`` and ``above_one`` are the parities, 0 or 1, of the numbers
    of crossings in (0, 1) and in (1, inf), counted with multiplicity. ``power`` is the m of the first power sum sum_k
    gap_k^m that differs, ``gap`` the smallest gap left after cancelling common ones (logits); None if none is.
    """

    near_zero: int
    at_one: int
    near_infinity: int
    below_one: int
    above_one: int
    power: int | None
    gap: Fraction | None

    def __repr__(self) -> str:
        low, one, high = (_AHEAD[sign] for sign in (self.near_zero, self.at_one, self.near_infinity))
        below, above = ("odd" if odd else "even" for odd in (self.below_one, self.above_one))
        ahead = f"{low} near 0, {one} at 1, {high} near infinity"
        return f"Parity(ahead: {ahead}; crossings: {below} below 1, {above} above)"


def parity(a: Logits, b: Logits) -> Parity:
    """Decide whether the numbers of crossings in (0, 1) and in (1, inf) are odd, without finding any.

    This replaces the existence halves of Theorem 1. The first power sum of the gaps that differs gives the sign of g
    near 0 (docs/theory.md, eq. (T6)), the smallest gap that is left the sign near infinity (eq. (T7)), and g(1) is not
    0 (eq. (T8)); the number of crossings between two scales is odd exactly if the signs there differ (eq. (T9)).

    For equally many gaps and P^a(1) > P^b(1): odd in (0, 1) if Sigma_a < Sigma_b, and odd in (1, inf) if delta_a <
    delta_b, or if the deltas agree and a has more gaps equal to delta (eq. (T10)). The paper treats neither equal Sigma
    nor equal delta, and prints (b) with the sign reversed.

    a, b: logits, shape (d,) each, d >= 1; float64 values are taken as the dyadic rationals they are, int and Fraction
    as themselves; -inf is a forbidden token. Lengths may differ. The result is exact. ValueError where a or b is not
    one-dimensional, empty, with NaN or +inf or only -inf, or of a span beyond float64.

    >>> signs = parity([0, -1, -3, -3], [0, -2, -2, -3])
    >>> signs
    Parity(ahead: b near 0, b at 1, b near infinity; crossings: even below 1, even above)
    >>> signs.power, signs.near_zero, signs.at_one, signs.near_infinity, signs.below_one, signs.above_one
    (2, -1, -1, -1, 0, 0)
    """
    return sign_parity(GapPair.of(a, b).difference)


@dataclass(frozen=True)
class GapPair:
    """Two checked logit vectors of one length and their gaps, ascending, in units of 1 / denominator."""

    logits: tuple[Any, Any]
    gaps: tuple[list[int], list[int]]
    denominator: int

    @classmethod
    def of(cls, a: Logits, b: Logits) -> GapPair:
        """Check both vectors; a token that one lacks is forbidden there."""
        rows: list[Any] = [exact_logits(a, "a"), exact_logits(b, "b")]
        size = max(map(len, rows))
        for i, row in enumerate(rows):
            if len(row) < size:
                rows[i] = [*row, *[-math.inf] * (size - len(row))]
        (u, v), denominator = exact_gaps(*rows)
        return cls((rows[0], rows[1]), (u, v), denominator)

    @property
    def difference(self) -> ExponentialSum:
        """g = F_a - F_b, exact."""
        return gap_difference(*self.gaps, self.denominator)

    def total(self, side: int) -> Fraction:
        """Return Sigma of one side, 0 for a and 1 for b."""
        return Exact(sum(self.gaps[side]), self.denominator)

    def smallest(self, side: int) -> Fraction | float:
        """Return delta of one side; inf where it has no gap."""
        return Exact(self.gaps[side][0], self.denominator) if self.gaps[side] else math.inf


def sign_parity(g: ExponentialSum) -> Parity:
    """Return the signs of P^a - P^b at the three scales and the parities between, from the exact difference g."""
    if not g.exponents:
        return Parity(0, 0, 0, 0, 0, None, None)
    power, sign = g.order_at_zero
    # Signs of P^a - P^b, which is positive where g is negative.
    near_zero, at_one, near_infinity = -sign, -g.sign(1.0), -1 if g.coefficients[0] > 0 else 1
    gap = Exact(g.exponents[0], g.denominator)
    return Parity(near_zero, at_one, near_infinity, int(near_zero != at_one), int(near_infinity != at_one), power, gap)


def supermajorises(u: list[int], v: list[int]) -> bool:
    """Say whether every sum of the m smallest gaps u is at least that of v (docs/theory.md, eq. (T16)); both ascend."""
    return len(u) <= len(v) and all(x >= y for x, y in zip(accumulate(u), accumulate(v), strict=False))
