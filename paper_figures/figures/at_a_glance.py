"""Three small figures that the page begins with: the frontier of laws, RWS minus its controls, and the paper's Table 8.

Shows: what samplers gain for their distance from exact English; RWS minus each control without its reward, in margins
of equivalence, with 95 % intervals; GOD against perplexity as the paper prints them.
Inputs: the studies evidence and laws below RUNS, else the records that ship; the printed Table 8.
Run time: half a minute, shared with the exhibits of the same study.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from paper_figures.exhibits.evidence import chosen_scale, evidence_of, inputs_of
from paper_figures.exhibits.exhibit import Exhibit, Picture, Story
from paper_figures.exhibits.labels import place_labels
from paper_figures.exhibits.paper_beside_ours import printed_range
from paper_figures.exhibits.sentences import sentences
from paper_figures.exhibits.style import GREY, figure
from paper_figures.figures import law_frontier
from paper_figures.figures.law_frontier import WORLD, Laws
from paper_figures.figures.table8_pattern import draw_printed
from paper_figures.recorded import Recorded
from paper_figures.studies.design.evidence_arms import CONTROLS, METHODS, WORLDS
from paper_figures.studies.summaries.evidence_answers import MADE, address_answer, reward_answer
from paper_figures.studies.summaries.evidence_comparisons import Comparison, comparisons_of, main_measures
from paper_figures.studies.summaries.evidence_measures import MEASURES
from rws_decode.common.palette import AMBER, BLUE, GREEN, PURPLE, SKY
from rws_theory.printed import printed_in

NEEDS: tuple[str, ...] = ()  # the record ships with the package
_SIZE = 4.5, 4.0  # inches of each figure
_MARKS = {"constant": ("^", GREEN), "schedule": ("P", SKY), "swapped": ("d", PURPLE)}
_MARKS |= {"shuffled": ("o", AMBER), "flipped": ("v", BLUE), "random": ("s", GREY)}


@dataclass(frozen=True)
class Glance:
    """What is drawn: the evidence study's results, the frontier of laws, and RWS minus its controls."""

    evidence: Recorded
    laws: Laws
    comparisons: tuple[Comparison, ...]


def compute(runs: Path) -> Glance:
    """Read the study; MissingRun if there is neither a run nor a record."""
    evidence = evidence_of(runs)
    rows = with_controls(comparisons_of(evidence), CONTROLS)
    return Glance(evidence, law_frontier.compute(runs), rows)


def with_controls(rows: Sequence[Comparison], controls: Sequence[str] = MADE) -> tuple[Comparison, ...]:
    """Return RWS minus the controls that are made from it, by main measures, where intervals end.

    The usual ones exist at every s_R; `CONTROLS` adds those of one s_R: shuffled, turned and random rewards.
    """
    return tuple(
        row
        for row in rows
        if row.arm.method in controls
        and row.measure in main_measures(row.world)
        and np.isfinite([row.low, row.high]).all()
    )


def draw(data: Glance) -> tuple[Figure, Figure, Figure]:
    """Draw the frontier of laws, the forest of controls, and the printed Table 8."""
    return law_frontier.draw(data.laws, _SIZE), draw_controls(data.comparisons), _table8()


