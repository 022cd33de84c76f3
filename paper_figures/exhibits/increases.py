"""Increases in time as text with their intervals, and the warning for too few prompts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def ends_of(row: Mapping[str, Any], field: str) -> tuple[float, float]:
    """Return the ends of a field's interval: FIELD_low and FIELD_high, without "_ratio" in the name of a ratio.

    >>> ends_of({"god_ratio": 1.5, "god_low": 1.0, "god_high": 2.0}, "god_ratio")
    (1.0, 2.0)
    """
    name = field.removesuffix("_ratio")
    return row[f"{name}_low"], row[f"{name}_high"]


def with_interval(row: Mapping[str, Any], field: str) -> str | None:
    """Return an increase in percent, or a ratio, with its interval if that has a width.

    >>> with_interval({"increase": 20.0, "increase_low": -1.0, "increase_high": 30.5}, "increase")
    '+20.0 [-1.0, +30.5]'
    """
    if row[field] is None:
        return None
    form = "{:.3g}" if field.endswith("_ratio") else "{:+.1f}"
    low, high = ends_of(row, field)
    return form.format(row[field]) + ("" if low == high else f" [{form.format(low)}, {form.format(high)}]")


def few_prompts(count: int) -> list[str]:
    """Return a line if too few prompts were timed for any test to show a difference.

    >>> few_prompts(8), few_prompts(2)[0][:54]
    ([], 'Only 2 prompts are timed: an exchange test cannot give')
    """
    least = 2.0 ** (1 - count)
    message = f"Only {count} prompts are timed: an exchange test cannot give a p below {least:.2g}"
    return [f"{message}, and intervals are rough."] if least > 0.05 else []
