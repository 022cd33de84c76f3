"""Signs of an exponential sum of very many terms in balls: the terms condensed into a thousand short polynomials.

Let H = 2^b / q with q the denominator, and y = r H <= 1/8. A term with shifted exponent w = k H + t, 0 <= t < H, is
exp(-r k H) exp(-y x), x = t / H < 1, so the terms of one bucket k add up to

    exp(-r k H) sum_m (-y)^m / m! S_m,    S_m = sum_j c_j x_j^m,

whose moments S_m do not depend on r. The first 5 are exact integers over a power of two; those up to 15 are float64
sums with an error bound, which y^m / m! <= 2^-22 makes harmless. Terms with r w > 128 are left out at the price of
exp(-128) < 2^-184 each.

With M_m = sum_j |c_j| x_j^m, one term of S_m is off by (m + 7) eps: half an ulp each of x, c and the products, 8 ulp of
libm's pow; and no term of n passes through more than log2(n) + 20 of numpy's pairwise additions. So 54 eps M_5 and 64
eps M_m cover all for n < 2^64, and 1e-290 terms below the normal range. What follows S_15 is at most
sum_j |c_j| 1.01 (y x_j)^16 / 16! < 2^-70 y^5 / 5! M_5, and 10 eps M_5 are left for it.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import mul

import numpy as np
from flint import arb, arb_poly, fmpq

__all__ = ["BITS", "Condensed", "bucket_bits", "condense", "within"]

BITS = 192  # working precision; the float64 moments leave about 65 of them
_EXACT, _TERMS = 5, 16
_CUT = 128
_ERROR = 64 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Condensed:
    """Buckets k with their polynomials in y = r 2^bits / denominator; for r up to 1/8 of denominator / 2^bits."""

    buckets: tuple[tuple[int, arb_poly], ...]
    left_out: int
    bits: int
    denominator: int

    def ball(self, r: Fraction) -> arb:
        """A ball that holds exp(r u_1) g(r); the caller sets the precision."""
        y = arb(fmpq(r.numerator, r.denominator)) * arb(fmpq(1 << self.bits, self.denominator))
        total = within(self.left_out, 184)
        for k, polynomial in self.buckets:
            total += (-y * k).exp() * polynomial(y)
        return total


def within(weight: int, bits: int) -> arb:
    """The ball around 0 of radius at least weight 2^-bits."""
    radius = arb(fmpq(weight, 1 << bits))
    return radius.union(-radius)


def bucket_bits(r: Fraction, denominator: int) -> int:
    """The largest b with r 2^b / denominator <= 1/8; negative where buckets would be narrower than the exponents' unit.

    >>> bucket_bits(Fraction(3), 1 << 20), bucket_bits(Fraction(1, 4), 2)
    (15, 0)
    """
    limit = Fraction(denominator) / (8 * r)
    bits = limit.numerator.bit_length() - limit.denominator.bit_length()
    return bits if Fraction(2) ** bits <= limit else bits - 1


def condense(shifted: Sequence[int], coefficients: Sequence[int], denominator: int, bits: int) -> Condensed:
    """Buckets of 2^bits for scales r with 1/16 < r 2^bits / denominator <= 1/8; the caller sets the precision."""
    keep = bisect_right(shifted, (16 * _CUT) << bits)  # beyond, r w > 128
    found, start = [], 0
    while start < keep:
        k = shifted[start] >> bits
        end = bisect_left(shifted, (k + 1) << bits, start, keep)
        inside = [w - (k << bits) for w in shifted[start:end]]
        found.append((k, _polynomial(inside, coefficients[start:end], bits)))
        start = end
    return Condensed(tuple(found), sum(map(abs, coefficients[keep:])), bits, denominator)


def _polynomial(inside: list[int], coefficients: Sequence[int], bits: int) -> arb_poly:
    found: list[arb] = []
    powers = list(coefficients)
    for m in range(_EXACT):
        if m:
            powers = list(map(mul, powers, inside))
        found.append(arb(fmpq((-1) ** m * sum(powers), math.factorial(m) << (bits * m))))
    unit = 1 << bits
    x = np.array([t / unit for t in inside])
    terms = np.array([float(c) for c in coefficients]) * x**_EXACT
    for m in range(_EXACT, _TERMS):
        error = _ERROR * float(np.abs(terms).sum()) + 1e-290
        found.append(arb(float(terms.sum()), error) * arb(fmpq((-1) ** m, math.factorial(m))))
        terms = terms * x
    return arb_poly(found)
