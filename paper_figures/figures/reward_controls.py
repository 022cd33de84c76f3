"""RWS minus every control and every other method, on the same prompts: a forest plot for each world.

Shows: differences with 95 % intervals, the band of equivalence, and the least difference that the prompts can find.
Top: controls made from RWS at the same s_R. Middle: other methods, against RWS at the chosen s_R. Bottom: tokens drawn.
Inputs: the evidence study below RUNS, else the record that ships.
Run time: half a minute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from paper_figures.exhibits.evidence import evidence_of, inputs_of, source_line
from paper_figures.exhibits.exhibit import Exhibit, Picture
from paper_figures.exhibits.style import GREY, figure, panel_title
from paper_figures.recorded import Recorded
from paper_figures.studies.design.evidence_arms import WORLDS
from paper_figures.studies.summaries.evidence_answers import told_by
from paper_figures.studies.summaries.evidence_comparisons import (
    ALPHA,
    Comparison,
    chosen_scales,
    comparisons_of,
    main_measures,
)
from paper_figures.studies.summaries.evidence_measures import MEASURES, worlds_of
from rws_decode.common.palette import BLUE, VERMILION

NEEDS: tuple[str, ...] = ()  # the record ships with the package
_BAND = "#d9e6f2"
_ALONE = 2.5  # a difference so many times as far as the next lies beyond the axis, as a number


@dataclass(frozen=True)
class Forest:
    """What one picture draws: a world's comparisons by panel, each panel a title and rows for both measures."""

    world: str
    chosen: float
    panels: tuple[tuple[str, tuple[Comparison, ...]], ...]
    prompts: int

    @property
    def measures(self) -> tuple[str, str]:
        """Return the measures of the two columns."""
        return main_measures(self.world)


def compute(runs: Path) -> tuple[Recorded, list[Forest]]:
    """Return the study's results and what is drawn of each world; MissingRun where there are none."""
    record = evidence_of(runs)
    return record, [forest for world in worlds_of(record.answers) if (forest := _forest(record, world)).panels]


def _forest(record: Recorded, world: str) -> Forest:
    measures = main_measures(world)
    rows = [row for row in comparisons_of(record) if row.world == world and row.measure in measures]
    greedy = [row for row in rows if not row.drawn]
    scales = sorted({row.scale for row in greedy})
    tuned = chosen_scales(record.answers, world).get("rws")
    chosen = tuned if tuned in scales else max(scales, default=0.0)
    parts = (
        ("controls made from it, same $s_R$", [row for row in greedy if row.factor_control]),
        (
            f"other methods, RWS at $s_R$ = {chosen:g}",
            [row for row in greedy if not row.factor_control and row.scale == chosen],
        ),
        ("tokens drawn", [row for row in rows if row.drawn]),
    )
    panels = tuple((title, tuple(sorted(kept, key=lambda r: r.scale))) for title, kept in parts if kept)
    return Forest(world, chosen, panels, max((row.n for row in rows), default=0))


def draw(data: Forest) -> Figure:
    """Draw a column for each main measure and a row of panels for each kind of comparison."""
    counts = [len(_names(rows)) for _, rows in data.panels]
    picture = figure(6.6, 1.1 + 0.47 * len(counts) + 0.185 * sum(counts))
    grid = picture.subplots(len(counts), 2, height_ratios=[count + 1.2 for count in counts], squeeze=False)
    for line, (title, rows) in zip(grid, data.panels, strict=True):
        names = _names(rows)
        for axes, measure in zip(line, data.measures, strict=True):
            _panel(axes, names, [row for row in rows if row.measure == measure], measure)
        line[0].set_yticks(range(len(names)), names)
        line[1].set_yticks(range(len(names)), [""] * len(names))
        panel_title(line[0], f"RWS minus {title}" if title != "tokens drawn" else "RWS minus others, tokens drawn")
    for axes, measure in zip(grid[-1], data.measures, strict=True):
        axes.set_xlabel(f"{MEASURES[measure].title}\n[{MEASURES[measure].unit}]")
    picture.legend(handles=_handles(), loc="outside upper center", ncols=2)
    return picture


def _names(rows: Sequence[Comparison]) -> list[str]:
    return list(dict.fromkeys(_name(row) for row in rows))


def _name(row: Comparison) -> str:
    title = row.title.replace("confidence (default), one token a step", "default, one token a step")
    title = title.replace("confidence (default)", "default").removesuffix(", drawn")
    return f"{title}, {row.scale:g}" if row.factor_control else title


