"""Compute an exponential sum of very many terms in ball arithmetic, condensed into a thousand short polynomials.

Terms are put into buckets by their exponents. Each bucket is a polynomial in y = r 2^bits / denominator, whose
coefficients are moments that do not depend on r (docs/theory.md, eq. (T25)). The first 5 moments are exact, those up to
15 are float64 sums with an error bound (eq. (T26)). Terms with r w > 128 are left out at the price of 2^-184 each.
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

BITS = 192  # working precision; the float64 moments leave about 65 of them
_EXACT, _TERMS = 5, 16
_CUT = 128
_ERROR = 64 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Condensed:
    """Buckets k with polynomials in y = r 2^bits / denominator <= 1/8, and the weight of terms in no bucket."""

    buckets: tuple[tuple[int, arb_poly], ...]
    left_out: int
    bits: int
    denominator: int

    def ball(self, r: Fraction) -> arb:
        """Return a ball that holds exp(r u_1) g(r); the caller sets the precision."""
        y = exact(r) * arb(fmpq(1 << self.bits, self.denominator))
        total = within(self.left_out, 184)
        for k, polynomial in self.buckets:
            total += (-y * k).exp() * polynomial(y)
        return total


def exact(x: Fraction) -> arb:
    """Return a fraction in ball arithmetic, at the precision that is set."""
    return arb(fmpq(x.numerator, x.denominator))


def within(weight: int, bits: int) -> arb:
    """Return the ball around 0 of radius at least weight 2^-bits."""
    radius = arb(fmpq(weight, 1 << bits))
    return radius.union(-radius)


def bucket_bits(r: Fraction, denominator: int) -> int:
    """Return the largest b with r 2^b / denominator <= 1/8; negative for buckets below the exponents' unit."""
    return log2_floor(denominator / (8 * r))


def log2_floor(x: Fraction) -> int:
    """Return the largest k with 2^k <= x."""
    k = x.numerator.bit_length() - x.denominator.bit_length()
    return k if Fraction(2) ** k <= x else k - 1


def condense(shifted: Sequence[int], coefficients: Sequence[int], denominator: int, bits: int) -> Condensed:
    """Condense into buckets of 2^bits, for 1/16 < r 2^bits / denominator <= 1/8; the caller sets the precision."""
    keep = bisect_right(shifted, (16 * _CUT) << bits)  # beyond, r w > 128
    buckets, start = [], 0
    while start < keep:
        k = shifted[start] >> bits
        end = bisect_left(shifted, (k + 1) << bits, start, keep)
        inside = [w - (k << bits) for w in shifted[start:end]]
        buckets.append((k, _polynomial(inside, coefficients[start:end], bits)))
        start = end
    return Condensed(tuple(buckets), sum(map(abs, coefficients[keep:])), bits, denominator)


def _polynomial(inside: list[int], coefficients: Sequence[int], bits: int) -> arb_poly:
    coefficients_of_y: list[arb] = []
    powers = list(coefficients)
    for m in range(_EXACT):
        if m:
            powers = list(map(mul, powers, inside))
        coefficients_of_y.append(arb(fmpq((-1) ** m * sum(powers), math.factorial(m) << (bits * m))))
    unit = 1 << bits
    x = np.array([t / unit for t in inside])
    terms = np.array([float(c) for c in coefficients]) * x**_EXACT
    for m in range(_EXACT, _TERMS):
        error = _ERROR * float(np.abs(terms).sum()) + 1e-290
        coefficients_of_y.append(arb(float(terms.sum()), error) * arb(fmpq((-1) ** m, math.factorial(m))))
        terms = terms * x
    return arb_poly(coefficients_of_y)
