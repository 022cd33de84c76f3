"""Quality against order: is text better if its order is further from left to right?

Shows: for each model and reward of the evidence study, quality against GOD over many orders, two tokens a step and one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.exhibits.shared import evidence
from paper_figures.exhibits.shared.evidence import (
    MEASURES,
    Placed,
    arms_of,
    legend_of,
    limits_of,
    placed,
    quality_of,
    scatter,
    short_of,
)
from paper_figures.exhibits.shared.exhibit import Exhibit, Label, Picture, Story, figure, panel_title, place_labels
from paper_figures.recorded.comparisons import compare_arms
from paper_figures.recorded.measures import MEASURES as COMPARED
from paper_figures.recorded.measures import main_measures
from paper_figures.studies.evidence_arms import METHODS, WORLDS, Arm, title_of
from paper_figures.table import Column, Table, make_table
from rws_decode.ablation.result import TwinComparison

if TYPE_CHECKING:
    import pandas

NEEDS: tuple[str, ...] = ()
_FIXED = ("left-to-right", "window", "random-order")  # orders that do not follow confidence
_DRAWN = ("default", "temperature", "rws", "margin", *_FIXED)


def compute(runs: Path) -> Placed:
    """Return mean GOD and mean quality of each greedy arm whose order is plotted."""
    return placed(runs, "god_tokens", quality_of, lambda arm: arm.method in _DRAWN and not arm.sampling_temperature)


def draw(data: Placed) -> Figure:
    """Draw a row for each model and reward: two tokens a step at the left, one at the right."""
    worlds = list(data.places)
    picture = figure(7.6, 1.0 + 3.0 * len(worlds))
    panels = picture.subplots(len(worlds), 2, squeeze=False, sharey="row", sharex=True)
    labels: dict[Axes, list[Label]] = {}
    for row, world in zip(panels, worlds, strict=True):
        places, limits = data.places[world], limits_of(data.places[world])
        for axes, one_by_one in zip(row, (False, True), strict=True):
            shown = {arm: place for arm, place in places.items() if arm.one_by_one == one_by_one}
            labels[axes] = scatter(axes, shown, _named, limits)
            panel_title(axes, f"{WORLDS[world].model}, {'one token' if one_by_one else 'two tokens'} a step")
        row[0].set_ylabel(f"{MEASURES[quality_of(world)].title}  [{MEASURES[quality_of(world)].unit}]")
    for axes in panels[-1]:
        axes.set_xlabel("GOD  [tokens; 0: left to right]")
    legend_of(picture, data.arms, 5)
    place_labels(picture, labels)
    return picture


def _named(arm: Arm) -> str:
    return "" if arm.method == "temperature" else short_of(arm)


def _table(data: Placed) -> Table:
    rows = [
        {"world": world, "arm": title_of(arm), "GOD, tokens": god.mean, "measure": f"{name.heading}"}
        | {"mean": quality.mean, "low": quality.low, "high": quality.high}
        for world, places in data.places.items()
        for name in (MEASURES[quality_of(world)],)
        for arm, (god, quality) in sorted(places.items(), key=lambda item: item[1][0].mean)
    ]
    columns = [Column("world"), Column("arm"), Column("GOD, tokens", form=".2f"), Column("measure")]
    columns.append(Column("mean", form=".3f", ends=("low", "high")))
    caption = "Every order by rising GOD, with 95 % intervals over prompts."
    return make_table("order_quality", rows, columns, caption)


@dataclass(frozen=True)
class EqualOrders:
    """Of how many orders how many pairs have equivalent GOD, and how many of these pairs differ in a measure.

    beyond: of those that differ, how many by more than the margin; others: how many have an order that is no scale of
    the logits.
    """

    orders: int
    pairs: int
    apart: int
    beyond: int
    others: int


def equal_orders(arms: Mapping[Arm, pandas.DataFrame], world: str, name: str) -> EqualOrders | None:
    """Return how many pairs of orders with equivalent GOD differ in a measure; None where no GOD is equivalent.

    The orders are of arms that commit the likeliest words, equally many a step. A factor on the logits leaves these as
    they are; copies, lookahead and reward-tilted models do not. Intervals of GOD hold for all pairs at once, and so do
    those of the measure. Two orders differ where the interval excludes 0.
    """
    greedy = [arm for arm in arms if not arm.sampling_temperature and not arm.one_by_one]
    orders = [arm for arm in greedy if METHODS[arm.method].kind in ("rws", "factor", "order")]
    every = list(combinations(orders, 2))

    def found_of(measure: str, pair: tuple[Arm, Arm]) -> TwinComparison | None:
        first, second = (arms[arm].reset_index() for arm in pair)
        both = compare_arms(first, second, world, measure, len(every))
        return both and both[0]

    god = {pair: found_of("god", pair) for pair in every}
    equal = {pair: found_of(name, pair) for pair, found in god.items() if found and found.verdict == "equivalent"}
    differ = {pair: found for pair, found in equal.items() if found and (found.low > 0 or found.high < 0)}
    beyond = sum(found.verdict in ("better", "worse") for found in differ.values())
    others = sum(any(METHODS[arm.method].kind == "order" for arm in pair) for pair in differ)
    return EqualOrders(len(orders), len(equal), len(differ), beyond, others) if equal else None


def equal_sentence(equal: EqualOrders, world: str, name: str) -> str:
    """Return in words how many pairs of orders with equivalent GOD differ in a measure."""
    return (
        f"In {WORLDS[world].model}, {equal.pairs} pairs of {equal.orders} orders have the same GOD within "
        f"±{COMPARED['god'].margin:g} tokens; {equal.apart or 'none'} of them differ in {COMPARED[name].title}, "
        f"{equal.beyond} by more than the margin (intervals that hold together for all pairs of orders). "
        f"{equal.apart - equal.others} of those that differ are of RWS, its controls and temperatures alone."
    )


def _story(data: Placed) -> Story | None:
    """Return what the page says first: how many orders of equal GOD differ, and what neighbours do to each other."""
    for world in data.places:
        measure = main_measures(world)[-1]  # the quality of the text; the first is its reward
        equal = equal_orders(arms_of(data.evidence, world), world, measure)
        if equal is not None:
            break
    else:
        return None
    claim = (
        "Orders that are equally far from left to right can differ in quality."
        if equal.apart
        else "Orders that are equally far from left to right show no difference in quality here."
    )
    related = "Most" if equal.others else "All"
    caveat = f"So GOD does not determine quality. {related} orders of these pairs are RWS and its relatives."
    return Story(claim, (equal_sentence(equal, world, measure),), caveat, "order_quality")


def exhibit(runs: Path) -> Exhibit:
    """Return the figure of quality against order."""
    data, title = compute(runs), "Quality against order"
    if not data.places:
        return Exhibit(title, conclusions=("The results have no order to compare.",), inputs=evidence.inputs_of(runs))
    caption = (
        "Quality against Generation Order Deviation, whatever decides the order. Points above each other differ in "
        "quality at one GOD. Temperatures are named in the table. Orders that are fixed or random write the tokens of "
        "greatest probability there. Windows: random among that many leftmost masks. Bars: 95 % intervals over "
        "prompts. A point far below the others is named at the lower edge, with its value. "
        f"{evidence.source_line(data.evidence)}"
    )
    story = _story(data)
    alt = (
        "Quality against GOD, a row of panels for each model, two tokens a step and one: the default, temperatures, "
        "RWS, and orders that are fixed or random."
    )
    return Exhibit(
        title,
        (Picture("order_quality", draw(data), caption, alt),),
        (_table(data),),
        conclusions=story.text if story else ("The results have too few orders to compare.",),
        story=story,
        inputs=evidence.inputs_of(runs),
    )
