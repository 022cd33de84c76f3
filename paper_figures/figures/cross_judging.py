"""Every guide judged by every reward model: net win rates against the default.

Shows: three matrices, guides down and judges across: RWS, a constant factor, and RWS minus the constant. The paper's
Table 1 is the diagonal of the first. If only the diagonal gains, the guide rewards its own taste. If the constant
factor of equal mean gains as much, no reward was needed.
Inputs: RUNS/reward-bench/results.json, made by `python -m paper_figures experiment reward-bench --out RUNS`.
Run time: two seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from paper_figures.exhibits.differences import ALPHA, Difference, difference_from_row, span
from paper_figures.exhibits.exhibit import Exhibit, Picture
from paper_figures.exhibits.findings import tally
from paper_figures.exhibits.names import RELATIONS, guide_name, guide_names
from paper_figures.exhibits.runs import Results, lookup, read_run, setting
from paper_figures.exhibits.style import figure, panel_title
from paper_figures.table import Table

__all__ = ["PANELS", "CrossJudging", "compute", "draw", "exhibit", "table"]

Row = Mapping[str, Any]

NEEDS = ("reward-bench",)
PANELS: dict[str, str] = {
    "rws": "RWS against the default",
    "constant": "Constant of equal mean against the default",
    "rws-constant": "RWS minus the constant of equal mean: what the reward adds",
}
# Blue for losses, orange for wins, white between: as light on both sides, so that grey shows the size of a difference.
_COLORS = LinearSegmentedColormap.from_list("net", ["#4a93c9", "#ffffff", "#f0a05a"])


@dataclass(frozen=True)
class CrossJudging:
    """Cells in percentage points: panel -> (guide's key, judge) -> difference; guides: key -> name; judges in order."""

    run: Results
    guides: Mapping[tuple[str, float | None], str]
    judges: Sequence[str]
    cells: Mapping[str, Mapping[tuple[tuple[str, float | None], str], Difference]]

    def of(self, panel: str, by_guide: bool) -> list[Difference]:
        """Return the cells of one panel in which the guide judges, or those in which another does."""
        return [cell for (key, judge), cell in self.cells[panel].items() if (key[0] == judge) == by_guide]


def compute(runs: Path) -> CrossJudging:
    """Read the experiment's outcome below `runs`; MissingRun, with the command, if it is missing."""
    run = read_run(runs, NEEDS[0])
    rows = [row for row in run.rows.get("cross_judging", ()) if row["measure"] == "net"]
    if not rows:
        raise ValueError(f"{runs / NEEDS[0]} has no table cross_judging: no answer was judged")
    guides = guide_names(rows)
    # Guides first, in their rows' order, so that each guide's own judgement is on the diagonal.
    judges = list(dict.fromkeys([*(key[0] for key in guides), *(row["judge"] for row in rows)]))
    judges = [judge for judge in judges if any(row["judge"] == judge for row in rows)]
    cells: dict[str, dict[Any, Difference]] = {panel: {} for panel in PANELS}
    for key, name in guides.items():
        for judge in judges:
            at = [row for row in rows if (row["guide"], row["reward_scale"], row["judge"]) == (*key, judge)]
            label = f"{name} by {guide_name(judge)}"
            rws, constant, default = (lookup(at, method=method) for method in ("rws", "constant", "default"))
            differences = {
                "rws": _against_default(label, rws, default),
                "constant": _against_default(label, constant, None),
                "rws-constant": difference_from_row(label, constant, 100.0),
            }
            for panel, cell in differences.items():
                if cell is not None:
                    cells[panel][key, judge] = cell
    return CrossJudging(run, guides, judges, {panel: filled for panel, filled in cells.items() if filled})


def _against_default(label: str, row: Row | None, tested: Row | None) -> Difference | None:
    if row is None or row["mean"] is None:
        return None
    # The default's net is zero, so its difference to RWS tests the net of RWS; no row tests that of the constant.
    p = None if tested is None else tested["p_holm"]
    value, low, high = (100.0 * row[end] for end in ("mean", "low", "high"))
    return Difference(label, value, low, high, p)


def draw(data: CrossJudging) -> Figure:
    """Draw the matrices one above the other on one colour scale; each cell has its number, interval and mark."""
    high = 0.62 + 0.4 * len(data.guides)
    picture = figure(6.6, 0.9 + high * len(data.cells))
    panels = picture.subplots(len(data.cells), 1, squeeze=False)[:, 0]
    most = max(abs(cell.value) for filled in data.cells.values() for cell in filled.values()) or 1.0
    image = None
    for axes, (panel, cells) in zip(panels, data.cells.items(), strict=True):
        values = np.full((len(data.guides), len(data.judges)), np.nan)
        for row, key in enumerate(data.guides):
            for column, judge in enumerate(data.judges):
                if cell := cells.get((key, judge)):
                    values[row, column] = cell.value
                    axes.text(column, row, cell_text(panel, cell), ha="center", va="center", fontsize=8)
                if key[0] == judge:
                    axes.add_patch(
                        Rectangle((column - 0.48, row - 0.46), 0.96, 0.92, fill=False, linewidth=2.0, clip_on=False)
                    )
        image = axes.imshow(values, cmap=_COLORS, vmin=-most, vmax=most, aspect="auto")
        _edges(axes, data)
        panel_title(axes, PANELS[panel] + ("  (outlined: the guide judges itself)" if axes is panels[0] else ""))
        axes.set_yticks(range(len(data.guides)), list(data.guides.values()))
        axes.set_ylabel("guide")
        axes.set_xticks(
            range(len(data.judges)), [guide_name(judge) for judge in data.judges] if axes is panels[-1] else []
        )
    panels[-1].set_xlabel("judge")
    if image is not None:
        bar = picture.colorbar(image, ax=panels, shrink=0.7, aspect=30, pad=0.02)
        bar.set_label("net win rate, won minus lost  [percentage points]")
    return picture


def _edges(axes: Axes, data: CrossJudging) -> None:
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axes.set_xticks(np.arange(len(data.judges) + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(len(data.guides) + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1.5)
    axes.tick_params(which="minor", length=0)


def cell_text(panel: str, cell: Difference) -> str:
    """Return a cell's number and interval in two lines, * where it differs from zero; the constant has no test.

    >>> print(cell_text("rws", Difference("a by b", 12.0, 5.0, 20.0, 0.01)))
    +12 *
    [+5, +20]
    """
    mark = " *" if panel != "constant" and cell.sign else ""
    if cell.none:
        return "0 in every\nprompt"
    value, low, high = (f"{round(number):+d}" if round(number) else "0" for number in (cell.value, cell.low, cell.high))
    return f"{value}{mark}\n[{low}, {high}]"


def table(data: CrossJudging) -> Table:
    """Return the matrices as one table, a row per guide and judge."""
    rows, shown = [], []
    for key, name in data.guides.items():
        for judge in data.judges:
            line: dict[str, Any] = {"guide": name, "judge": guide_name(judge), "own": key[0] == judge}
            text: dict[str, str | None] = line | {"own": "own" if key[0] == judge else "other"}
            for panel, cells in data.cells.items():
                cell = cells.get((key, judge))
                ends = (None,) * 4 if cell is None else (cell.value, cell.low, cell.high, cell.p)
                names = (f"{PANELS[panel]}{end}" for end in ("", ", low", ", high", ", p"))
                line |= dict(zip(names, ends, strict=True))
                marked = cell is not None and panel != "constant" and cell.sign
                text[PANELS[panel].split(":")[0]] = None if cell is None else cell.text() + (" *" if marked else "")
            rows.append({name.replace(": ", ", "): value for name, value in line.items()})
            shown.append(text)
    return Table("cross_judging", rows, shown, f"The matrix as a table. {_reading(data)}")


def _reading(data: CrossJudging) -> str:
    return (
        f"{setting(data.run)} Net win rate in percentage points of prompts, in brackets its 95 % interval "
        "over prompts; *: the interval excludes zero and p of the sign-flip permutation test, corrected over all "
        f"{len(data.guides) * len(data.judges)} cells by Holm's method, is at most {ALPHA:g}. The run tests every "
        "method against RWS. The constant against the default therefore has intervals and no p."
    )


def exhibit(runs: Path) -> Exhibit:
    """Return the matrices from the experiment's results below `runs`."""
    data = compute(runs)
    caption = (
        "Every guide judged by every reward model. The paper does not show this: its Table 1 is the outlined diagonal, "
        f"where the guide judges itself. {_reading(data)}"
    )
    alt = "Matrices of guides by judges, one above the other. " + " ".join(
        f"{PANELS[panel]}: {'; '.join(f'{cell.name} {cell.value:+.0f}' for cell in cells.values())}."
        for panel, cells in data.cells.items()
    )
    return Exhibit(
        "Cross-judging: every guide by every judge",
        (Picture("cross_judging", draw(data), caption, alt),),
        (table(data),),
        conclusions=_conclusions(data),
        inputs=data.run.inputs,
    )


def _means(rows: Sequence[Row]) -> list[str]:
    """Return the mean net by the guides and by the others, of RWS and of the constant factor; of one scale each."""
    means = []
    for method, name in (("rws", "RWS"), ("constant", "the constant of equal mean, which no reward steers,")):
        match = {"method": method, "measure": "net"}
        nets = [
            [row for row in rows if row["relation"] == relation and match.items() <= row.items()]
            for relation in RELATIONS
        ]
        if all(len(net) == 1 and net[0]["mean"] is not None for net in nets):
            by_guides, by_others = (span(net[0], form="+.1f") for net in nets)
            means.append(
                f"{name} has a mean net of {by_guides} points by the guides and {by_others} by other reward models"
            )
    return means


def _conclusions(data: CrossJudging) -> tuple[str, ...]:
    words = ("above zero", "below zero")
    which = {True: "by its own guide", False: "by other reward models"}
    parts = [
        f"{which[by_guide]}, {tally(data.of('rws', by_guide), 'cells', words, brief=True)}"
        for by_guide in (True, False)
        if data.of("rws", by_guide)
    ]
    lines = [f"Net win rate of RWS against the default: {'; '.join(parts)}."]
    if means := _means(data.run.rows.get("mean_win_rates", ())):
        lines.append(f"Who judges: {'; '.join(means)}.")
    for panel, name in (("rws", "RWS against the default"), ("rws-constant", "RWS minus the constant of equal mean")):
        lines += [
            f"{name}, net in points, {which[by_guide]}: {tally(data.of(panel, by_guide), 'cells', words)}"
            for by_guide in (True, False)
            if panel in data.cells and data.of(panel, by_guide)
        ]
    return tuple(lines)