def draw_controls(rows: Sequence[Comparison], size: tuple[float, float] = _SIZE) -> Figure:
    """Draw RWS minus each control of `with_controls` in margins of equivalence, with intervals; size in inches."""
    picture = figure(*size)
    axes = picture.subplots()
    settings = list(dict.fromkeys((row.world, row.drawn, row.measure, row.scale) for row in rows))
    shown = {method: mark for method, mark in _MARKS.items() if method in {row.arm.method for row in rows}}
    apart = 0.78 / max(len(shown), 1)
    axes.axvspan(-1, 1, color="#d9e6f2", zorder=0, linewidth=0)
    axes.axvline(0, color=GREY, linewidth=1.0)
    for row in rows:
        beside = apart * (list(shown).index(row.arm.method) - (len(shown) - 1) / 2)
        height = settings.index((row.world, row.drawn, row.measure, row.scale)) + beside
        middle, low, high = (value / row.margin for value in (row.difference, row.low, row.high))
        marker, color = _MARKS[row.arm.method]
        real = row.verdict.startswith("RWS")
        axes.errorbar(
            middle,
            height,
            xerr=[[max(middle - low, 0.0)], [max(high - middle, 0.0)]],
            marker=marker,
            markersize=4.5,
            markerfacecolor=color if real else "white",
            color=color,
            elinewidth=0.9,
            linestyle="none",
        )
    names = [
        f"{WORLDS[world].model}: {_MEASURE.get(measure, MEASURES[measure].title)}, s_R {scale:g}"
        f"{', drawn' if drawn else ''}"
        for world, drawn, measure, scale in settings
    ]
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("\N{LEFTWARDS ARROW} RWS less    [margins]    RWS more \N{RIGHTWARDS ARROW}")
    looks: list[Line2D | Patch] = [
        Line2D([], [], marker=marker, color=color, linestyle="none", markersize=5, label=_CONTROL[method])
        for method, (marker, color) in shown.items()
    ]
    looks.append(Patch(color="#d9e6f2", label="equivalent"))
    picture.legend(handles=looks, loc="outside lower center", ncols=2, fontsize=8)
    return picture


_MEASURE = {"net mini-judge": "wins", "coherent": "coherent"}
_CONTROL = {"constant": "its mean factor", "schedule": "its mean factor by step", "swapped": "another prompt's rewards"}
_CONTROL |= {"shuffled": "its rewards, shuffled", "flipped": "its reward's sign turned", "random": "random rewards"}


def _table8() -> Figure:
    picture = figure(*_SIZE)
    axes = picture.subplots()
    labels = draw_printed(axes)
    axes.set_ylabel("perplexity, as printed")
    axes.set_xlabel("GOD, as printed  [0: left to right]")
    place_labels(picture, {axes: labels})
    return picture


def exhibit(runs: Path) -> Exhibit:
    """Return the three figures, and the finding in a sentence."""
    data, title, inputs = compute(runs), "At a glance", (*inputs_of(runs), *inputs_of(runs, "laws"))
    claim = reward_answer(data.comparisons)
    if not claim:
        return Exhibit(title, conclusions=("The results have no runs of RWS with its controls.",), inputs=inputs)
    say = _say(data)
    laws, *drawn = draw(data)
    pictures = [Picture("glance_frontier", laws, law_frontier.caption_of(data.laws), law_frontier.ALT)]
    for name, each in zip(("controls", "table8"), drawn, strict=True):
        pictures.append(Picture(f"glance_{name}", each, say(f"{name}_caption"), say(f"{name}_alt")))
    address = address_answer(comparisons_of(data.evidence))
    text = filter(None, (law_frontier.headline(data.laws), say("gain"), address))
    said = Story(claim, tuple(text), "", pictures[0].stem)
    return Exhibit(title, tuple(pictures), conclusions=(claim,), inputs=inputs, story=said)


def _say(data: Glance) -> Callable[[str], str]:
    """Return what fills in the blocks of at_a_glance.j2."""
    evidence, rows = data.evidence, data.comparisons
    rws = chosen_scale(evidence, WORLD)
    gains = [
        row
        for row in comparisons_of(evidence)
        if (row.world, row.drawn, row.measure, row.arm.one_by_one) == (WORLD, False, "reward", False)
    ]
    against = {row.arm.method: row for row in gains if rws is not None and row.scale == rws.number}
    greatest = max((row for row in gains if row.arm.method == "default"), key=lambda row: row.scale, default=None)
    scales: dict[str, set[float]] = {}
    for row in rows:
        scales.setdefault(row.arm.method, set()).add(row.scale)
    printed = {row["scale"]: row for row in printed_in("table8_temperature")["rows"]}
    default = printed_range("GOD of the default")[0]
    both = [c for c, row in printed.items() if row["god"] > default and row["perplexity"] < printed[1.0]["perplexity"]]
    return sentences(
        "at_a_glance",
        model=WORLDS[WORLD].model,
        against=against if {"default", "constant"} <= against.keys() else None,
        greatest=greatest,
        controls=[METHODS[name].title for name in scales],
        single=[min(of) for of in scales.values() if len(of) == 1],
        margins=[row.difference / row.margin for row in rows],
        printed=printed,
        default=default,
        both=both,
    )
