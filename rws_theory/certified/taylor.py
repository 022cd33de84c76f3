"""Taylor models: exp(r u_1) g(r) on an interval of scales as a polynomial with ball coefficients, and a remainder.

With r = c + rho s, |s| <= 1, exp(r u_1) g(r) = sum_k A_k s^k (docs/theory.md, eq. (T19)). The remainders, of the value
and of the slope, are those of eq. (T20) away from 0 and of eq. (T21) at 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from operator import mul

import numpy as np
from flint import arb, arb_poly, arb_series, fmpq, fmpz

from rws_theory.certified.condensed import exact
from rws_theory.certified.exponential_sum import EPS, ExponentialSum, precision

FLOAT64 = 53  # the number of bits that stands for float64 sums with a priori error bounds
_TERMS = 32
_CUT = 60.0
_CHUNK = 8192


@dataclass(frozen=True)
class TaylorModel:
    """polynomial(s) within `remainder`, slope within `slope_remainder`: g(centre + half s) up to a positive factor.

    It holds for least <= s <= 1; least is 0 for the model at r = 0, which is divided by s^m, and -1 elsewhere.
    """

    centre: Fraction
    half: Fraction
    least: int
    polynomial: arb_poly
    remainder: arb
    slope_remainder: arb
    bits: int

    def scale(self, s: Fraction) -> Fraction:
        """Return the r that belongs to s."""
        return self.centre + self.half * s


def taylor_model(g: ExponentialSum, lower: Fraction, upper: Fraction, bits: int) -> TaylorModel:
    """Model g on [lower, upper], upper <= 2 lower, or on [0, upper], upper times the largest offset at most 4.

    `bits` is FLOAT64, for float64 sums with an a-priori error bound, or the precision of ball arithmetic.
    """
    build = _float_coefficients if bits == FLOAT64 else _ball_coefficients
    working = max(bits, 64)
    if lower == 0:
        order = g.order_at_zero[0]
        terms = order + (_TERMS if bits == FLOAT64 else 3 * _TERMS + bits // 4)
        with precision(working):
            coefficients = build(g, Fraction(0), upper, terms, math.inf)[0]
            tail = arb(g.total_weight) * arb(fmpq(4**terms, math.factorial(terms)))
            rest = tail / arb(fmpq(terms - 3, terms + 1))
            slope = 4 * rest + tail * terms  # sum_{k >= K} k 4^k/k! = K 4^K/K! + 4 sum_{k >= K} 4^k/k!
            return TaylorModel(Fraction(0), upper, 0, arb_poly(coefficients[order:]), rest, slope, bits)
    centre, half = (lower + upper) / 2, (upper - lower) / 2
    theta = half / centre
    terms = _TERMS if bits == FLOAT64 else math.ceil(bits / math.log2(float(1 / theta))) + 4
    cut = _CUT if bits == FLOAT64 else float(bits)
    with precision(working, terms):
        coefficients, left_out = build(g, centre, half, terms, cut)
        q = exact(theta)
        near = arb(g.total_weight - left_out) * q**terms / (2 * arb.pi() * terms).sqrt()
        far = arb(left_out) * arb(-cut).exp()
        rest = near / (1 - q) + far
        slope = near * (terms / (1 - q) + q / (1 - q) ** 2) + far * arb(cut)
        return TaylorModel(centre, half, -1, arb_poly(coefficients), rest, slope, bits)


def _float_coefficients(
    g: ExponentialSum, centre: Fraction, half: Fraction, terms: int, cut: float
) -> tuple[list[arb], int]:
    """Return A_0 .. A_{terms-1} from float64, with the errors of docs/theory.md, eq. (T22), and the weight left out."""
    c, rho = float(centre), float(half)
    offsets, weights = g.offsets, g.weights
    keep = offsets.size if centre == 0 else int(np.searchsorted(offsets, cut / (c - rho), side="right"))
    left_out = sum(map(abs, g.coefficients[keep:]))
    positive, negative = np.zeros(terms + 1), np.zeros(terms + 1)
    chunks = 0
    for sums, side in ((positive, weights[:keep] > 0), (negative, weights[:keep] < 0)):
        chosen = np.flatnonzero(side)
        for start in range(0, chosen.size, _CHUNK):
            index = chosen[start : start + _CHUNK]
            rows = np.empty((terms + 1, index.size))
            rows[0] = np.abs(weights[index]) * np.exp(-c * offsets[index])
            step = rho * offsets[index]
            for k in range(terms):
                np.multiply(rows[k], step, out=rows[k + 1])
            sums += rows.sum(axis=1)
            chunks += 1
    factorial = np.array([float(math.factorial(k)) for k in range(terms + 1)])
    total, moduli = (positive - negative) / factorial, (positive + negative) / factorial
    k = np.arange(terms)
    error = (2.0 * k + 24.0 + chunks) * moduli[:-1] + 2.0 * (k + 1) * (c / rho) * moduli[1:]
    error = 2.0 * EPS * error + 1e-290
    signs = (-1.0) ** k
    return list(map(arb, (signs * total[:-1]).tolist(), error.tolist())), left_out


def _ball_coefficients(
    g: ExponentialSum, centre: Fraction, half: Fraction, terms: int, cut: float
) -> tuple[list[arb], int]:
    """Return A_0 .. A_{terms-1} in balls of the precision set, series of `terms` terms, and the weight left out."""
    c = arb(fmpq(centre.numerator, centre.denominator) / g.denominator)
    rho = arb(fmpq(half.numerator, half.denominator) / g.denominator)
    if centre == 0:  # the power sums are integers: exact, so that those below order m vanish
        powers, coefficients = list(map(fmpz, g.coefficients)), []
        shifted = list(map(fmpz, g.shifted))
        scale = arb(1)
        for k in range(terms):
            coefficients.append(scale * sum(powers, fmpz(0)))
            powers = list(map(mul, powers, shifted))
            scale = -scale * rho / (k + 1)
        return coefficients, 0
    limit = Fraction(math.ceil(cut)) * g.denominator / (centre - half)
    total, left_out = arb_series(), 0
    for w, weight in zip(g.shifted, g.coefficients, strict=True):
        if w > limit:
            left_out += abs(weight)
        else:
            total += arb_series([-c * w, -rho * w]).exp() * weight
    return list(total), left_out
