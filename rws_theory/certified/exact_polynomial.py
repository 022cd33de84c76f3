"""Decide the multiplicities of the zeros of an exponential sum by an integer polynomial (docs/theory.md, eq. (T14)).

With x = exp(-r G / q), G the greatest common divisor of the shifted exponents, exp(r u_1) g(r) = P(x) for an integer
polynomial P, and r > 0 is 0 < x < 1. FLINT computes the square-free decomposition P = prod P_i^i exactly: each zero of
g is a simple zero of exactly one P_i, and i is its multiplicity.
"""

from __future__ import annotations

import math

from flint import fmpz_poly

from rws_theory.certified.exponential_sum import ExponentialSum

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
