"""The difference g(r) = F_a(r) - F_b(r) of two gap sums as an exact exponential sum, with signs that are proved.

float64 logits are dyadic rationals, so gaps, power sums and integrals of g are computed in integers. Only g itself is
transcendental. Its sign comes from float64 with an error bound (docs/theory.md, eq. (T18)) or from ball arithmetic.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from operator import mul, sub

import flint
import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from rws_theory.certified.condensed import BITS, Condensed, bucket_bits, condense, within

EPS = float(np.finfo(np.float64).eps)
_LOW, _HIGH = 1e-290, 1e290  # float64 is trusted for exponents in this range only
_EXACT_SUM = 4096  # up to so many terms math.fsum, which adds without error, costs less than it gains, and balls too


@contextmanager
def precision(bits: int, terms: int = 10) -> Iterator[None]:
    """Set ball arithmetic to `bits` binary digits and series of `terms` terms; restore what was set before."""
    before = flint.ctx.prec, flint.ctx.cap
    try:
        flint.ctx.prec, flint.ctx.cap = bits, terms
        yield
    finally:
        flint.ctx.prec, flint.ctx.cap = before


@dataclass(frozen=True)
class ExponentialSum:
    """g(r) = sum_j coefficients[j] exp(-r exponents[j] / denominator), exponents ascending, coefficients non-zero."""

    exponents: tuple[int, ...]
    coefficients: tuple[int, ...]
    denominator: int

    @cached_property
    def shifted(self) -> tuple[int, ...]:
        """The exponents less the first: those of exp(r u_1) g(r), which has the zeros of g and tends to c_1."""
        first = self.exponents[0]
        return tuple(u - first for u in self.exponents)

    @cached_property
    def total_weight(self) -> int:
        """C, the sum of the absolute values of the coefficients."""
        return sum(map(abs, self.coefficients))

    @cached_property
    def offsets(self) -> NDArray[np.float64]:
        """The shifted exponents divided by the denominator, each correctly rounded."""
        d = self.denominator
        return np.array([u / d for u in self.shifted])  # int / int rounds correctly

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """The coefficients as float64."""
        return np.array(self.coefficients, dtype=np.float64)

    @cached_property
    def fits_float64(self) -> bool:
        """Whether `offsets` and `weights` exist with the relative accuracy that the error bounds rest on."""
        if self.total_weight >= 2**53 or self.order_at_zero[0] > 64:
            return False
        small, large = self.shifted[1:2], self.shifted[-1]
        return all(Fraction(u, self.denominator) >= _LOW for u in small) and Fraction(large, self.denominator) <= _HIGH

    def _evaluate(self, r: float) -> tuple[float, float]:
        """Return exp(r u_1) g(r) in float64, and a bound on its error (docs/theory.md, eq. (T18))."""
        n = self.weights.size
        with np.errstate(over="ignore", under="ignore"):
            z = r * self.offsets
            terms = self.weights * np.exp(-z)
            slack = np.abs(terms) * (2.0 * np.minimum(z, 800.0) + 16.0)
        if n <= _EXACT_SUM:
            total, adding = math.fsum(terms.tolist()), 0.0
        else:
            total, adding = float(terms.sum()), math.log2(n) + 20.0
        return total, EPS * (float(slack.sum()) + adding * float(np.abs(terms).sum()))

    def value(self, r: float) -> float:
        """Return exp(r u_1) g(r) in float64, of the same sign as g(r) except where rounding hides it."""
        return self._evaluate(r)[0]

    def sign(self, r: float | Fraction, used: set[str] | None = None) -> int:
        """Return the proved sign of g(r) for a rational r > 0: -1 or 1, and 0 only for the empty sum.

        g(r) is not zero at any rational r > 0 (docs/theory.md, eq. (T8)), so raising the precision ends. "ball" is
        added to `used` unless float64 decided.
        """
        if not self.exponents:
            return 0
        at_hand = bool(self._condensed) and bucket_bits(Fraction(r), self.denominator) in self._condensed
        if not at_hand and self.fits_float64 and _LOW < r < _HIGH:
            total, error = self._evaluate(float(r))
            if abs(total) > error:
                return 1 if total > 0 else -1
        if used is not None:
            used.add("ball")
        bits = 64
        ball = self._condensed_ball(Fraction(r)) if len(self.exponents) > _EXACT_SUM else self.ball(Fraction(r), bits)
        while ball.contains(0):
            bits *= 2
            ball = self.ball(Fraction(r), bits)
        return 1 if ball > 0 else -1

    def sign_right_of(self, r: Fraction, used: set[str] | None = None) -> int:
        """Return the sign of g just right of a rational r >= 0."""
        return self.sign(r, used) if r else self.order_at_zero[1]

    @cached_property
    def _condensed(self) -> dict[int, Condensed]:
        return {}

    def _condensed_ball(self, r: Fraction) -> arb:
        """Return a ball around exp(r u_1) g(r), good to about 65 bits; moments serve all scales of one octave."""
        width = bucket_bits(r, self.denominator)
        if width < 1:
            return self.ball(r, 64)
        with precision(BITS):
            if width not in self._condensed:
                self._condensed[width] = condense(self.shifted, self.coefficients, self.denominator, width)
            return self._condensed[width].ball(r)

    def ball(self, r: Fraction, bits: int) -> arb:
        """Return a ball that holds exp(r u_1) g(r), computed with `bits` binary digits."""
        with precision(bits):
            rate = fmpq(r.numerator, r.denominator) / self.denominator
            negligible = math.floor(bits / rate) + 1  # r w > bits: exp(-r w) < 2^-bits
            step, total, left_out = -arb(rate), arb(0), 0
            for w, c in zip(self.shifted, self.coefficients, strict=True):
                if w < negligible:
                    total += (step * w).exp() * c
                else:
                    left_out += abs(c)
            return total + within(left_out, bits)

    @cached_property
    def laguerre_bound(self) -> int:
        """Laguerre's bound on the zeros of g in (0, inf), with multiplicity: the sign changes of H (eq. (T12)).

        H(t) is the integral over (0, t) of D, where D(t) sums the coefficients with exponent <= t. H is linear between
        the exponents, so its signs there, and its slope after the last one, tell them all. The arithmetic is exact.
        """
        levels = accumulate(self.coefficients)
        steps = map(sub, self.exponents[1:], self.exponents)
        integrals = accumulate(map(mul, levels, steps))
        return sign_changes([*integrals, sum(self.coefficients)])

    @cached_property
    def order_at_zero(self) -> tuple[int, int]:
        """The order m of the zero of g at r = 0, and the sign of g just right of it (docs/theory.md, eq. (T6)).

        m is that of the first power sum which is not 0, of the exponents as of the shifted ones.
        """
        terms, order = list(self.coefficients), 0
        while not (power_sum := sum(terms)):
            terms = list(map(mul, terms, self.shifted))
            order += 1
        return order, (1 if power_sum > 0 else -1) * (-1) ** order

    def zero_limit(self) -> int:
        """Return the largest possible number of zeros in (0, inf), with multiplicity: Laguerre's bound, corrected.

        Zeros at 0 are subtracted (docs/theory.md, eq. (T13)), and the parity must be that of the signs at the ends (eq.
        (T9)).
        """
        order, near_zero = self.order_at_zero
        parity = int((near_zero > 0) != (self.coefficients[0] > 0))
        limit = self.laguerre_bound - max(order - 2, 0)
        return limit - (limit - parity) % 2


def sign_changes(values: Iterable[int]) -> int:
    """Count the sign changes of a sequence, zeros left out."""
    positive = np.array([v > 0 for v in values if v])
    return int(np.count_nonzero(positive[1:] != positive[:-1]))


def exact_gaps(*rows: NDArray[np.float64] | Sequence[Fraction | float]) -> tuple[list[list[int]], int]:
    """Return the finite gaps of each row of checked logits, ascending, as integers over one common denominator.

    A row is a 1-D array of float64 (-inf: a forbidden token) or a sequence of Fractions.
    """
    if all(isinstance(row, np.ndarray) for row in rows):
        return _float_gaps([np.sort(row[np.isfinite(row)])[::-1] for row in rows if isinstance(row, np.ndarray)])
    exact = [sorted((Fraction(x) for x in row if x != -math.inf), reverse=True) for row in rows]
    denominator = math.lcm(*(x.denominator for row in exact for x in row))
    scaled = [[x.numerator * (denominator // x.denominator) for x in row] for row in exact]
    return [[row[0] - x for x in row[1:]] for row in scaled], denominator


def _float_gaps(rows: list[NDArray[np.float64]]) -> tuple[list[list[int]], int]:
    """Return the gaps of rows of finite float64, descending, over a denominator that is a power of two."""
    mantissas, powers = zip(*(np.frexp(row) for row in rows), strict=True)
    used = np.concatenate([p[m != 0] for m, p in zip(mantissas, powers, strict=True)])
    least = int(used.min(initial=0)) - 53
    integers = []
    for m, p in zip(mantissas, powers, strict=True):
        scaled = (m * 2.0**53).astype(np.int64).astype(object)
        scaled = scaled << np.where(m != 0, p - 53 - least, 0).astype(object)
        integers.append((scaled[0] - scaled[1:]).tolist())
    common = math.gcd(1 << -least, *(u for row in integers for u in row)) if len(rows[0]) < 256 else 1
    return [[u // common for u in row] for row in integers], (1 << -least) // common


def gap_difference(gaps_a: list[int], gaps_b: list[int], denominator: int) -> ExponentialSum:
    """Return F_a - F_b with the gaps that a and b share cancelled; empty exactly if the gap multisets are equal."""
    of_a, of_b = Counter(gaps_a), Counter(gaps_b)
    terms = {**of_a, **{u: -c for u, c in of_b.items()}}
    for u in of_a.keys() & of_b.keys():
        terms[u] = of_a[u] - of_b[u]
        if not terms[u]:
            del terms[u]
    exponents = tuple(sorted(terms))
    return ExponentialSum(exponents, tuple(map(terms.__getitem__, exponents)), denominator)
