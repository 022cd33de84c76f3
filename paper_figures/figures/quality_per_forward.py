"""Quality per forward: what each method's answers are worth, against the forwards and reward calls that they took.

Shows: for each world of the evidence study, two measures of quality against forwards and reward calls, every arm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator, ScalarFormatter

from paper_figures.exhibits.evidence import (
    MEASURES,
    arms_of,
    chosen_scale,
    evidence_of,
    inputs_of,
    interval_of,
    quality_of,
    source_line,
    title_of,
    worlds_in,
)
from paper_figures.exhibits.evidence_looks import FAMILIES, ends_of, short_of
from paper_figures.exhibits.exhibit import Exhibit, Picture, Story
from paper_figures.exhibits.labels import Label, place_labels
from paper_figures.exhibits.style import GREY, figure, panel_title
from paper_figures.recorded import Recorded
from paper_figures.statistics.intervals import Interval
from paper_figures.studies.design.evidence_arms import WORLDS, Arm
from paper_figures.table import Column, Table, make_table

NEEDS: tuple[str, ...] = ()
_FAR = {"log_p_word": 2.0}  # what lies further below the best stands at the lower edge
_OTHER = "#9a9a9a"
_TICKS = (8, 16, 32, 64, 128, 256, 512, 1024)


@dataclass(frozen=True, eq=False)
class Costs:
    """For each world: each arm's mean forwards, its mean forwards and reward calls, and its measures of quality."""

    evidence: Recorded
    costs: Mapping[str, Mapping[Arm, tuple[float, float]]]
    quality: Mapping[str, Mapping[Arm, Mapping[str, Interval]]]


def measures_of(world: str) -> tuple[str, str]:
    """Return the two measures of quality of a world: the exact one, and the guide's reward."""
    return quality_of(world), "reward_sd"


def compute(runs: Path) -> Costs:
    """Read the study; draws of the exact tilt, which take no forward, are left out. MissingRun without results."""
    evidence = evidence_of(runs)
    costs: dict[str, dict[Arm, tuple[float, float]]] = {}
    quality: dict[str, dict[Arm, dict[str, Interval]]] = {}
    for world in worlds_in(evidence):
        arms = {arm: frame for arm, frame in arms_of(evidence, world).items() if arm.method != "tilt-sample"}
        means = {
            arm: [float(frame[name].mean()) for name in ("forwards", "reward_calls")] for arm, frame in arms.items()
        }
        costs[world] = {arm: (forwards, forwards + calls) for arm, (forwards, calls) in means.items()}
        quality[world] = {
            arm: {name: interval for name in measures_of(world) if (interval := interval_of(frame, name))}
            for arm, frame in arms.items()
        }
    return Costs(evidence, {world: arms for world, arms in costs.items() if arms}, quality)


def draw(data: Costs) -> Figure:
    """Draw a row of panels for each world, its two measures against forwards and reward calls."""
    worlds = list(data.costs)
    picture = figure(7.6, 0.8 + 3.1 * len(worlds))
    panels = picture.subplots(len(worlds), 2, squeeze=False)
    labels: dict[Axes, list[Label]] = {}
    for row, world in zip(panels, worlds, strict=True):
        for axes, measure in zip(row, measures_of(world), strict=True):
            labels[axes] = _panel(axes, data, world, measure)
            panel_title(axes, f"{WORLDS[world].model}: {MEASURES[measure].title}")
            axes.set_xlabel("forwards and reward calls per answer")
    rws = FAMILIES["rws"]
    looks = [
        Line2D([], [], color=rws.color, marker=rws.marker, linestyle="none", label=rws.label),
        Line2D([], [], color=_OTHER, marker="o", linestyle="none", label="another method"),
    ]
    looks.append(Line2D([], [], color=GREY, linewidth=0.9, label="the best of no greater cost"))
    picture.legend(handles=looks, loc="outside lower center", ncols=3)
    place_labels(picture, labels)
    return picture


def _panel(axes: Axes, data: Costs, world: str, measure: str) -> list[Label]:
    """Draw one measure of a world; return the labels of RWS, the default, and arms that no arm of less cost equals."""
    labels = []
    best = _best(data, world, measure)
    floor = _floor(measure, [quality[measure] for quality in data.quality[world].values() if measure in quality])
    for arm, (_, cost) in data.costs[world].items():
        interval = data.quality[world][arm].get(measure)
        if interval is None:
            continue
        rws = arm.method == "rws"
        color = FAMILIES["rws"].color if rws else _OTHER
        if floor is not None and interval.mean < floor:
            text = f"{title_of(arm)}: {interval.mean:.2f} \N{DOWNWARDS ARROW}"
            labels.append(Label(cost, floor + 0.02, text, GREY))
            continue
        style: dict[str, Any] = {"marker": FAMILIES["rws"].marker if rws else "o", "markersize": 6 if rws else 4}
        style |= {"elinewidth": 0.8, "fillstyle": "none" if rws and arm.sampling_temperature else "full"}
        axes.errorbar(cost, interval.mean, yerr=ends_of(interval), color=color, zorder=4 if rws else 3, **style)
        named = arm == Arm("default") or (rws and not arm.sampling_temperature)
        text = title_of(arm) if arm in best else short_of(arm) if named else ""
        labels.append(Label(cost, interval.mean, text, color if rws else "#444444"))
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.xaxis.set_major_locator(FixedLocator(_TICKS))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_ylabel(MEASURES[measure].unit)
    if floor is not None:
        axes.set_ylim(bottom=floor)
    if best:
        steps = [(data.costs[world][arm][1], data.quality[world][arm][measure].mean) for arm in best]
        steps.append((1.1 * max(cost for _, cost in data.costs[world].values()), steps[-1][1]))
        for (left, level), (right, _) in pairwise(steps):  # labels leave the steps free
            labels += [Label(x, level, "", GREY) for x in np.geomspace(left, right, 12)]
        axes.step(*zip(*steps, strict=True), where="post", color=GREY, linewidth=0.9, zorder=1)
    return labels


