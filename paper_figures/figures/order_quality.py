"""Quality against order: is text better that is written less from left to right?

Shows: for each world of the evidence study, quality against GOD over orders of any kind, two tokens a step and one.
Inputs: the evidence study below RUNS, else the record that ships.
Run time: ten seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.exhibits.evidence import (
    MEASURES,
    arms_of,
    difference_of,
    evidence_of,
    inputs_of,
    interval_of,
    source_line,
    worlds_in,
)
from paper_figures.exhibits.evidence_looks import (
    FAMILIES,
    draw_arm,
    family_of,
    legend_of_families,
    path_of,
    title_of,
)
from paper_figures.exhibits.exhibit import Exhibit, Picture, Story
from paper_figures.exhibits.labels import Label, place_labels
from paper_figures.exhibits.style import figure, panel_title
from paper_figures.figures.parts.evidence_sentences import compared
from paper_figures.recorded import Recorded
from paper_figures.statistics.intervals import Interval
from paper_figures.studies.design.evidence_arms import WORLDS, Arm
from paper_figures.studies.summaries.evidence_answers import equal_orders, equal_sentence
from paper_figures.studies.summaries.evidence_comparisons import main_measures
from paper_figures.table import Table

NEEDS: tuple[str, ...] = ()
_FIXED = ("left-to-right", "window", "random-order")  # orders that do not follow confidence
_DRAWN = ("default", "temperature", "rws", "margin", *_FIXED)
_FAR = 2.0  # nats per word below the best: such points stand at the panel's edge, with their number


@dataclass(frozen=True, eq=False)
class Orders:
    """For each world: mean GOD and mean quality of each greedy arm whose order is drawn."""

    evidence: Recorded
    places: Mapping[str, Mapping[Arm, tuple[Interval, Interval]]]


def compute(runs: Path) -> Orders:
    """Read the study; MissingRun if there is neither a run nor a record."""
    evidence = evidence_of(runs)
    places = {
        world: {
            arm: (god, quality)
            for arm, frame in arms_of(evidence, world).items()
            if arm.method in _DRAWN and not arm.sampling_temperature
            if (god := interval_of(frame, "god_tokens")) and (quality := interval_of(frame, _measure(world)))
        }
        for world in worlds_in(evidence)
    }
    return Orders(evidence, {world: arms for world, arms in places.items() if arms})


def _measure(world: str) -> str:
    return "log_p_word" if WORLDS[world].exact else "coherent"


def draw(data: Orders) -> Figure:
    """Draw a row for each world: two tokens a step at the left, one at the right."""
    worlds = list(data.places)
    picture = figure(7.6, 1.0 + 3.0 * len(worlds))
    panels = picture.subplots(len(worlds), 2, squeeze=False, sharey="row", sharex=True)
    labels: dict[Axes, list[Label]] = {}
    for row, world in zip(panels, worlds, strict=True):
        for axes, one_by_one in zip(row, (False, True), strict=True):
            _panel(axes, {arm: at for arm, at in data.places[world].items() if arm.one_by_one == one_by_one})
            panel_title(axes, f"{WORLDS[world].model}, {'one token' if one_by_one else 'two tokens'} a step")
        row[0].set_ylabel(f"{MEASURES[_measure(world)].title}  [{MEASURES[_measure(world)].unit}]")
        labels |= _limits(row, data.places[world])
    for axes in panels[-1]:
        axes.set_xlabel("GOD  [tokens; 0: left to right]")
    families = {family_of(arm) for places in data.places.values() for arm in places}
    picture.legend(**legend_of_families(list(families)), loc="outside lower center", ncols=5)
    place_labels(picture, labels)
    return picture


def _panel(axes: Axes, places: Mapping[Arm, tuple[Interval, Interval]]) -> None:
    path = path_of(places, "temperature")
    if len(path) > 1:
        middle = [[places[arm][side].mean for arm in path] for side in (0, 1)]
        axes.plot(*middle, color=FAMILIES["temperature"].color, linewidth=1.0, zorder=2)
    for arm, (god, quality) in places.items():
        draw_arm(axes, arm, god, quality, label=None, zorder=4 if arm.method == "rws" else 3)


def _short(arm: Arm) -> str:
    names = {"default": "default", "margin": "margin", "left-to-right": "left to right", "random-order": "random"}
    if arm.method == "window":
        return f"window {arm.number:g}"
    return names.get(arm.method) or f"{'c' if arm.method == 'temperature' else 'RWS'} {arm.number:g}"


def _limits(row: Sequence[Axes], places: Mapping[Arm, tuple[Interval, Interval]]) -> dict[Axes, list[Label]]:
    """Set the limits of a row so that points far below all others do not squeeze it; return the labels of its panels.

    A point far below stands as a label at the lower edge, with its value.
    """
    if not places:
        return {}
    best = max(quality.mean for _, quality in places.values())
    near = [quality for _, quality in places.values() if quality.mean > best - _FAR]
    low, high = min(quality.low for quality in near), max(quality.high for quality in near)
    room = 0.12 * (high - low) or 0.1
    row[0].set_ylim(low - room, high + room)
    labels: dict[Axes, list[Label]] = {}
    for axes, one_by_one in zip(row, (False, True), strict=True):
        labels[axes] = []
        for arm, (god, quality) in places.items():
            if arm.one_by_one == one_by_one:
                below = quality.mean < low - room
                text = f"{_short(arm)}: {quality.mean:.2f} \N{DOWNWARDS ARROW}" if below else _short(arm)
                height = low - 0.8 * room if below else quality.mean
                labels[axes].append(Label(god.mean, height, text, FAMILIES[family_of(arm)].color))
    return labels


def _table(data: Orders) -> Table:
    rows, shown = [], []
    for world, places in data.places.items():
        name = MEASURES[_measure(world)]
        for arm, (god, quality) in sorted(places.items(), key=lambda item: item[1][0].mean):
            row = {
                "world": world,
                "arm": title_of(arm),
                "GOD, tokens": god.mean,
                "measure": f"{name.title}, {name.unit}",
            }
            row |= {"mean": quality.mean, "low": quality.low, "high": quality.high}
            rows.append(row)
            shown.append(
                {
                    **{key: row[key] for key in ("world", "arm")},
                    "GOD, tokens": f"{god.mean:.2f}",
                    "measure": row["measure"],
                    "mean": f"{quality.mean:.3f} [{quality.low:.3f}, {quality.high:.3f}]",
                }
            )
    return Table("order_quality", rows, shown, "Every order by rising GOD, with 95 % intervals over prompts.")


def _ends(data: Orders, world: str) -> str:
    """Return what a random order has more than left to right, two tokens a step and one."""
    arms, said = arms_of(data.evidence, world), []
    for one_by_one in (False, True):
        pair = [Arm(method, None, 0.0, one_by_one) for method in ("random-order", "left-to-right")]
        if all(arm in arms for arm in pair):
            difference = difference_of(arms[pair[0]], arms[pair[1]], _measure(world))
            if difference is not None:
                steps = "one token a step" if one_by_one else "two tokens a step"
                said.append(f"{steps} {compared(difference, 'more', 'less')}")
    name = MEASURES[_measure(world)]
    return (
        f"A random order against left to right in {WORLDS[world].model}, {name.title} in {name.unit}: "
        f"{'; '.join(said)}."
        if said
        else ""
    )


def _story(data: Orders) -> Story | None:
    """Return what the page says first: how many orders of equal GOD differ, and what neighbours do to each other."""
    for world in data.places:
        measure = main_measures(world)[-1]  # the quality of the text; the first is its reward
        equal = equal_orders(arms_of(data.evidence, world), world, measure)
        if equal is not None:
            break
    else:
        return None
    claim = (
        "Orders that are equally far from left to right differ in quality."
        if equal.apart
        else "Orders that are equally far from left to right show no difference in quality here."
    )
    caveat = "The orders are those that we chose; others could behave otherwise."
    said = (equal_sentence(equal, world, measure), _ends(data, world))
    return Story(claim, tuple(filter(None, said)), caveat, "order_quality")


def exhibit(runs: Path) -> Exhibit:
    """Return the figure of quality against order."""
    data, title = compute(runs), "Quality against order"
    if not data.places:
        return Exhibit(title, conclusions=("The results have no order to compare.",), inputs=inputs_of(runs))
    caption = (
        "Quality against Generation Order Deviation, whatever decides the order. The line joins the default (c = 1) "
        "and temperatures, which rank by confidence. Orders that are fixed or random write the tokens of greatest "
        "probability there. Windows: random among that many leftmost masks. Bars: 95 % intervals over prompts. A point "
        f"far below the others is named at the lower edge, with its value. {source_line(data.evidence)}"
    )
    lines = tuple(filter(None, (_ends(data, world) for world in data.places)))
    alt = "Quality against GOD. " + " ".join(
        f"{WORLDS[world].model}, {title_of(arm)}: GOD {god.mean:.1f}, {quality.mean:.2f}."
        for world, places in data.places.items()
        for arm, (god, quality) in places.items()
        if arm.method in ("default", *_FIXED) and not arm.one_by_one
    )
    return Exhibit(
        title,
        (Picture("order_quality", draw(data), caption, alt),),
        (_table(data),),
        conclusions=lines or ("The results have too few orders to compare.",),
        story=_story(data),
        inputs=inputs_of(runs),
    )
