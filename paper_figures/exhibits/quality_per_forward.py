"""Quality per forward: what each method's answers are worth, against the forwards and reward calls that they took.

Shows: for each model and reward of the evidence study, two measures of quality against forwards and reward calls.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from paper_figures.exhibits.shared import evidence
from paper_figures.exhibits.shared.evidence import (
    MEASURES,
    Placed,
    Places,
    arms_of,
    legend_of,
    limits_of,
    quality_of,
    scatter,
)
from paper_figures.exhibits.shared.exhibit import (
    GREY,
    Exhibit,
    Label,
    Picture,
    Story,
    figure,
    panel_title,
    place_labels,
)
from paper_figures.statistics.intervals import Interval
from paper_figures.studies.evidence_arms import WORLDS, Arm, title_of, worlds_of
from paper_figures.table import Column, Table, make_table

NEEDS: tuple[str, ...] = ()
_TICKS = (8, 16, 32, 64, 128, 256, 512, 1024)


def compute(runs: Path) -> Placed:
    """Return `(world, measure)` -> the place of each arm, by an answer's forwards and reward calls and by the measure.

    Exact samples of p exp(beta R) / Z, which take no forward, are left out. MissingRun without results.
    """
    record, places = evidence.evidence_of(runs), {}
    for world in worlds_of(record.answers):
        arms = {arm: frame for arm, frame in arms_of(record, world).items() if arm.method != "tilt-sample"}
        costs = {arm: frame[["forwards", "reward_calls"]].astype(float).mean().sum() for arm, frame in arms.items()}
        for name in (quality_of(world), "reward_sd") if arms else ():
            levels = {arm: evidence.interval_of(frame, name) for arm, frame in arms.items()}
            places[world, name] = {arm: (Interval(*[costs[arm]] * 3), level) for arm, level in levels.items() if level}
    return Placed(record, places)


def draw(data: Placed) -> Figure:
    """Draw a row of panels for each model and reward, its two measures against forwards and reward calls."""
    rows = len(data.places) // 2
    picture = figure(7.6, 0.8 + 3.1 * rows)
    panels = picture.subplots(rows, 2, squeeze=False).flat
    labels: dict[Axes, list[Label]] = {}
    for axes, ((world, measure), places) in zip(panels, data.places.items(), strict=True):
        labels[axes] = _panel(axes, places, measure)
        panel_title(axes, f"{WORLDS[world].model}: {MEASURES[measure].title}")
        axes.set_xlabel("forwards and reward calls per answer")
        axes.set_ylabel(MEASURES[measure].unit)
    legend_of(picture, data.arms, 3)
    place_labels(picture, labels)
    return picture


def _panel(axes: Axes, places: Places, measure: str) -> list[Label]:
    """Draw one measure of a model; return the labels of RWS and of arms that no arm of less cost equals."""
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


def _table(data: Placed) -> Table:
    titles = {name: MEASURES[name].heading for name in ("log_p_word", "coherent", "reward_sd")}
    rows = []
    for world in dict.fromkeys(world for world, _ in data.places):
        arms = arms_of(data.evidence, world)
        for arm, (cost, _) in sorted(data.places[world, "reward_sd"].items(), key=lambda item: item[1][0].mean):
            row = {"world": world, "arm": title_of(arm), "forwards": float(arms[arm]["forwards"].astype(float).mean())}
            row["forwards and reward calls"] = cost.mean
            for name, title in titles.items():
                row |= evidence.fields_of(title, data.places.get((world, name), {}).get(arm, (None, None))[1])
            rows.append(row)
    columns = [Column("world"), Column("arm"), Column("forwards", form=".1f")]
    columns.append(Column("forwards and reward calls", form=".1f"))
    columns += [Column(title, form=".2f", ends=(f"{title}, low", f"{title}, high")) for title in titles.values()]
    return make_table("quality_per_forward", rows, columns, "Every arm by cost, with 95 % intervals over prompts.")


def exhibit(runs: Path) -> Exhibit:
    """Return the figure of quality per forward."""
    data, title, inputs = compute(runs), "Quality per forward", evidence.inputs_of(runs)
    if not data.places:
        return Exhibit(title, conclusions=("The results have no arm that took forwards.",), inputs=inputs)
    caption = (
        "Quality against cost: the forwards and reward calls of an answer, of all copies of a method. Grey steps: the "
        "best mean of no greater cost, chosen on the same prompts and named. RWS below the steps: another method "
        "is at least as cheap and has a higher mean. Samples of the exact reward-tilted distribution take no forward "
        "and are left out. Hollow: tokens are sampled; half-filled: one token a step. Bars: 95 % intervals over "
        f"prompts. A point far below is named at the lower edge, with its value. {evidence.source_line(data.evidence)}"
    )
    alt = "Quality against forwards and reward calls per answer, two panels for each model, a marker for each method."
    chosen = [(evidence.chosen_scale(data.evidence, world), places) for (world, _), places in data.places.items()]
    among = [rws in _best(places) for rws, places in chosen if rws in places]
    first, count = sum(among), len(among)
    summary = (
        f"In {first or 'none'} of {count} comparisons, by model and measure, RWS at the scale chosen for it has "
        "the best mean among arms of no more forwards and reward calls."
    )
    story = Story(
        f"In {first} of {count} models and measures RWS has the highest mean among methods of no greater cost."
        if first
        else "In each model and measure, some method of no greater cost has a higher mean than RWS.",
        (summary,),
        "The best is chosen among many methods on the same prompts. A reward call costs as much as a forward here; "
        "that depends on the reward model.",
        "quality_per_forward",
    )
    return Exhibit(
        title,
        (Picture("quality_per_forward", draw(data), caption, alt),),
        (_table(data),),
        conclusions=(summary,),
        inputs=inputs,
        story=story if count else None,
    )