def _panel(axes: Axes, names: Sequence[str], rows: Sequence[Comparison], measure: str) -> None:
    factor, margin = MEASURES[measure].factor, MEASURES[measure].factor * MEASURES[measure].margin
    axes.axvspan(-margin, margin, color=_BAND, zorder=0, linewidth=0)
    axes.axvline(0, color=GREY, linewidth=1.0)
    limits = _limits(rows, measure)
    for row in rows:
        height, middle = names.index(_name(row)), factor * row.difference
        ends = np.array([[middle - factor * row.low], [factor * row.high - middle]])
        spread = np.maximum(ends, 0) if np.isfinite(ends).all() else None
        if not limits[0] <= middle <= limits[1]:
            _beyond(axes, row, height, limits)
            continue
        axes.errorbar(middle, height, xerr=spread, elinewidth=1.1, capsize=2, **_style(row.p <= ALPHA))
        if row.least is not None:
            ticks = (-factor * row.least, factor * row.least)
            axes.plot(ticks, (height, height), linestyle="none", marker="|", color=GREY, markersize=6, zorder=1)
    axes.set_xlim(*limits)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.xaxis.set_major_locator(MaxNLocator(5))


def _limits(rows: Sequence[Comparison], measure: str) -> tuple[float, float]:
    """Return the ends of an axis. A difference alone far out stays outside, or it would flatten all others."""
    factor = MEASURES[measure].factor
    reach = 1.25 * factor * MEASURES[measure].margin
    far = sorted(factor * max(abs(row.low), abs(row.high)) for row in rows if np.isfinite([row.low, row.high]).all())
    most = far[-1] if far else 0.0
    if len(far) > 1 and most > _ALONE * max(far[-2], reach):
        most = far[-2]
    inside = [row for row in rows if np.isfinite([row.low, row.high]).all() and factor * abs(row.difference) <= most]
    low = min([-reach, *(1.08 * factor * row.low for row in inside)])
    high = max([reach, *(1.08 * factor * row.high for row in inside)])
    return low, high


def _beyond(axes: Axes, row: Comparison, height: float, limits: tuple[float, float]) -> None:
    """Write a difference that lies beyond the axis at its end, with an arrow."""
    right = row.difference > 0
    text = MEASURES[row.measure].text(row.difference)
    axes.text(
        limits[1] if right else limits[0],
        height,
        f"{text} \N{RIGHTWARDS ARROW}" if right else f"\N{LEFTWARDS ARROW} {text}",
        ha="right" if right else "left",
        va="center",
        fontsize=8.5,
        color=_style(row.p <= ALPHA)["color"],
    )


def _style(real: bool) -> dict[str, Any]:
    if real:
        return {"color": VERMILION, "marker": "s", "markersize": 4.5, "linestyle": "none"}
    return {"color": BLUE, "marker": "o", "markersize": 4.5, "markerfacecolor": "white", "linestyle": "none"}


def _handles() -> list[Line2D | Patch]:
    kinds = {True: "real (max-T p ≤ 0.05)", False: "not shown to be real"}
    marks: list[Line2D | Patch] = []
    marks += [Line2D([], [], label=text, **_style(real)) for real, text in kinds.items()]
    marks.append(Patch(color=_BAND, label="margin of equivalence"))
    tick: dict[str, Any] = {"linestyle": "none", "marker": "|", "color": GREY, "markersize": 6}
    marks.append(Line2D([], [], label="least difference seen with 80 % power", **tick))
    return marks


def exhibit(runs: Path) -> Exhibit:
    """Return the forest plots and what they say, question by question."""
    record, forests = compute(runs)
    pictures = tuple(
        Picture(f"reward_controls_{WORLDS[data.world].model}", draw(data), _caption(data, record), _alt(data))
        for data in forests
    )
    return Exhibit(
        "Does the reward matter? RWS against every control",
        pictures,
        conclusions=told_by("reward_controls", record) or ("The results have no runs of RWS with their controls.",),
        inputs=inputs_of(runs),
    )


def _caption(data: Forest, record: Recorded) -> str:
    margins = " and ".join(
        f"±{MEASURES[m].text(MEASURES[m].margin, sign=False)} {MEASURES[m].unit} ({MEASURES[m].reason})"
        for m in data.measures
    )
    return (
        f"{data.world}: RWS minus each other method on the same {data.prompts} prompts, with 95 % intervals (BCa of "
        "means, Tango's score interval of shares). To the right of 0, RWS has more. The number after a control is its "
        "s_R. Red: the difference is real by max-T over all s_R and methods of the same measure and sampling. A method "
        f"without s_R is set against RWS at the s_R chosen on validation prompts, {data.chosen:g}. The band is the "
        f"margin of equivalence: {margins}. Grey ticks: a true difference of that size is found in 80 % of such "
        "studies by one test alone. A number with an arrow lies beyond the axis. A mark without a bar: equal in every "
        "prompt. "
        f"{source_line(record)}"
    )


def _alt(data: Forest) -> str:
    rows = [row for _, kept in data.panels for row in kept]
    real = [row for row in rows if row.p <= ALPHA]
    most = sorted(real, key=lambda row: -abs(row.difference) / row.margin)[:3]
    listed = "; ".join(f"{_name(row)}, {MEASURES[row.measure].title}, {row.text()}" for row in most)
    return (
        f"Forest plot of {len(rows)} differences in {len(data.panels)} pairs of panels, with bars around a zero line "
        f"and a shaded band. {len(real)} are real{f', the largest by margins: {listed}' if listed else ''}."
    )
