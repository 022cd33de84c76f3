"""Which of two positions is more confident at which scales, and whether one never is the less confident.

Notation: gaps u of a and v of b, ascending, F_x(r) = sum_k exp(-r gap_k) and g = F_a - F_b, so that P^a(r) > P^b(r)
exactly where g(r) < 0 (docs/theory.md, eq. (T5)).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, zip_longest
from typing import Any

from flint import fmpq, fmpq_poly
from numpy.typing import ArrayLike

from rws_theory.certified.exponential_sum import ExponentialSum, exact_gaps, gap_difference, sign_changes
from rws_theory.checks import whole
from rws_theory.crossings import crossings, exact_logits
from rws_theory.show import Exact, figures

__all__ = ["Majorisation", "Parity", "dominance_order", "majorises"]

Logits = ArrayLike | Sequence[int | Fraction]
_AHEAD = {-1: "b", 0: "neither", 1: "a"}


@dataclass(frozen=True)
class Majorisation:
    """The result of :func:`majorises` for a and b; true in an `if` exactly if ``holds`` is.

    holds: for every m the m smallest gaps of a sum to at least those of b. fails_at: the first m for which they do not,
    and both sums; None where ``holds``. A missing gap is infinite. never_behind: P^a(r) >= P^b(r) at every r > 0,
    decided exactly; None if the crossings were not all proved.
    """

    holds: bool
    fails_at: tuple[int, Fraction | float, Fraction | float] | None
    never_behind: bool | None

    def __bool__(self) -> bool:
        return self.holds

    def __repr__(self) -> str:
        verdict = {True: "never behind", False: "behind at some scale", None: "not decided"}[self.never_behind]
        if self.fails_at is None:
            return f"Majorisation(holds; a is {verdict})"
        m, first, second = self.fails_at
        return f"Majorisation(fails at m = {m}: {figures(float(first))} < {figures(float(second))}; a is {verdict})"


def majorises(a: Logits, b: Logits) -> Majorisation:
    """Compare the sums of the m smallest gaps of a and of b for every m, and say whether a is ever behind b.

    If sum_{k <= m} u_k >= sum_{k <= m} v_k for every m, no scale puts b ahead of a (weak supermajorisation,
    docs/theory.md, eq. (T16)). For d <= 3 the converse holds too; for d >= 4 it does not (eq. (T76)). ``never_behind``
    decides the exact criterion, F_a <= F_b at every scale, by :func:`rws_theory.crossings`.

    a, b: logits, shape (d,) each, d >= 1; lengths may differ. float64 values are taken as the dyadic rationals they
    are, int and Fraction as themselves. -inf is a forbidden token: its gap is infinite. ValueError where a or b is not
    one-dimensional, empty, with NaN or +inf or only -inf, or of a span beyond float64.

    >>> majorises([0, -2, -2], [0, -1, -3])
    Majorisation(holds; a is never behind)
    >>> majorises([0, -2, -2, -5], [0, -1, -4, -4])
    Majorisation(fails at m = 2: 4 < 5; a is never behind)
    """
    pair = GapPair.of(a, b)
    u, v = pair.gaps
    if supermajorises(u, v):
        return Majorisation(True, None, True)
    return Majorisation(False, _first_failure(u, v, pair.denominator), _never_behind(pair))


def dominance_order(a: Logits, b: Logits, most: int = 16) -> int | None:
    """Return the least order, up to `most`, at which stochastic dominance proves that a is ahead of b at every scale.

    Order k asks that sum_k (t - u_k)_+^(k-1) <= sum_k (t - v_k)_+^(k-1) for every t. Order 1 compares the gaps one by
    one, order 2 is :func:`majorises`. P^a > P^b at every r > 0 exactly if some finite order holds and the gaps are not
    the same (docs/theory.md, eq. (T77)). Exact; meant for tens of tokens. Parameters and errors are those of
    :func:`majorises`.

    >>> dominance_order([0, -2, -2], [0, -1, -2]), dominance_order([0, -2, -2, -5], [0, -1, -4, -4])
    (1, 3)
    """
    whole("most", most)
    g = GapPair.of(a, b).difference
    if not g.exponents:
        return 1
    ends = sign_parity(g)
    if min(ends.near_zero, ends.at_one, ends.near_infinity) < 0:
        return None
    return next((k for k in range(1, most + 1) if _never_positive(g.exponents, g.coefficients, k - 1)), None)


def _first_failure(u: list[int], v: list[int], denominator: int) -> tuple[int, Fraction | float, Fraction | float]:
    """Return the first m whose sum is too small; a position with more gaps fails where the other has none left."""
    for m, (first, second) in enumerate(zip_longest(accumulate(u), accumulate(v)), start=1):
        if first is not None and (second is None or first < second):
            limit = float("inf") if second is None else Fraction(second, denominator)
            return m, Fraction(first, denominator), limit
    raise ArithmeticError("no sum of gaps is too small")


def _never_behind(pair: GapPair) -> bool | None:
    """Decide F_a <= F_b at every scale, by the ends first and by all crossings of odd multiplicity then."""
    ends = sign_parity(pair.difference)
    if min(ends.near_zero, ends.at_one, ends.near_infinity) < 0:
        return False
    proved = crossings(*pair.logits)
    if any(c.multiplicity is not None and c.multiplicity % 2 for c in proved.crossings):
        return False
    return True if proved.complete else None


def _never_positive(knots: Sequence[int], coefficients: Sequence[int], power: int) -> bool:
    """Say whether sum_j c_j (t - w_j)_+^power <= 0 at every t, for rising integers w_j; (t - w)_+^0 is 1 from w on.

    Between two knots it is a polynomial. It changes sign there exactly at its zeros of odd multiplicity.
    """
    if power == 0:
        return all(level <= 0 for level in accumulate(coefficients))
    t, total = fmpq_poly([0, 1]), fmpq_poly([0])
    ends = [*map(fmpq, knots[1:]), None]
    for knot, end, c in zip(knots, ends, coefficients, strict=True):
        total += c * (t - knot) ** power
        if _positive_somewhere(total, fmpq(knot), end):
            return False
    return True


def _positive_somewhere(p: fmpq_poly, low: fmpq, high: fmpq | None) -> bool:
    """Say whether p > 0 somewhere in (low, high), with None for infinity."""
    if p.is_zero():
        return False
    odd = fmpq_poly([1])
    for factor, multiplicity in p.numer().factor_squarefree()[1]:
        if multiplicity % 2:
            odd *= fmpq_poly(factor)
    if _zeros(odd, low, high):
        return True
    while p(low) == 0:  # the sign right of it is that of the first derivative there which is not 0
        p = p.derivative()
    return p(low) > 0  # one sign throughout, but for zeros


def _zeros(p: fmpq_poly, low: fmpq, high: fmpq | None) -> int:
    """Count the different zeros of a square-free p in the open interval, by Sturm's theorem."""
    if p.degree() < 1:
        return 0
    chain = [p, p.derivative()]
    while not chain[-1].is_zero():
        chain.append(-(chain[-2] % chain[-1]))
    chain.pop()
    at_low = sign_changes([_sign_of(q(low)) for q in chain])
    at_high = sign_changes([_sign_of(q.leading_coefficient() if high is None else q(high)) for q in chain])
    # Sturm counts the zeros in (low, high].
    return at_low - at_high - (high is not None and p(high) == 0)


def _sign_of(value: fmpq) -> int:
    return (value > 0) - (value < 0)


@dataclass(frozen=True)
class Parity:
    """Which of two positions is ahead near 0, at 1 and near infinity, and the parities that follow.

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
