"""Slow references that several tests share."""

from fractions import Fraction

import mpmath
import numpy as np
import sympy
from numpy.typing import NDArray


def exact_values(values: NDArray[np.float64]) -> list[Fraction]:
    """The finite entries as exact rationals."""
    return [Fraction(float(x)) for x in values if np.isfinite(x)]


def polynomial_crossings(u: list[int], v: list[int]) -> list[tuple[mpmath.mpf, int]]:
    """All crossings in (0, inf), with multiplicity, for integer gaps: roots in (0, 1) of a polynomial in exp(-r)."""
    x = sympy.Symbol("x")
    polynomial = sympy.Poly(sum(x**k for k in u) - sum(x**k for k in v), x)
    if polynomial.is_zero:
        return []
    crossings = []
    with mpmath.workdps(40):
        for factor, multiplicity in polynomial.factor_list()[1]:
            for root in factor.real_roots():
                value = mpmath.mpf(str(root.evalf(40)))
                if 0 < value < 1 - mpmath.mpf(10) ** -30:
                    crossings.append((-mpmath.log(value), multiplicity))
    return sorted(crossings)
