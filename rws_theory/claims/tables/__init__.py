"""The arithmetic of the printed tables: a printed number stands for every number that rounds to it, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from rws_theory.claims.claim import Verdict


def half_unit(decimals: int) -> Fraction:
    """Return half a unit of the last digit: what rounding to so many decimals can hide."""
    return Fraction(1, 2 * 10**decimals)


def mean_of(values: Sequence[Any]) -> Fraction:
    """Return the exact mean."""
    return Fraction(sum(values)) / len(values)


def verdict(holds: bool) -> Verdict:
    """Return "true" or "false"."""
    return "true" if holds else "false"


def shown(value: Any, decimals: int = 2) -> str:
    """Return a number as text."""
    return f"{float(value):.{decimals}f}"
