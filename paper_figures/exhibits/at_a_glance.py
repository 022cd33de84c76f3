"""Three small figures that the page begins with: the frontier of laws, RWS minus its controls, and the paper's Table 8.

Shows: what samplers gain for their distance from exact English; RWS minus each control without its reward, in margins
of equivalence, with 95 % intervals; GOD against perplexity as the paper prints them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from paper_figures.exhibits import law_frontier
from paper_figures.exhibits.law_frontier import WORLD
from paper_figures.exhibits.shared.evidence import chosen_scale, draw_table8, ends_of, evidence_of, inputs_of
from paper_figures.exhibits.shared.exhibit import GREY, Exhibit, Picture, Story, figure, panel_title, place_labels
from paper_figures.exhibits.shared.results import printed_range
from paper_figures.recorded import Recorded
from paper_figures.statistics.intervals import Interval
from paper_figures.studies.design.evidence_arms import CONTROLS, METHODS, WORLDS
from paper_figures.studies.summaries.evidence_answers import MADE, address_answer, reward_answer
from paper_figures.studies.summaries.evidence_comparisons import Comparison, comparisons_of, main_measures
from paper_figures.studies.summaries.evidence_measures import MEASURES
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


def exhibit(runs: Path) -> Exhibit:
    """Return the three figures, and the finding in a sentence."""
    evidence, title, inputs = evidence_of(runs), "At a glance", (*inputs_of(runs), *inputs_of(runs, "laws"))
    rows = with_controls(comparisons_of(evidence), CONTROLS)
    claim = reward_answer(rows)
    if not claim:
        return Exhibit(title, conclusions=("The results have no runs of RWS with its controls.",), inputs=inputs)
    laws = law_frontier.compute(runs)
    frontier = law_frontier.draw(laws, _SIZE)
    first = Picture("glance_frontier", frontier, law_frontier.caption_of(laws), law_frontier.ALT)
    pictures = first, _controls_picture(rows), _table8_picture()
    text = filter(None, (law_frontier.headline(laws), _gain(evidence), address_answer(comparisons_of(evidence))))
    said = Story(claim, tuple(text), "", pictures[0].stem)
    return Exhibit(title, pictures, conclusions=(claim,), inputs=inputs, story=said)


def _gain(evidence: Recorded) -> str:
    """Return what RWS gains at the scale that was chosen for it, in a sentence or two; "" without such runs."""
    rws, kind = chosen_scale(evidence, WORLD), (WORLD, False, "reward", False)
    gains = [r for r in comparisons_of(evidence) if (r.world, r.drawn, r.measure, r.arm.one_by_one) == kind]
    against = {row.arm.method: row for row in gains if rws is not None and row.scale == rws.number}
    if not {"default", "constant"} <= against.keys():
        return ""
    default, constant = against["default"], against["constant"]
    greatest = max((row for row in gains if row.arm.method == "default"), key=lambda row: row.scale)
    verdicts = {"RWS more": "more than", "RWS less": "less than", "equivalent": "the same within a margin as"}
    verdict = verdicts.get(constant.verdict, "a reward not shown to differ from that of")
    more = f" At s_R = {greatest.scale:g} it has {greatest.text()} against the default."
    return (
        f"On other prompts, s_R = {default.scale:g} gave the most reward in {WORLDS[WORLD].model}. With it greedy RWS "
        f"has {default.text()} (of the reward over texts) against the default, and {verdict} its constant "
        f"({constant.text()}).{more if greatest.scale > default.scale else ''}"
    )


def _controls_picture(rows: Sequence[Comparison]) -> Picture:
    scales: dict[str, set[float]] = {}
    for row in rows:
        scales.setdefault(row.arm.method, set()).add(row.scale)
    single = [min(each) for each in scales.values() if len(each) == 1]
    alone = ", ".join(f"{scale:g}" for scale in sorted({*single}))
    caption = (
        f"Does RWS do more than its factors? RWS minus each of {len(scales)} controls"
        f"{f' ({len(single)} of them at s_R = {alone} alone)' if single else ''}, with 95 % intervals, over distinct "
        "pairs of texts where these repeat. The band is the margin. Coloured marks are real (corrected p). s_R rises "
        "downwards, drawn last."
    )
    margins = [row.difference / row.margin for row in rows]
    alt = (
        f"Forest plots, a panel for each world and measure, of {len(margins)} differences between RWS and "
        f"{'; '.join(METHODS[name].title for name in scales)}, from {min(margins):.2g} to {max(margins):.2g} margins, "
        "around a band of equivalence from -1 to 1."
    )
    return Picture("glance_controls", draw_controls(rows), caption, alt)


def _table8_picture() -> Picture:
    picture = figure(*_SIZE)
    axes = picture.subplots()
    labels = draw_table8(axes)
    axes.set_ylabel("perplexity, as printed")
    axes.set_xlabel("GOD, as printed  [0: left to right]")
    place_labels(picture, {axes: labels})
    printed = {row["scale"]: row for row in printed_in("table8_temperature")["rows"]}
    default = printed_range("GOD of the default")[0]
    both = [c for c, row in printed.items() if row["god"] > default and row["perplexity"] < printed[1.0]["perplexity"]]
    upwards = [c for c in printed if c >= min(both)] == both
    which = f"{min(both):g} and more" if upwards else ", ".join(map(str, both))
    caption = (
        f"What did the paper show? RWS lies in the box. On LLaDA, temperatures c of {which} raise GOD and lower "
        f"perplexity too. The paper prints GOD {printed[1.0]['god']:g} for c = 1 and {default:g} for its default, "
        "which should be the same."
    )
    listed = ", ".join(f"c {c:g}: {row['god']} and {row['perplexity']}" for c, row in printed.items())
    alt = f"Printed perplexity against GOD for temperatures: {listed}."
    return Picture("glance_table8", picture, caption, alt)
