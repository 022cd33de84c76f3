"""Numbers that callers give: checked, given to each row; and the right values next to a wrong one, for messages."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from numbers import Integral
from typing import Any

from rws_decode.common.later import NDArray, np
from rws_theory.checks import whole


def is_id(token: object) -> bool:
    """Return whether a value can be a token's id: a whole number, and no truth value."""
    return isinstance(token, Integral) and not isinstance(token, bool)


def check_seeds(name: str, seeds: int | tuple[int, ...]) -> None:
    """Raise ValueError unless each seed, one or one per row, is a whole number from 0 to 2**63 - 1."""
    for seed in seeds if isinstance(seeds, tuple) else (seeds,):
        whole(name, seed, 0, 2**63 - 1)


def per_row(name: str, values: Any, rows: int) -> NDArray[Any]:
    """Return one value per row, [rows], of one value for all or a tuple of `rows`; ValueError for another length."""
    if isinstance(values, tuple) and len(values) != rows:
        raise ValueError(f"{name} has {len(values)} rows: the batch has {rows}")
    return np.broadcast_to(np.asarray(values), (rows,)).copy()


def divisors(number: int) -> list[int]:
    """Return the divisors of a number, at least 1, in rising order."""
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


def meant(name: str, names: Iterable[str]) -> str:
    """Return the advice which name a misspelt one is near, "" for none.

    >>> meant("mimi", ["english", "mini"]), meant("x", ["mini"])
    (' (is mini meant?)', '')
    """
    close = get_close_matches(name.lower(), list(names), 1)
    return f" (is {close[0]} meant?)" if close else ""
