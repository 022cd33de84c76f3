"""The complete scale path put together: proved spans joined to parts that cover the range, and the gaps between."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from rws_decode.scales.states import Left


class Part(NamedTuple):
    """A part of the range, from `begin` to `end`, with what is known there."""

    begin: float
    end: float
    left: Left


class Gap(NamedTuple):
    """Scales [lower, upper] without proof; `step`: the first at which both sides differ, None if that is not proved."""

    lower: float
    upper: float
    step: int | None


def assemble(spans: Iterable[Left], low: float, high: float) -> tuple[list[Part], list[Gap]]:
    """Return the parts that cover [low, high] and the gaps, both rising, from proved spans, which are disjoint.

    Whatever lies between two spans, or between a span and an end of the range, is a gap. What borders on a gap is drawn
    to its middle, or to the end of the range. Neighbours of the same outcome, or both unexplored, are one part.
    """
    left = sorted(spans, key=lambda outcome: outcome.span.lower)
    if not left:
        return [], [Gap(low, high, None)]
    gaps = [Gap(low, left[0].span.lower, None)] if left[0].span.lower > low else []
    ends = [low]
    for first, second in pairwise(left):
        lower, upper = first.span.upper, second.span.lower
        gaps.append(Gap(lower, upper, _parting(first, second)))
        ends.append(lower + (upper - lower) / 2)
    if left[-1].span.upper < high:
        gaps.append(Gap(left[-1].span.upper, high, None))
    ends.append(high)

    parts: list[Part] = []
    for outcome, (begin, end) in zip(left, pairwise(ends), strict=True):
        if parts and _same(parts[-1].left, outcome):
            begin = parts.pop().begin
        parts.append(Part(begin, end, outcome))
    return parts, gaps


def _same(first: Left, second: Left) -> bool:
    if first.answer is None or second.answer is None:
        return first.answer is second.answer
    return (first.answer, first.span.commit_step) == (second.answer, second.span.commit_step)


def _parting(first: Left, second: Left) -> int | None:
    """Return the first step, of those that both went, at which they committed different positions; else None."""
    common = min(first.steps, second.steps)
    differing = [
        min(step for step in pair if step >= 0)
        for pair in zip(first.span.commit_step, second.span.commit_step, strict=True)
        if pair[0] != pair[1]
    ]
    step = min(differing, default=common)
    return step if step < common else None
