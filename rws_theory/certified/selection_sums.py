"""log F of one position at one scale, with error bounds that are proved: in float64, and about 500 times sharper.

With the sorted logits x_1 >= x_2 >= ... of a row, delta = x_1 - x_2 and w_k = x_2 - x_k, log F(c) = -c delta + log S(c)
with S(c) = 1 + sum_{k >= 3} exp(-c w_k) >= 1. So nothing overflows, and a term with c w_k > 60 may be left out at the
price of 1e-26 (docs/theory.md, section 6).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_Array = NDArray[np.float64]
_ROUNDOFF = 2.0**-53
_CUT = 60.0
_LEFT_OUT = 1e-26  # more than exp(-60 (1 - 2 roundoff))
_STEPS = 256  # entries of the table of exp per unit
_SHARP = 2.0**-59


@dataclass(frozen=True, eq=False)
class Row:
    """The allowed logits of one position, descending (at least two), delta, and the excesses w_3, w_4, ... rounded."""

    logits: _Array
    delta: float
    excess: _Array

    @classmethod
    def of(cls, logits: _Array) -> Row:
        """Make the row of one position's checked logits, forbidden tokens left out."""
        x = np.sort(logits[np.isfinite(logits)])[::-1].copy()
        return cls(x, float(x[0] - x[1]), x[1] - x[2:])


class Sample(NamedTuple):
    """log F and its derivative at one scale, each within its error of the truth."""

    value: float
    error: float
    slope: float
    slope_error: float


def two_difference(a: _Array | np.float64, b: _Array) -> tuple[_Array, _Array]:
    """Return a - b = high + low without error (Knuth's TwoSum)."""
    high = np.asarray(a - b)
    shadow = high - a
    return high, (a - (high - shadow)) - (b + shadow)


def equal_classes(rows: list[_Array]) -> list[list[int]]:
    """Group rows (sorted descending) with identical multisets of exact gaps, in order of their first member.

    A gap is the pair of its rounding and its rounding error, which is unique (docs/theory.md, eq. (T36)): equal pairs
    are equal gaps, without tolerance.
    """
    by_hash: dict[tuple[int, int], list[list[int]]] = {}
    groups: list[list[int]] = []

    def exact(row: _Array) -> tuple[_Array, _Array]:
        high, low = two_difference(row[0], row[1:])
        return high + 0.0, low + 0.0  # -0.0 becomes 0.0

    for i, row in enumerate(rows):
        high, low = exact(row)
        key = (row.size, hash(high.tobytes() + low.tobytes()))
        for group in by_hash.setdefault(key, []):
            if all(np.array_equal(u, v) for u, v in zip(exact(rows[group[0]]), (high, low), strict=True)):
                group.append(i)
                break
        else:
            groups.append([i])
            by_hash[key].append(groups[-1])
    return groups


def _sum(terms: _Array) -> float:
    """Add in ceil(log2 n) rounded additions per term, whatever the library's own order; overwrites `terms`."""
    size = terms.size
    while size > 1:
        half = (size + 1) // 2
        terms[: size - half] += terms[half:size]
        size = half
    return float(terms[0]) if size else 0.0


def sample(row: Row, c: float) -> Sample:
    """Return log F(c) and d/dc log F(c) in float64, with the a-priori error bounds of docs/theory.md, eq. (T34)."""
    with np.errstate(over="ignore", under="ignore"):
        summed = int(np.searchsorted(row.excess, np.float64(_CUT) / c, side="right"))
        w = row.excess[:summed]
        terms = np.exp(w * -c)
        moment = _sum(terms * w)
    rest = _sum(terms)
    left_out = row.excess.size - summed
    levels = max(summed - 1, 0).bit_length()
    total = 1.0 + rest
    log_total, shift = math.log1p(rest), c * row.delta
    value, mean = log_total - shift, moment / total
    error = 2.1 * c * mean + (18 + levels) * rest / total + 8 * log_total + 3 * shift + 2 * abs(value)
    slope_error = (300 + 2 * levels) * mean + 4 * row.delta
    return Sample(
        value,
        1.01 * _ROUNDOFF * error + left_out * _LEFT_OUT + 1e-322,
        -(row.delta + mean),
        1.01 * _ROUNDOFF * slope_error + left_out * 60 * _LEFT_OUT / c,
    )


