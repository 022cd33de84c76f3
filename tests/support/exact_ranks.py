"""The order of positions by confidence in exact arithmetic: fractions for gaps, ball arithmetic for exponentials."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import cmp_to_key
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq

_BITS = (128, 256, 1024, 4096, 8192)


def ball(value: Fraction) -> arb:
    """Enclose a rational at the working precision."""
    return arb(fmpq(value.numerator, value.denominator))


def exact_gaps(row: Sequence[float], token: int | None = None) -> list[Fraction]:
    """Exact gaps z_token - z_k of the other allowed tokens; token: the first largest, if not given."""
    z = [float(v) for v in row]
    best = z.index(max(z)) if token is None else token
    return [Fraction(z[best]) - Fraction(v) for k, v in enumerate(z) if k != best and v > -np.inf]


def log_odds_ball(gaps: Sequence[Fraction], scale: Fraction, bits: int = 256) -> arb:
    """Enclose -log sum_k exp(-scale gap_k); for gaps that are not empty."""
    with ctx.workprec(bits):
        nearest = min(gaps)
        rest = sum(((-ball(scale * (gap - nearest))).exp() for gap in gaps), arb(0))
        return ball(scale * nearest) - rest.log()


def compared(first: Sequence[Fraction], second: Sequence[Fraction], scale: Any) -> int:
    """Return 1, 0 or -1, proved, as the first is surer at a scale: a rational, or a function from bits to a ball."""
    remaining = Counter(first)
    remaining.subtract(Counter(second))
    terms = [(gap, count) for gap, count in remaining.items() if count]
    if not terms:
        return 0
    nearest = min(gap for gap, _ in terms)
    for bits in _BITS:
        with ctx.workprec(bits):
            c = scale(bits) if callable(scale) else ball(scale)
            total = sum((count * (-c * ball(gap - nearest)).exp() for gap, count in terms), arb(0))
        if not total.contains(0):
            return -1 if total > 0 else 1  # the sum F of the first is the larger one: it is less sure
    raise ArithmeticError(f"{_BITS[-1]} bits do not tell two positions apart")


def exact_order(gaps: Sequence[Sequence[Fraction]], scale: Any) -> list[int]:
    """Return the positions, surest first and the leftmost among equals; scale as in `compared`, or one each."""
    return sorted(range(len(gaps)), key=cmp_to_key(lambda i, j: -compared(gaps[i], gaps[j], scale) or i - j))


def exact_top(rows: Sequence[Sequence[float]], k: int, scale: Any) -> tuple[set[int], int]:
    """Return the k surest rows of float logits, and how many of the others tie with the last of them."""
    gaps = [exact_gaps(row) for row in rows]
    order = exact_order(gaps, scale)
    level = sum(compared(gaps[order[k - 1]], gaps[other], scale) == 0 for other in order[k:]) if k else 0
    return set(order[:k]), level
