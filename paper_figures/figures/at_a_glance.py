"""Three small figures that the page begins with: the frontier of laws, RWS minus its controls, and the paper's Table 8.

Shows: what samplers gain for their distance from exact English; RWS minus each control without its reward, in margins
of equivalence, with 95 % intervals; GOD against perplexity as the paper prints them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from paper_figures.exhibits.evidence import chosen_scale, evidence_of, inputs_of
from paper_figures.exhibits.evidence_looks import draw_table8, ends_of
from paper_figures.exhibits.exhibit import Exhibit, Picture, Story
from paper_figures.exhibits.labels import place_labels
from paper_figures.exhibits.paper_beside_ours import printed_range
from paper_figures.exhibits.style import GREY, figure, panel_title
from paper_figures.figures import law_frontier
from paper_figures.figures.law_frontier import WORLD
from paper_figures.recorded import Recorded
from paper_figures.recorded.verdicts import (
    MADE,
    Comparison,
    address_answer,
    comparisons_of,
    main_measures,
    reward_answer,
)
from paper_figures.statistics.intervals import Interval
from paper_figures.studies.evidence_arms import CONTROLS, MEASURES, METHODS, WORLDS
from rws_decode.common.palette import BLUE, VERMILION
from rws_theory.printed import printed_in

NEEDS: tuple[str, ...] = ()  # the record ships with the package
_SIZE = 4.5, 4.0  # inches of each figure


def with_controls(rows: Sequence[Comparison], controls: Sequence[str] = MADE) -> tuple[Comparison, ...]:
    """Return RWS minus the controls that are made from it, by main measures, where intervals end.

    The usual ones exist at every s_R; `CONTROLS` adds those of one s_R: shuffled, turned and random rewards.
    """
    main = [row for row in rows if row.arm.method in controls and row.measure in main_measures(row.world)]
    return tuple(row for row in main if np.isfinite([row.low, row.high]).all())


def draw_controls(rows: Sequence[Comparison], size: tuple[float, float] = _SIZE) -> Figure:
    """Draw RWS minus each control of `with_controls` in margins of equivalence, with intervals; size in inches.

    A panel has a world's measure, a row in it a control, and the row its settings by rising s_R, drawn tokens last.
    """
    picture = figure(*size)
    measures = list(dict.fromkeys((row.world, row.measure) for row in rows))
    controls = [method for method in _CONTROL if method in {row.arm.method for row in rows}]
    panels = picture.subplots(-(-len(measures) // 2), 2, sharex=True, sharey=True, squeeze=False).flat
    for axes, (world, measure) in zip(panels, measures, strict=False):
        panel_title(axes, f"{WORLDS[world].model}: {_MEASURE.get(measure, MEASURES[measure].title)}")
        axes.axvspan(-1, 1, color="#d9e6f2", zorder=0, linewidth=0)
        axes.axvline(0, color=GREY, linewidth=1.0)
        for height, method in enumerate(controls):
            one = [row for row in rows if (row.world, row.measure, row.arm.method) == (world, measure, method)]
            one.sort(key=lambda row: (row.drawn, row.scale))
            axes.axhline(height + 0.5, color="white", linewidth=1.5, zorder=0.5)
            for index, row in enumerate(one):
                interval = Interval(*(value / row.margin for value in (row.difference, row.low, row.high)))
                place = height + 0.64 * ((index + 0.5) / len(one) - 0.5)
                color = _REAL.get(row.verdict, "#8a8a8a")
                style: dict[str, Any] = {"marker": "o", "linestyle": "none", "markersize": 3.5, "elinewidth": 1.0}
                axes.errorbar(interval.mean, place, xerr=ends_of(interval), color=color, **style)
        axes.set_yticks(range(len(controls)), [_CONTROL[method] for method in controls], fontsize=8)
        axes.set_ylim(len(controls) - 0.45, -0.55)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="y", visible=False)
        axes.label_outer()
    picture.supxlabel("RWS minus the control  [margins of equivalence]", fontsize=9)
    dot: dict[str, Any] = {"marker": "o", "linestyle": "none", "markersize": 4.5}
    looks: list[Any] = [Line2D([], [], color=color, label=verdict, **dot) for verdict, color in _REAL.items()]
    looks.append(Patch(color="#d9e6f2", label="too small to matter"))
    picture.legend(handles=looks, loc="outside upper center", ncols=3, fontsize=8)
    return picture


_MEASURE = {"net mini-judge": "wins", "coherent": "coherent"}
_REAL = {"RWS more": VERMILION, "RWS less": BLUE}
_CONTROL = {"constant": "its mean factor", "schedule": "its mean by step", "swapped": "another prompt's"}
_CONTROL |= {"shuffled": "its own, shuffled", "flipped": "sign turned", "random": "random rewards"}


def _table8() -> Figure:
    picture = figure(*_SIZE)
    axes = picture.subplots()
    labels = draw_table8(axes)
    axes.set_ylabel("perplexity, as printed")
    axes.set_xlabel("GOD, as printed  [0: left to right]")
    place_labels(picture, {axes: labels})
    return picture


def exhibit(runs: Path) -> Exhibit:
    """Return the three figures, and the finding in a sentence."""
    evidence, title, inputs = evidence_of(runs), "At a glance", (*inputs_of(runs), *inputs_of(runs, "laws"))
    rows = with_controls(comparisons_of(evidence), CONTROLS)
    claim = reward_answer(rows)
    if not claim:
        return Exhibit(title, conclusions=("The results have no runs of RWS with its controls.",), inputs=inputs)
    say, laws = _say(evidence, rows), law_frontier.compute(runs)
    frontier = law_frontier.draw(laws, _SIZE)
    pictures = [Picture("glance_frontier", frontier, law_frontier.caption_of(laws), law_frontier.ALT)]
    for name, drawn in (("controls", draw_controls(rows)), ("table8", _table8())):
        pictures.append(Picture(f"glance_{name}", drawn, say(f"{name}_caption"), say(f"{name}_alt")))
    text = filter(None, (law_frontier.headline(laws), say("gain"), address_answer(comparisons_of(evidence))))
    said = Story(claim, tuple(text), "", pictures[0].stem)
    return Exhibit(title, tuple(pictures), conclusions=(claim,), inputs=inputs, story=said)


def _say(evidence: Recorded, rows: Sequence[Comparison]) -> Callable[[str], str]:
    """Return what fills in the blocks of at_a_glance.j2."""
    rws = chosen_scale(evidence, WORLD)
    kind = WORLD, False, "reward", False
    gains = [r for r in comparisons_of(evidence) if (r.world, r.drawn, r.measure, r.arm.one_by_one) == kind]
    against = {row.arm.method: row for row in gains if rws is not None and row.scale == rws.number}
    greatest = max((row for row in gains if row.arm.method == "default"), key=lambda row: row.scale, default=None)
    scales: dict[str, set[float]] = {}
    for row in rows:
        scales.setdefault(row.arm.method, set()).add(row.scale)
    printed = {row["scale"]: row for row in printed_in("table8_temperature")["rows"]}
    default = printed_range("GOD of the default")[0]
    both = [c for c, row in printed.items() if row["god"] > default and row["perplexity"] < printed[1.0]["perplexity"]]
    values = {
        "model": WORLDS[WORLD].model,
        "against": against if {"default", "constant"} <= against.keys() else None,
        "greatest": greatest,
        "controls": [METHODS[name].title for name in scales],
        "single": [min(of) for of in scales.values() if len(of) == 1],
        "margins": [row.difference / row.margin for row in rows],
        "printed": printed,
        "default": default,
        "both": both,
    }
    template = _TEMPLATES.get_template("at_a_glance.j2")
    context = template.new_context(values)
    return lambda block: " ".join("".join(template.blocks[block](context)).split())


_TEMPLATES = Environment(loader=PackageLoader("paper_figures", "figures"), undefined=StrictUndefined, autoescape=False)
_TEMPLATES.filters["fmt"] = format