@lru_cache(maxsize=1)
def _exponentials() -> tuple[_Array, _Array]:
    """Return exp(-j / 256) for j / 256 up to 60, as high + low: relative error below 2^-104."""
    with localcontext(Context(prec=60)):
        ratio = (Decimal(-1) / _STEPS).exp()
        values = [Decimal(1)]
        for _ in range(int(_CUT) * _STEPS + 1):
            values.append(values[-1] * ratio)
        high = [float(v) for v in values]
        low = [float(v - Decimal(h)) for v, h in zip(values, high, strict=True)]
    return np.array(high), np.array(low)


def _split(a: _Array | float) -> tuple[_Array | float, _Array | float]:
    """Return the high and the low half of the digits (Veltkamp)."""
    wide = 134217729.0 * a
    high = wide - (wide - a)
    return high, a - high


def sharp_sum(row: Row, c: float) -> tuple[float, float, float]:
    """Return S(c) = high + low, and a proved bound on its relative error, about 2^-59 (docs/theory.md, eq. (T35)).

    Only sums and products of float64 are used, so the bound rests on IEEE arithmetic alone, not on the accuracy of a
    library's exp.
    """
    mantissa, exponent = math.frexp(c)  # powers of two move without error and keep the products in range
    with np.errstate(over="ignore", under="ignore"):
        summed = int(np.searchsorted(row.excess, np.float64(_CUT) / c, side="right"))
        high, low = two_difference(row.logits[1], row.logits[2 : 2 + summed])
        w, w_low = np.ldexp(high, exponent), np.ldexp(low, exponent)
        z = mantissa * w
        (m_high, m_low), (w_h, w_l) = _split(mantissa), _split(w)
        z_low = ((m_high * w_h - z) + m_high * w_l + m_low * w_h) + m_low * w_l + mantissa * w_low
        step = np.rint(z * _STEPS)
        r = z - step / _STEPS
        q = r * r * (0.5 + r * (-1 / 6 + r * (1 / 24 + r * (-1 / 120 + r * (1 / 720)))))
        q -= z_low * (1.0 - r + q)
        table, table_low = _exponentials()
        index = step.astype(np.intp)
        big = table[index]
        small = table_low[index] + big * (q - r)
        terms = big + small
        errors = small - (terms - big)
        size = terms.size
        while size > 1:
            half = (size + 1) // 2
            a, b = terms[: size - half], terms[half:size]
            s, e = two_difference(a, -b)
            terms[: size - half] = s
            errors[: size - half] += errors[half:size] + e
            size = half
        rest, rest_low = (float(terms[0]), float(errors[0])) if size else (0.0, 0.0)
    total = 1.0 + rest
    shadow = total - 1.0
    carried = (1.0 - (total - shadow)) + (rest - shadow)
    left_out = row.excess.size - summed
    return total, carried + rest_low, _SHARP + left_out * _LEFT_OUT


def sharp_difference(a: Row, b: Row, c: float) -> tuple[float, float]:
    """Return log F_a(c) - log F_b(c), and a proved bound on its error: about 2^-58."""
    (high_a, low_a, error_a), (high_b, low_b, error_b) = sharp_sum(a, c), sharp_sum(b, c)
    with localcontext(Context(prec=40)):
        sums = ((Decimal(high_a) + Decimal(low_a)) / (Decimal(high_b) + Decimal(low_b))).ln()
        shifts = [Decimal(c) * (Decimal(float(x[0])) - Decimal(float(x[1]))) for x in (a.logits, b.logits)]
        difference = sums - (shifts[0] - shifts[1])
        rounding = Decimal("1e-38") * (1 + abs(sums) + shifts[0] + shifts[1])
    error = 1.01 * (error_a + error_b) + float(rounding)
    return float(difference), error + 2.0**-52 * abs(float(difference))
