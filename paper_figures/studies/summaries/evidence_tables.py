"""Make the evidence study's tables: every arm with its cost, and how far it is from the best."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from paper_figures.statistics.intervals import Interval, exact_share, mean_interval
from paper_figures.studies.design.evidence_arms import METHODS, WORLDS, Arm
from paper_figures.studies.summaries.evidence import arm_title
from paper_figures.studies.summaries.evidence_comparisons import RESAMPLES, difference_interval
from paper_figures.studies.summaries.evidence_measures import (
    MEASURES,
    arms_of,
    deviation_of,
    measures_of,
    scores_of,
    worlds_of,
)
from paper_figures.table import Table

_SHOWN = ("default", "rws", "lookahead", "tilt-decode", "particles", "best-of")  # beside the frontier
_SLACK = 1e-9  # nats
_ENDS = ("", " low", " high")


def arm_tables(answers: pd.DataFrame) -> list[Table]:
    """Return a table for each world: a row for each arm with means and 95 % intervals over the test prompts.

    Rewards are in the guide's deviations from its own mean. Net win rates are against the greedy default, in points.
    """
    return [_arm_table(answers, world) for world in worlds_of(answers)]


def _arm_table(answers: pd.DataFrame, world: str) -> Table:
    arms, methods = arms_of(answers, world), list(METHODS)
    default = arms.get(Arm("default"))
    rows, shown = [], []
    for arm in sorted(
        arms, key=lambda arm: (arm.sampling_temperature, arm.one_by_one, methods.index(arm.method), arm.number or 0)
    ):
        frame = arms[arm]
        number = None if arm.method == "better-scale" else arm.number  # both scales are fixed
        title = arm_title(arm.method, number, arm.sampling_temperature > 0, arm.one_by_one)
        cells = _means(frame, world) | _nets(frame, default, world)
        costs = {name: float(frame[name].mean()) for name in ("forwards", "reward_calls")}
        numbers: dict[str, Any] = {"method": title, "prompts": len(frame)}
        for name, (interval, _) in cells.items():
            ends = interval or Interval(np.nan, np.nan, np.nan)
            numbers |= {f"{name}{end}": _or_none(value) for end, value in zip(_ENDS, ends, strict=True)}
        rows.append(numbers | costs)
        texts = {name: interval and _span(interval, digits) for name, (interval, digits) in cells.items()}
        shown.append({"method": title, **texts, **{n.replace("_", " "): f"{c:.3g}" for n, c in costs.items()}})
    count = max(map(len, arms.values()), default=0)
    caption = (
        f"{world}: every arm on the same {count} prompts, mean with 95 % interval (BCa of means, exact of shares, "
        "Tango's score interval of net win rates). Reward: in the guide's deviations from its mean text. Net win "
        "rates: against the greedy default, in points. GOD: tokens. "
        + ("Regret: nats below the best text of at least the same reward. " if WORLDS[world].tilts else "")
        + "Forwards and reward calls: of an answer, all copies counted."
    )
    setting = WORLDS[world]
    first = next(each for each in WORLDS.values() if each.model == setting.model)
    name = setting.model if setting == first else f"{setting.model}_{setting.reward}"
    return Table(f"evidence_{name}", rows, shown, caption)


def _means(frame: pd.DataFrame, world: str) -> dict[str, tuple[Interval | None, int]]:
    cells: dict[str, tuple[Interval | None, int]] = {}
    for name in measures_of(world):
        measure = MEASURES[name]
        if name.startswith("net"):
            continue
        values = scores_of(frame, world, name)
        label = f"{measure.title}, {'%' if measure.kind == 'share' else measure.unit}"
        if not np.isfinite(values).all():
            cells[label] = (None, 2)
        elif measure.kind == "share":
            share = exact_share(int(values.sum()), values.size)
            cells[label] = (Interval(*(measure.factor * end for end in share)), 1)
        else:
            cells[label] = (_mean(values), 2)
    if WORLDS[world].tilts:
        regret = frame["regret"].to_numpy(dtype=float)
        cells["regret, nats"] = (_mean(regret) if np.isfinite(regret).all() else None, 1)
    return cells


def _nets(frame: pd.DataFrame, default: pd.DataFrame | None, world: str) -> dict[str, tuple[Interval | None, int]]:
    cells: dict[str, tuple[Interval | None, int]] = {}
    for name in measures_of(world):
        if name.startswith("net"):
            compared = default is not None and frame is not default
            net = difference_interval((frame, default), world, name) if compared else None
            cells[MEASURES[name].title] = (net and Interval(*(100 * end for end in net)), 0)
    return cells


class Distance(NamedTuple):
    """How far texts lie from the most probable of their reward, as means with 95 % intervals over prompts.

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
    """Return how far an arm's texts are from the most probable; None where a prompt has no frontier."""
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
    return Distance(*(mean_interval(values, draws, resamples=RESAMPLES) for values in (regret, least, most)))


def best_table(arms: Mapping[Arm, pd.DataFrame], frontiers: pd.DataFrame, world: str) -> Table:
    """Return how far RWS and the methods that use the reward lie from the most probable texts, as a table."""
    kept = [arm for arm in arms if arm.method in _SHOWN and not arm.one_by_one and WORLDS[world].tilts]
    kept.sort(key=lambda arm: (arm.sampling_temperature, _SHOWN.index(arm.method), arm.number or 0))
    names = ("log p below the most probable at equal reward, nats", "more reward at equal log p, at least, deviations")
    names = (*names, "at most, deviations")
    rows: list[dict[str, Any]] = []
    shown: list[dict[str, Any]] = []
    for arm in kept:
        distance = distance_of(arms[arm], frontiers, world)
        if distance is not None:
            title = arm_title(arm.method, arm.number, arm.sampling_temperature > 0)
            rows.append({"method": title})
            shown.append({"method": title})
            for name, interval in zip(names, distance, strict=True):
                rows[-1] |= {f"{name}{end}": value for end, value in zip(_ENDS, interval, strict=True)}
                shown[-1] |= {name: _span(interval, 1 if name == names[0] else 2)}
    caption = (
        f"{world}: how far texts are from the most probable of their reward, means with 95 % intervals over prompts. "
        "At equal reward: the log p that no text of at least that reward exceeds, less the text's own. At equal log p: "
        "a text that is no less likely has this much more reward, and none has more than the last column."
    )
    return Table(f"evidence_best_{WORLDS[world].model}", rows, shown, caption)


def _mean(values: Any) -> Interval:
    return mean_interval(values, np.random.default_rng(0), resamples=RESAMPLES)


def _span(interval: Interval, digits: int) -> str:
    if not np.isfinite(interval).all():  # all are equal, and nothing bounds another's
        return f"{interval.mean:.{digits}f} in all"
    mean, low, high = (f"{round(end, digits) + 0.0:.{digits}f}" for end in interval)
    return f"{mean} [{low}, {high}]"


def _or_none(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
