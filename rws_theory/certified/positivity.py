"""Whether a sum of truncated powers is never positive, by Sturm sequences in exact arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from flint import fmpq, fmpq_poly

from rws_theory.certified.exponential_sum import sign_changes


def never_positive(knots: Sequence[int], coefficients: Sequence[int], power: int) -> bool:
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
    at_low = sign_changes([_sign(q(low)) for q in chain])
    at_high = sign_changes([_sign(q.leading_coefficient() if high is None else q(high)) for q in chain])
    # Sturm counts the zeros in (low, high].
    return at_low - at_high - (high is not None and p(high) == 0)


def _sign_right_of(p: fmpq_poly, x: fmpq) -> int:
    """Return the sign of a non-zero p just right of x: that of its first derivative there which is not 0."""
    while p(x) == 0:
        p = p.derivative()
    return _sign(p(x))


def _sign(value: fmpq) -> int:
    return (value > 0) - (value < 0)
