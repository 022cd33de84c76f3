"""Make pairs of logit vectors that are hard to count, with a number of crossings known by construction.

With x = exp(-r s), F_a - F_b is a polynomial: 1 - x times factors of known zeros in (0, 1) (docs/theory.md, T27).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from flint import fmpz_poly
from numpy.typing import NDArray
from scipy.optimize import brentq

KINDS = ("several", "shared", "touching", "tangent", "nearly tangent", "nearly touching")
_LOG2_SCALE = 27  # gaps are scaled by 2^-27 to 2^27, 7e-9 to 1e8: powers of two, so that float64 logits are exact


@dataclass(frozen=True, eq=False)
class HardPair:
    """Two logit vectors, the number of distinct crossings that they have, and what kind it is."""

    kind: str
    a: NDArray[np.float64]
    b: NDArray[np.float64]
    count: int


def corpus(per_kind: int, rng: np.random.Generator) -> Iterator[HardPair]:
    """Yield `per_kind` pairs of each of KINDS, whose polynomials `_polynomial` has."""
    for kind in KINDS:
        for index in range(per_kind):
            polynomial, count, common = _polynomial(kind, index, rng)
            scale = 2.0 ** int(rng.integers(-_LOG2_SCALE, _LOG2_SCALE + 1))
            u, v = _gaps(polynomial * (1 - fmpz_poly([0, 1])))
            if rng.integers(2):
                u, v = v, u
            yield HardPair(kind, _logits(u + common, scale, rng), _logits(v + common, scale, rng), count)


def _polynomial(kind: str, index: int, rng: np.random.Generator) -> tuple[fmpz_poly, int, list[int]]:
    x = fmpz_poly([0, 1])
    if kind in ("several", "shared"):
        factors = _distinct(3 + index % (6 if kind == "several" else 3), rng)
        common = rng.integers(40, size=rng.integers(1, 31)).tolist() if kind == "shared" else []
        return math.prod(factors, start=fmpz_poly([1])), len(factors), common
    if kind == "touching":  # the zeros of 1 - x^20 - x^26 and 1 - x^17 - x^30 in r are 4.3e-6 apart, relatively
        scale = int(rng.integers(1, 4))
        return _factor(20 * scale, 26 * scale) * _factor(17 * scale, 30 * scale), 2, []
    if kind == "tangent":
        i, j = (int(k) for k in rng.integers(1, 9, size=2))
        return _factor(i, j) ** 2, 1, []
    n, m = int(rng.integers(2, 9)), int(rng.integers(20, 60))
    square = n * (1 - 2 * x) ** 2
    return (square - x**m, 2, []) if kind == "nearly tangent" else (square + x**m, 0, [])


def _factor(i: int, j: int) -> fmpz_poly:
    x = fmpz_poly([0, 1])
    return 1 - x**i - x**j


def _distinct(count: int, rng: np.random.Generator) -> list[fmpz_poly]:
    """Draw `count` factors 1 - x^i - x^j whose zeros in r are at least 0.1 % apart."""
    chosen: dict[float, fmpz_poly] = {}
    while len(chosen) < count:
        i, j = (int(k) for k in rng.integers(1, 25, size=2))
        zero = math.log(brentq(lambda x, i=i, j=j: x**i + x**j - 1, 0.0, 1.0))
        if all(abs(zero / other - 1) > 1e-3 for other in chosen):
            chosen[zero] = _factor(i, j)
    return [*chosen.values()]


def _gaps(polynomial: fmpz_poly) -> tuple[list[int], list[int]]:
    """Return the exponents with positive and with negative coefficients, repeated as often as these say."""
    coefficients = [int(c) for c in polynomial.coeffs()]
    u = [k for k, c in enumerate(coefficients) for _ in range(c)]
    v = [k for k, c in enumerate(coefficients) for _ in range(-c)]
    return u, v


def _logits(gaps: list[int], scale: float, rng: np.random.Generator) -> NDArray[np.float64]:
    return rng.permutation(np.concatenate([[0.0], -scale * np.array(gaps)]))