def _floor(measure: str, intervals: Sequence[Interval]) -> float | None:
    """Return a lower limit of y where means lie so far below the best that they squeeze the rest; None if none do."""
    means = [interval.mean for interval in intervals]
    floor = max(means, default=0.0) - _FAR.get(measure, float("inf"))
    return floor if means and min(means) < floor else None


def _best(data: Costs, world: str, measure: str) -> list[Arm]:
    """Return the arms whose mean no arm of at most their cost equals, by rising cost."""
    arms = [arm for arm in data.costs[world] if measure in data.quality[world][arm]]
    best: list[Arm] = []
    for arm in sorted(arms, key=lambda arm: (data.costs[world][arm][1], -data.quality[world][arm][measure].mean)):
        if not best or data.quality[world][arm][measure].mean > data.quality[world][best[-1]][measure].mean:
            best.append(arm)
    return best


def _first_places(data: Costs) -> tuple[int, int]:
    """Return how often, by world and measure, chosen RWS has the best mean of no greater cost, and of how many."""
    first = count = 0
    for world, costs in data.costs.items():
        rws = chosen_scale(data.evidence, world)
        if rws is None or rws not in costs:
            continue
        for measure in measures_of(world):
            cheap = [arm for arm in costs if costs[arm][1] <= costs[rws][1] and measure in data.quality[world][arm]]
            first += max(cheap, key=lambda arm: data.quality[world][arm][measure].mean) == rws
            count += 1
    return first, count


def _table(data: Costs) -> Table:
    rows, columns = [], [Column("world"), Column("arm"), Column("forwards", form=".1f")]
    columns.append(Column("forwards and reward calls", form=".1f"))
    for name in ("log_p_word", "coherent", "reward_sd"):
        title = f"{MEASURES[name].title}, {MEASURES[name].unit}"
        columns.append(Column(title, form=".2f", ends=(f"{title}, low", f"{title}, high")))
    for world, costs in data.costs.items():
        for arm, (forwards, cost) in sorted(costs.items(), key=lambda item: item[1][1]):
            row = {"world": world, "arm": title_of(arm), "forwards": forwards, "forwards and reward calls": cost}
            for column, name in zip(columns[4:], ("log_p_word", "coherent", "reward_sd"), strict=True):
                fields = (column.label, *(column.ends or ()))
                row |= dict(zip(fields, data.quality[world][arm].get(name) or (None,) * 3, strict=True))
            rows.append(row)
    caption = "Every arm by cost, with 95 % intervals over prompts."
    return make_table("quality_per_forward", rows, columns, caption)


def exhibit(runs: Path) -> Exhibit:
    """Return the figure of quality per forward."""
    data, title = compute(runs), "Quality per forward"
    if not data.costs:
        return Exhibit(title, conclusions=("The results have no arm that took forwards.",), inputs=inputs_of(runs))
    caption = (
        "Quality against cost: the forwards and reward calls of an answer, of all copies of a method. Grey steps: the "
        "best mean of no greater cost, chosen on the same prompts and named. RWS below the steps: another method "
        "is at least as cheap and has a higher mean. Draws of the exact tilt take no forward and are left out. "
        "Hollow: tokens are drawn. Bars: 95 % intervals over prompts. A point far below is named at the lower edge, "
        "with its value. "
        f"{source_line(data.evidence)}"
    )
    alt = "Panels of quality against forwards and reward calls per answer, for " + " and ".join(
        f"{WORLDS[world].model} ({len(arms)} arms)" for world, arms in data.costs.items()
    )
    first, count = _first_places(data)
    said = (
        f"In {first or 'none'} of {count} comparisons, by world and measure, RWS at the scale chosen for it has "
        "the best mean among arms of no more forwards and reward calls."
    )
    story = Story(
        f"In {first} of {count} worlds and measures RWS has the highest mean among methods of no greater cost."
        if first
        else "In each world and measure, some method of no greater cost has a higher mean than RWS.",
        (said,),
        "The best is chosen among many methods on the same prompts. A reward call costs as much as a forward here; "
        "that depends on the reward model.",
        "quality_per_forward",
    )
    return Exhibit(
        title,
        (Picture("quality_per_forward", draw(data), caption, f"{alt}."),),
        (_table(data),),
        conclusions=(said,),
        inputs=inputs_of(runs),
        story=story if count else None,
    )
