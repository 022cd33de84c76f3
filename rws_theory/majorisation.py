"""Whether one position is never less confident than another, at any scale: sums of gaps, and what decides exactly.

Notation: gaps u of a and v of b, ascending, F_x(r) = sum_k exp(-r gap_k) and g = F_a - F_b, so that P^a(r) > P^b(r)
exactly where g(r) < 0 (docs/theory.md, eq. (T5)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, zip_longest

from flint import fmpq, fmpq_poly

from rws_theory.certified.exponential_sum import sign_changes
from rws_theory.checks import whole
from rws_theory.crossings import crossings
from rws_theory.parity import GapPair, Logits, sign_parity, supermajorises
from rws_theory.show import figures

__all__ = ["Majorisation", "dominance_order", "majorises"]


@dataclass(frozen=True)
class Majorisation:
    """What :func:`majorises` decides about a and b; true in an `if` exactly where ``holds`` is.

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
        behind = {True: "never behind", False: "behind at some scale", None: "not decided"}[self.never_behind]
        if self.fails_at is None:
            return f"Majorisation(holds; a is {behind})"
        m, mine, theirs = self.fails_at
        return f"Majorisation(fails at m = {m}: {figures(float(mine))} < {figures(float(theirs))}; a is {behind})"


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
    for m, (mine, theirs) in enumerate(zip_longest(accumulate(u), accumulate(v)), start=1):
        if mine is not None and (theirs is None or mine < theirs):
            limit = float("inf") if theirs is None else Fraction(theirs, denominator)
            return m, Fraction(mine, denominator), limit
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
    return _sign_right_of(p, low) > 0  # one sign throughout, but for zeros


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


def _sign_right_of(p: fmpq_poly, x: fmpq) -> int:
    """Return the sign of a non-zero p just right of x: that of its first derivative there which is not 0."""
    while p(x) == 0:
        p = p.derivative()
    return _sign_of(p(x))


def _sign_of(value: fmpq) -> int:
    return (value > 0) - (value < 0)
