"""The difference g(r) = F_a(r) - F_b(r) of two gap sums as an exact exponential sum, with signs that are proved.

float64 logits are dyadic rationals, so their gaps, the cancellation of the gaps that a and b share, and the integrals
that bound the number of zeros are computed in integers without rounding. Only g itself is transcendental: its sign
comes from float64 with a rigorous error bound and, where that cannot decide, from decimal arithmetic of growing
precision.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class ExponentialSum:
    """g(r) = sum_j coefficients[j] exp(-r exponents[j] / denominator), exponents ascending, coefficients non-zero."""

    exponents: tuple[int, ...]
    coefficients: tuple[int, ...]
    denominator: int

    @cached_property
    def _offsets(self) -> NDArray[np.float64]:
        first = self.exponents[0]
        return np.array([(u - first) / self.denominator for u in self.exponents])  # int / int rounds correctly

    @cached_property
    def _weights(self) -> NDArray[np.float64]:
        return np.array(self.coefficients, dtype=np.float64)

    def _evaluate(self, r: float) -> tuple[float, float]:
        """exp(r u_1) g(r) in float64, and a bound on its error.

        The argument of each exp is off by at most eps relatively, exp itself by a few ulp, the product by half an ulp;
        math.fsum adds without error. (2 z + 16) eps per term covers these and the rounding of the bound itself.
        """
        with np.errstate(over="ignore", under="ignore"):
            z = r * self._offsets
            terms = self._weights * np.exp(-z)
            slack = np.abs(terms) * (2.0 * np.minimum(z, 800.0) + 16.0)  # exp(-800) is 0: beyond, the term is exact
        return math.fsum(terms.tolist()), _EPS * float(slack.sum())

    def value(self, r: float) -> float:
        """exp(r u_1) g(r) in float64, of the same sign as g(r) except where rounding hides it."""
        return self._evaluate(r)[0]

    def sign(self, r: float) -> int:
        """The sign of g(r), proved, for a float r > 0: -1 or 1, and 0 only for the empty sum.

        By the Lindemann-Weierstrass theorem exponentials of distinct rationals are linearly independent over the
        rationals, so g(r) is not zero at any rational r > 0 and raising the precision ends.
        """
        if not self.exponents:
            return 0
        total, error = self._evaluate(r)
        if abs(total) > error:
            return 1 if total > 0 else -1
        digits = 40
        while True:
            decimal_total, decimal_error = self._evaluate_decimal(r, digits)
            if abs(decimal_total) > decimal_error:
                return 1 if decimal_total > 0 else -1
            digits *= 2

    def _evaluate_decimal(self, r: float, digits: int) -> tuple[Decimal, Decimal]:
        """As _evaluate with `digits` decimal digits; decimal's exp is correctly rounded, so the bound is rigorous."""
        with localcontext(Context(prec=digits, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])):
            rate = Decimal(r) / Decimal(self.denominator)
            ulp = Decimal(10) ** (1 - digits)
            total = error = Decimal(0)
            for u, c in zip(self.exponents, self.coefficients, strict=True):
                z = rate * (u - self.exponents[0])
                if z > 10 * digits:  # then exp(-z) < 10^(-4 digits): below one ulp of the leading term
                    error += abs(c) * ulp
                    continue
                term = c * (-z).exp()
                total += term
                error += abs(term) * (4 * z + len(self.exponents) + 8) * ulp
            return total, 2 * error

    def laguerre_bound(self) -> int:
        """Sign changes of H(t), the integral over (0, t) of D, where D(t) sums the coefficients with exponent <= t.

        H is linear between the exponents, so its signs there, and its slope after the last one, tell them all; the
        arithmetic is exact. It bounds the zeros of g in (0, inf), with multiplicity: see :func:`rws_theory.crossings`.
        """
        level = integral = 0
        signs: list[int] = []
        for (u, after), c in zip(pairwise(self.exponents), self.coefficients, strict=False):
            level += c
            integral += level * (after - u)
            signs.append((integral > 0) - (integral < 0))
        final = sum(self.coefficients)
        signs.append((final > 0) - (final < 0))
        kept = [s for s in signs if s]
        return sum(s != t for s, t in pairwise(kept))


def exact_gaps(*rows: NDArray[np.float64]) -> tuple[list[list[int]], int]:
    """Finite gaps of each 1-D row of checked logits, ascending, as integers over one common denominator 2^s."""
    ratios = [[float(x).as_integer_ratio() for x in row if np.isfinite(x)] for row in rows]
    denominator = max(q for row in ratios for _, q in row)
    scaled = [sorted((p * (denominator // q) for p, q in row), reverse=True) for row in ratios]
    return [[row[0] - x for x in row[1:]] for row in scaled], denominator


def gap_difference(gaps_a: list[int], gaps_b: list[int], denominator: int) -> ExponentialSum:
    """F_a - F_b with the gaps that a and b share cancelled; empty exactly if the gap multisets are equal."""
    counts = Counter(gaps_a)
    counts.subtract(gaps_b)
    terms = sorted((u, c) for u, c in counts.items() if c)
    return ExponentialSum(tuple(u for u, _ in terms), tuple(c for _, c in terms), denominator)
