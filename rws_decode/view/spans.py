"""Spans of scales."""

from __future__ import annotations

from collections.abc import Iterable


def stretches(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return rising spans with those joined of which one begins where the last ends.

    >>> stretches([(1.0, 2.0), (2.0, 3.0), (5.0, 6.0)])
    [(1.0, 3.0), (5.0, 6.0)]
    """
    together: list[tuple[float, float]] = []
    for low, high in spans:
        touches = bool(together) and together[-1][1] == low
        together.append((together.pop()[0] if touches else low, high))
    return together
