"""Quality per forward: what each method's answers are worth, against the forwards and reward calls that they took.

Shows: for each world of the evidence study, two measures of quality against forwards and reward calls, every arm.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from paper_figures.exhibits.evidence import (
    MEASURES,
    Places,
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
from paper_figures.exhibits.evidence_looks import legend_of, limits_of, scatter
from paper_figures.exhibits.exhibit import Exhibit, Picture, Story
from paper_figures.exhibits.labels import Label, place_labels
from paper_figures.exhibits.style import GREY, figure, panel_title
from paper_figures.recorded import Recorded
from paper_figures.statistics.intervals import Interval
from paper_figures.studies.design.evidence_arms import WORLDS, Arm
from paper_figures.table import Column, Table, make_table

NEEDS: tuple[str, ...] = ()
_TICKS = (8, 16, 32, 64, 128, 256, 512, 1024)


@dataclass(frozen=True, eq=False)
class Costs:
    """For each world: each arm's mean forwards, and its mean forwards and reward calls; its two measures of quality.

    places: (world, measure) -> where the arms lie by forwards and reward calls, and by the measure: the exact one of
    the world, and the guide's reward.
    """

    evidence: Recorded
    costs: Mapping[str, Mapping[Arm, tuple[float, float]]]
    places: Mapping[tuple[str, str], Places]


def compute(runs: Path) -> Costs:
    """Read the study; draws of the exact tilt, which take no forward, are left out. MissingRun without results."""
    evidence = evidence_of(runs)
    costs: dict[str, dict[Arm, tuple[float, float]]] = {}
    places: dict[tuple[str, str], Places] = {}
    for world in worlds_in(evidence):
        arms = {arm: frame for arm, frame in arms_of(evidence, world).items() if arm.method != "tilt-sample"}
        means = {arm: frame[["forwards", "reward_calls"]].astype(float).mean() for arm, frame in arms.items()}
        if means:
            costs[world] = {arm: (float(mean["forwards"]), float(mean.sum())) for arm, mean in means.items()}
            for name in (quality_of(world), "reward_sd"):
                levels = {arm: interval_of(frame, name) for arm, frame in arms.items()}
                places[world, name] = {
                    arm: (Interval(*[costs[world][arm][1]] * 3), level) for arm, level in levels.items() if level
                }
    return Costs(evidence, costs, places)


def draw(data: Costs) -> Figure:
    """Draw a row of panels for each world, its two measures against forwards and reward calls."""
    picture = figure(7.6, 0.8 + 3.1 * len(data.costs))
    panels = picture.subplots(len(data.costs), 2, squeeze=False).flat
    labels: dict[Axes, list[Label]] = {}
    for axes, ((world, measure), places) in zip(panels, data.places.items(), strict=True):
        labels[axes] = _panel(axes, places, measure)
        panel_title(axes, f"{WORLDS[world].model}: {MEASURES[measure].title}")
        axes.set_xlabel("forwards and reward calls per answer")
        axes.set_ylabel(MEASURES[measure].unit)
    legend_of(picture, [arm for costs in data.costs.values() for arm in costs], 3)
    place_labels(picture, labels)
    return picture


def _panel(axes: Axes, places: Places, measure: str) -> list[Label]:
    """Draw one measure of a world; return the labels of RWS and of arms that no arm of less cost equals."""
    best = _best(places)

    def named(arm: Arm) -> str:
        return title_of(arm) if arm in best or (arm.method == "rws" and not arm.sampling_temperature) else ""

    axes.set_xscale("log")
    axes.set_xticks(_TICKS, [str(tick) for tick in _TICKS])
    axes.xaxis.set_minor_locator(NullLocator())
    labels = scatter(axes, places, named, None if measure == "reward_sd" else limits_of(places))
    if best:
        steps = [(places[arm][0].mean, places[arm][1].mean) for arm in best]
        steps.append((1.1 * max(cost.mean for cost, _ in places.values()), steps[-1][1]))
        for (left, level), (right, _) in pairwise(steps):  # labels leave the steps free
            labels += [Label(x, level, "", GREY) for x in np.geomspace(left, right, 12)]
        axes.step(*zip(*steps, strict=True), where="post", color=GREY, linewidth=0.9, zorder=1)
        axes.set_xlim(0.9 * min(cost.mean for cost, _ in places.values()), steps[-1][0])
    return labels


def _best(places: Places) -> list[Arm]:
    """Return the arms whose mean no arm of at most their cost equals, by rising cost."""
    best: list[Arm] = []
    for arm in sorted(places, key=lambda arm: (places[arm][0].mean, -places[arm][1].mean)):
        if not best or places[arm][1].mean > places[best[-1]][1].mean:
            best.append(arm)
    return best


def _table(data: Costs) -> Table:
    rows, columns = [], [Column("world"), Column("arm"), Column("forwards", form=".1f")]
    columns.append(Column("forwards and reward calls", form=".1f"))
    fields = {}
    for name in ("log_p_word", "coherent", "reward_sd"):
        title = f"{MEASURES[name].title}, {MEASURES[name].unit}"
        fields[name] = title, f"{title}, low", f"{title}, high"
        columns.append(Column(title, form=".2f", ends=fields[name][1:]))
    for world, costs in data.costs.items():
        for arm, (forwards, cost) in sorted(costs.items(), key=lambda item: item[1][1]):
            row: dict[str, Any] = {"world": world, "arm": title_of(arm), "forwards": forwards}
            row["forwards and reward calls"] = cost
            for name, ends in fields.items():
                _, level = data.places.get((world, name), {}).get(arm, (None, None))
                row |= dict(zip(ends, level or (None,) * 3, strict=True))
            rows.append(row)
    return make_table("quality_per_forward", rows, columns, "Every arm by cost, with 95 % intervals over prompts.")


def exhibit(runs: Path) -> Exhibit:
    """Return the figure of quality per forward."""
    data, title = compute(runs), "Quality per forward"
    if not data.costs:
        return Exhibit(title, conclusions=("The results have no arm that took forwards.",), inputs=inputs_of(runs))
    caption = (
        "Quality against cost: the forwards and reward calls of an answer, of all copies of a method. Grey steps: the "
        "best mean of no greater cost, chosen on the same prompts and named. RWS below the steps: another method "
        "is at least as cheap and has a higher mean. Draws of the exact tilt take no forward and are left out. "
        "Hollow: tokens are drawn; half-filled: one token a step. Bars: 95 % intervals over prompts. A point far below "
        f"is named at the lower edge, with its value. {source_line(data.evidence)}"
    )
    alt = "Quality against forwards and reward calls per answer, two panels for each world, a marker for each method."
    chosen = {world: chosen_scale(data.evidence, world) for world in data.costs}
    among = [chosen[world] in _best(places) for (world, _), places in data.places.items() if chosen[world] in places]
    first, count = sum(among), len(among)
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
        (Picture("quality_per_forward", draw(data), caption, alt),),
        (_table(data),),
        conclusions=(said,),
        inputs=inputs_of(runs),
        story=story if count else None,
    )
