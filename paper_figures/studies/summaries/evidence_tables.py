"""Make the evidence study's tables: every arm with its means, intervals and cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from paper_figures.statistics.intervals import Interval
from paper_figures.studies.design.evidence_arms import METHODS, WORLDS, Arm
from paper_figures.studies.summaries.evidence import title_of
from paper_figures.studies.summaries.evidence_comparisons import difference_interval
from paper_figures.studies.summaries.evidence_measures import (
    MEASURES,
    arms_of,
    interval_of,
    measures_of,
    scores_of,
    worlds_of,
)
from paper_figures.table import Table

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
        # Both scales of the better one are fixed.
        title = title_of(arm._replace(number=None) if arm.method == "better-scale" else arm)
        cells = _means(frame, world) | _nets(frame, default, world)
        costs = {name: float(frame[name].mean()) for name in ("forwards", "reward_calls")}
        numbers: dict[str, Any] = {"method": title, "prompts": len(frame)}
        for name, (interval, _) in cells.items():
            ends = interval or Interval(np.nan, np.nan, np.nan)
            known = (float(value) if np.isfinite(value) else None for value in ends)
            numbers |= {f"{name}{end}": value for end, value in zip(_ENDS, known, strict=True)}
        rows.append(numbers | costs)
        texts = {name: interval and _span(interval, digits) for name, (interval, digits) in cells.items()}
        shown.append({"method": title, **texts, **{n.replace("_", " "): f"{c:.3g}" for n, c in costs.items()}})
    count = max(map(len, arms.values()), default=0)
    caption = (
        f"{world}: every arm on the same {count} prompts, mean with 95 % interval (ABC of means, exact of shares, "
        "Tango's of net win rates, or over distinct pairs of texts where these repeat). Reward: in the guide's "
        "deviations from its mean text. Net win rates: against the greedy default, in points. GOD: tokens. "
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
            cells[label] = (Interval(*(measure.factor * end for end in interval_of(values, "share"))), 1)
        else:
            cells[label] = (interval_of(values, "mean"), 2)
    if WORLDS[world].tilts:
        regret = frame["regret"].to_numpy(dtype=float)
        cells["regret, nats"] = (interval_of(regret, "mean") if np.isfinite(regret).all() else None, 1)
    return cells


def _nets(frame: pd.DataFrame, default: pd.DataFrame | None, world: str) -> dict[str, tuple[Interval | None, int]]:
    cells: dict[str, tuple[Interval | None, int]] = {}
    for name in measures_of(world):
        if name.startswith("net"):
            net = None
            if default is not None and frame is not default:
                net = difference_interval((frame, default), world, name)
            cells[MEASURES[name].title] = (net and Interval(*(100 * end for end in net)), 0)
    return cells


def _span(interval: Interval, digits: int) -> str:
    if not np.isfinite(interval).all():  # all are equal, and nothing bounds another's
        return f"{interval.mean:.{digits}f} in all"
    mean, low, high = (f"{round(end, digits) + 0.0:.{digits}f}" for end in interval)
    return f"{mean} [{low}, {high}]"
