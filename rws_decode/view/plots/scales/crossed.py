"""Sentences about curves and their crossings."""

from __future__ import annotations

from collections.abc import Mapping

from rws_decode.view.sentences import count, joined, number
from rws_theory import Crossings


def of_selected(k: int | None, positions: int) -> str:
    """Say what a thick curve means, "" where none is.

    >>> of_selected(2, 9), of_selected(None, 9)
    ('A curve is thick where it is among the 2 highest of all 9.', '')
    """
    if k is None or not 0 < k < positions:
        return ""
    return f"A curve is thick where it is {f'among the {k} highest' if k > 1 else 'the highest'} of all {positions}."


def of_pairs(pairs: Mapping[tuple[str, str], Crossings], low: float, high: float) -> list[str]:
    """Say where the curves of pairs, by their names, cross at scales from low to high, and what of it is proved."""
    if len(pairs) == 1:
        (((first, second), pair),) = pairs.items()
        return _of_pair(first, second, pair)
    if not pairs:
        return []
    crossed = sum(low <= root <= high for pair in pairs.values() for root in pair.roots)
    between = f"between {number(low)} and {number(high)}"
    proved = all(pair.complete for pair in pairs.values())
    return [
        f"The {len(pairs)} pairs of curves have {count(crossed, 'crossing')} {between}.",
        "It is proved that there are no others." if proved else "Others are not excluded (hatched).",
    ]


def _of_pair(first: str, second: str, pair: Crossings) -> list[str]:
    both = f"The curves of {first} and {second}"
    if pair.identical:
        return [f"{both} are the same at every scale: their gaps are equal."]
    if not pair.count:
        return [f"{both} never cross: proved." if pair.complete else f"No crossing of {both.lower()} is known."]
    times = {1: "once", 2: "twice"}.get(pair.count, f"{pair.count} times")
    touching = " (hollow: they touch)" if any(crossing.multiplicity == 2 for crossing in pair.crossings) else ""
    return [
        f"{both} cross {times}, at {joined([number(root) for root in pair.roots], 6)}{touching}.",
        "It is proved that they cross nowhere else." if pair.complete else "Others are not excluded (hatched).",
    ]
