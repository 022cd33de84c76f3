"""Say how far each method is from the best that a reward allows: reward at equal log p, and log p at equal reward."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from paper_figures.statistics.intervals import Interval
from paper_figures.statistics.means import mean_interval
from paper_figures.studies.design.evidence_arms import METHODS, WORLDS, Arm
from paper_figures.studies.summaries.evidence import arm_title
from paper_figures.studies.summaries.evidence_measures import deviation_of
from paper_figures.table import Table

_SHOWN = ("default", "rws", "lookahead", "tilt-decode", "particles", "best-of")
_SLACK = 1e-9  # nats


class Distance(NamedTuple):
    """How far texts lie from the best, as means with 95 % intervals over prompts.

    - `log_prob`: nats that a text of at least the same reward can have more, at most: the regret.
    - `least` and `most`, in the guide's deviations: a text with at least the same log p has `least` more reward, and
      none has more than `most`.
    """

    log_prob: Interval
    least: Interval
    most: Interval


def missing_reward(
    log_prob: float, reward: float, points: NDArray[np.float64], lines: NDArray[np.float64]
) -> tuple[float, float]:
    """Return (least, most): how much more reward a text of at least this log p can have.

    `points` are texts on the frontier, (log p, reward); `lines` are (beta, the largest log p + beta reward of all
    texts). The best text of `points` that is no less likely gives `least`. No text with log p >= L has a reward above
    (value - L) / beta, for any beta > 0, and the smallest of these gives `most`. So least <= most.

    >>> points, lines = np.array([[0.0, 0.0], [-1.0, 2.0]]), np.array([[0.0, 0.0], [0.5, 0.0], [4.0, 7.0]])
    >>> missing_reward(-0.5, 0.0, points, lines)
    (0.0, 1.0)
    """
    likely = points[points[:, 0] >= log_prob - _SLACK]
    least = max(0.0, float(likely[:, 1].max()) - reward) if len(likely) else 0.0
    beta, value = lines[lines[:, 0] > 0].T
    most = float(((value - log_prob) / beta).min()) - reward
    return least, max(least, most)


def distance_of(answers: pd.DataFrame, frontiers: pd.DataFrame, world: str) -> Distance | None:
    """Return how far an arm's texts are from the best; None where a prompt has no frontier."""
    curves = {row["prompt"]: row for row in frontiers[frontiers["world"] == world].to_dict("records")}
    regret = answers["regret"].to_numpy(dtype=float)
    if not set(answers["prompt"]) <= curves.keys() or not np.isfinite(regret).all():
        return None
    deviation, gaps = deviation_of(WORLDS[world].reward), []
    for prompt, log_prob, reward in zip(*(answers[name] for name in ("prompt", "log_prob", "reward")), strict=True):
        points, lines = (np.asarray([list(pair) for pair in curves[prompt][name]]) for name in ("points", "lines"))
        gaps.append(missing_reward(log_prob, reward, points, lines))
    least, most = np.array(gaps).T / deviation
    draws = np.random.default_rng(0)
    return Distance(*(mean_interval(values, draws, resamples=1999) for values in (regret, least, most)))


def distances_of(arms: Mapping[Arm, pd.DataFrame], frontiers: pd.DataFrame, world: str) -> dict[Arm, Distance]:
    """Return the distances of RWS and of the methods that it is compared with, in the order of tables."""
    order = {method: index for index, method in enumerate(_SHOWN)}
    kept = [arm for arm in arms if arm.method in order and not arm.one_by_one]
    kept.sort(key=lambda arm: (arm.sampling_temperature, order[arm.method], arm.number or 0))
    distances = {arm: distance_of(arms[arm], frontiers, world) for arm in kept}
    return {arm: distance for arm, distance in distances.items() if distance is not None}


def best_lines(arms: Mapping[Arm, pd.DataFrame], frontiers: pd.DataFrame, world: str) -> list[str]:
    """Return which method is nearest to the frontier, how far RWS is, and how far the method of most reward is."""
    distances = distances_of(arms, frontiers, world) if WORLDS[world].exact else {}
    if not distances:
        return []
    regrets = {arm: frame["regret"].to_numpy(dtype=float) for arm, frame in arms.items()}
    nearest = min((arm for arm in regrets if np.isfinite(regrets[arm]).all()), key=lambda arm: regrets[arm].mean())
    least = mean_interval(regrets[nearest], np.random.default_rng(0), resamples=1999)
    lines = [
        f"Of all {len(arms)} arms in {WORLDS[world].model}, {_title(nearest)} is nearest to the frontier of log p and "
        f"reward: {_span(least, 1)} nats below it."
    ]
    using = [arm for arm in distances if METHODS[arm.method].kind == "reward"]
    told = [arm for arm in distances if arm.method == "rws" and not arm.sampling_temperature]
    if using:
        told.append(max(using, key=lambda arm: float(arms[arm]["reward"].mean())))
    for arm in told:
        distance = distances[arm]
        lines.append(
            f"{_title(arm)}: at equal reward its log p is {_span(distance.log_prob, 1)} nats below the best. At equal "
            f"log p there is a text with {_span(distance.least, 2)} deviations more reward."
        )
    return lines


def best_table(arms: Mapping[Arm, pd.DataFrame], frontiers: pd.DataFrame, world: str) -> Table:
    """Return the distances as a table."""
    distances = distances_of(arms, frontiers, world) if WORLDS[world].exact else {}
    names = ("log p below the best at equal reward, nats", "more reward at equal log p, at least, deviations")
    names = (*names, "at most, deviations")
    rows = [
        {"method": _title(arm)}
        | {f"{name}{end}": value for name, interval in zip(names, distance, strict=True)
           for end, value in zip(("", " low", " high"), interval, strict=True)}
        for arm, distance in distances.items()
    ]  # fmt: skip
    shown = [
        {"method": _title(arm)}
        | {name: _span(interval, 1 if name == names[0] else 2) for name, interval in zip(names, distance, strict=True)}
        for arm, distance in distances.items()
    ]
    caption = (
        f"{world}: how far texts are from the best that the reward allows, means with 95 % BCa intervals over prompts. "
        "At equal reward: the log p that no text of at least that reward exceeds, less the text's own. At equal log p: "
        "a text that is no less likely has this much more reward, and none has more than the last column."
    )
    return Table(f"evidence_best_{WORLDS[world].model}", rows, shown, caption)


def _title(arm: Arm) -> str:
    return arm_title(arm.method, arm.number, arm.sampling_temperature > 0)


def _span(interval: Interval, digits: int) -> str:
    if not np.isfinite(interval).all():  # all are equal, and nothing bounds another's
        return f"{interval.mean:.{digits}f} (in every prompt)"
    mean, low, high = (f"{round(end, digits) + 0.0:.{digits}f}" for end in interval)
    return f"{mean} [{low}, {high}]"
