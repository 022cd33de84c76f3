"""What intervals of a strategy's lead over its twins say: a verdict on each twin, and one on all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

__all__ = ["VERDICTS", "side_of", "verdict_of"]

ComparisonVerdict = Literal["better", "equivalent", "not better", "worse", "undecided"]
AblationVerdict = Literal["the reward matters", "only the temperature", "no effect", "worse than without", "undecided"]
VERDICTS: tuple[str, ...] = get_args(AblationVerdict)
WITHOUT = "confidence"  # the twin without any guidance


def side_of(low: float, high: float, margin: float) -> ComparisonVerdict:
    """Return what an interval of a lead says: beyond the margin, within it, below it, or not known yet.

    >>> [side_of(low, high, 0.1) for low, high in [(0.2, 0.4), (-0.05, 0.02), (-0.5, 0.05), (-0.9, -0.2), (0.0, 0.2)]]
    ['better', 'equivalent', 'not better', 'worse', 'undecided']
    """
    if low > margin:
        return "better"
    if high < -margin:
        return "worse"
    if high < margin:
        return "equivalent" if low > -margin else "not better"
    return "undecided"


def verdict_of(sides: Mapping[str, ComparisonVerdict], blind: Sequence[str]) -> AblationVerdict:
    """Return the verdict that follows from the sides of all twins; blind: the twins that do not use the reward.

    - "worse than without": confidence decoding has more reward, by more than the margin.
    - "no effect": confidence decoding has the same reward, within the margin.
    - "only the temperature": more reward than confidence decoding, but not more than one of the reward-blind twins.
    - "the reward matters": more reward than every reward-blind twin, by more than the margin.
    - "undecided": none of these yet.

    >>> verdict_of({"confidence": "better", "fixed factor": "equivalent"}, ["confidence", "fixed factor"])
    'only the temperature'
    >>> verdict_of({"confidence": "better", "fixed factor": "undecided"}, ["confidence", "fixed factor"])
    'undecided'
    """
    if sides[WITHOUT] == "worse":
        return "worse than without"
    if sides[WITHOUT] == "equivalent":
        return "no effect"
    blind_sides = {sides[name] for name in blind if name != WITHOUT}
    if sides[WITHOUT] == "better" and blind_sides & {"equivalent", "not better", "worse"}:
        return "only the temperature"
    if sides[WITHOUT] == "better" and blind_sides <= {"better"}:
        return "the reward matters"
    return "undecided"
