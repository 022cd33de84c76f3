"""The right values next to a wrong one, as messages name them. No library is imported here."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence


def divisors(number: int) -> list[int]:
    """Return the divisors of a number, at least 1, in rising order.

    >>> divisors(12)
    [1, 2, 3, 4, 6, 12]
    """
    small = [divisor for divisor in range(1, math.isqrt(number) + 1) if number % divisor == 0]
    return sorted({*small, *(number // divisor for divisor in small)})


def nearest(value: int, right: Sequence[int]) -> str:
    """Return what a message names in place of a wrong value: the next right ones below and above it.

    right: rising; a range may be long.

    >>> nearest(30, range(25, 101, 25)), nearest(3, [4, 8])
    ('25 or 50', '4')
    """
    above = bisect_right(right, value)
    return " or ".join(map(str, right[max(0, above - 1) : above + 1]))
