"""What the figures of the evidence study show, in sentences that follow from its answers."""

from __future__ import annotations

from math import inf

from paper_figures.exhibits.evidence import arms_of
from paper_figures.exhibits.evidence_looks import path_of, title_of
from paper_figures.figures.parts.evidence_frontier import regrets_of
from paper_figures.recorded import Recorded
from paper_figures.statistics.intervals import Interval
from paper_figures.studies.design.evidence_arms import WORLDS, Arm
from paper_figures.studies.summaries.evidence_comparisons import chosen_scales
from paper_figures.studies.summaries.evidence_tables import distance_of


def text_of(interval: Interval, digits: int = 2, signed: bool = False) -> str:
    """Return a mean with its interval as text.

    >>> text_of(Interval(0.5, 0.25, 0.75), signed=True)
    '+0.50 [+0.25, +0.75]'
    """
    mean, low, high = (f"{number:{'+' if signed else ''}.{digits}f}" for number in interval)
    return f"{mean} [{low}, {high}]"


def compared(interval: Interval, more: str, less: str, digits: int = 2) -> str:
    """Return what a difference says: `more` or `less` where its interval excludes 0, else that none is shown.

    Where all differences are 0, the bootstrap knows no interval, and that is said.

    >>> compared(Interval(-2.0, -3.0, -1.0), "more", "less", 1), compared(Interval(0.0, -1.0, 1.0), "more", "less", 1)
    ('2.0 [1.0, 3.0] less', 'no difference shown (+0.0 [-1.0, +1.0])')
    """
    if interval == (0.0, -inf, inf):  # that of differences which are all 0
        return "the same for every prompt"
    if interval.low > 0:
        return f"{text_of(interval, digits)} {more}"
    if interval.high < 0:
        return f"{text_of(Interval(-interval.mean, -interval.high, -interval.low), digits)} {less}"
    return f"no difference shown ({text_of(interval, digits, signed=True)})"


def chosen_scale(evidence: Recorded, world: str, method: str = "rws") -> Arm | None:
    """Return the greedy arm of the scale that was chosen on validation prompts; None if there is none."""
    scales = evidence.about.get("chosen", {}).get(world) or chosen_scales(evidence.answers, world)
    path = path_of(arms_of(evidence, world), method)
    return next((arm for arm in path if arm.method == method and arm.number == scales.get(method)), None)


def frontier_line(evidence: Recorded, world: str) -> tuple[str, ...]:
    """Return how far RWS is from the frontier, in nats and in reward; nothing where it has no regret."""
    arms, regrets = arms_of(evidence, world), regrets_of(evidence, world)
    rws = chosen_scale(evidence, world)
    if rws is None or rws not in regrets:
        return ()
    distance = distance_of(arms[rws].reset_index(), evidence.frontiers, world)
    below = f", and at least {text_of(distance.least)} deviations of reward below it at equal log p" if distance else ""
    return (
        f"In {WORLDS[world].model}, {title_of(rws)} (its scale chosen on validation prompts) lies "
        f"{text_of(regrets[rws], 1)} nats below the frontier of log p and reward{below}.",
    )
