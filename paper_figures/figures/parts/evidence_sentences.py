"""What the figures of the evidence study show, in sentences that follow from its answers."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

from paper_figures.exhibits.evidence import MEASURES, arms_of, difference_of, interval_of
from paper_figures.exhibits.evidence_looks import path_of, title_of
from paper_figures.figures.parts.evidence_frontier import mean_frontier, points_of, regrets_of
from paper_figures.recorded import Recorded
from paper_figures.statistics.intervals import Interval
from paper_figures.studies.design.evidence_arms import WORLDS, Arm
from paper_figures.studies.summaries.evidence_comparisons import chosen_scales
from paper_figures.studies.summaries.evidence_frontier import distance_of


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


def frontier_lines(evidence: Recorded, world: str) -> tuple[str, ...]:
    """Return how far RWS is from the frontier, in log p and in reward, and beside what else."""
    arms, regrets = arms_of(evidence, world), regrets_of(evidence, world)
    rws = chosen_scale(evidence, world)
    if rws is None or rws not in regrets:
        return ()
    distance = distance_of(arms[rws].reset_index(), evidence.frontiers, world)
    lines = [
        f"In {WORLDS[world].model}, {title_of(rws)} (its scale chosen on validation prompts) lies "
        f"{text_of(regrets[rws], 1)} nats below the frontier of log p and reward"
        + (
            f", and at least {text_of(distance.least)} deviations of reward below it at equal log p."
            if distance
            else "."
        )
    ]
    lines.append(_most_probable(evidence, world, rws))
    beside = [Arm("default"), *filter(None, [chosen_scale(evidence, world, "temperature")])]
    beside += [rws._replace(method=method) for method in ("constant", "schedule", "swapped")]
    for measure, name, digits in (("regret", "Regret", 1), ("reward_sd", "Reward", 2)):
        said = []
        for other in beside:
            difference = difference_of(arms[rws], arms[other], measure) if other in arms else None
            if difference is not None:
                said.append(f"{title_of(other)}: {compared(difference, 'more', 'less', digits)}")
        if said:
            unit = MEASURES[measure].unit
            lines.append(f"{name} of {title_of(rws)} beside others, {unit}, paired. {'; '.join(said)}.")
    lines += [_reward_users(evidence, world, rws), _least(regrets)]
    return tuple(filter(None, lines))


def _most_probable(evidence: Recorded, world: str, rws: Arm) -> str:
    curve, points = mean_frontier(evidence, world), points_of(evidence, world)
    places = {measure: interval_of(arms_of(evidence, world)[rws], measure) for measure in ("log_p_word", "reward_sd")}
    if not len(points) or None in places.values():
        return ""
    log_p, reward = (interval.mean for interval in places.values() if interval)
    flat = [
        reward <= points[str(prompt)][points[str(prompt)][:, 0].argmax(), 1]
        for frame in arms_of(evidence, world).values()
        for prompt, reward in zip(frame.index, frame["reward"], strict=True)
        if str(prompt) in points
    ]
    return (
        f"The most probable texts have log p {curve[0, 0]:.2f} nats per word and reward {curve[0, 1]:.2f} deviations "
        f"on average; {title_of(rws)} has {log_p:.2f} and {reward:.2f}. Of all answers "
        f"{sum(flat) / len(flat):.1%} have no more reward than their prompt's most probable text: their regret is of "
        "log p alone."
    )


def _reward_users(evidence: Recorded, world: str, rws: Arm) -> str:
    """Return the reward that methods gain over the default which read it while they decode, beside RWS's gain."""
    arms, said = arms_of(evidence, world), []
    users = [arm for arm in arms if arm.method in ("lookahead", "particles", "best-of", "better-scale", "tilt-decode")]
    for arm in (rws, *users):
        difference = difference_of(arms[arm], arms[Arm("default")], "reward_sd") if Arm("default") in arms else None
        if difference is not None:
            said.append(f"{title_of(arm)} {text_of(difference, signed=True)}")
    return f"Reward minus the default's, in deviations: {'; '.join(said)}." if said else ""


def _least(regrets: Mapping[Arm, Interval]) -> str:
    (first, least), (last, most) = (list(regrets.items())[end] for end in (0, -1))
    place = 1 + min(index for index, arm in enumerate(regrets) if arm.method == "rws")
    return (
        f"Of {len(regrets)} arms {title_of(first)} has the least mean regret ({text_of(least, 1)} nats) and "
        f"{title_of(last)} the most ({text_of(most, 1)}); the best RWS is number {place}."
    )
