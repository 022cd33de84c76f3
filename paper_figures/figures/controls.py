"""RWS against controls that keep its factors and not its reward: does the reward act, or the factor?

Shows: RWS minus a constant factor of equal mean, minus the same rewards shuffled, with the sign turned, and drawn at
random, at every reward scale, in quality and in generation order. Then the net win rate of every method against the
default, with RWS minus each. The first guide is drawn; all guides are counted.
Inputs: RUNS/temperature/results.json and RUNS/reward-bench/results.json, made by `python -m paper_figures experiment
temperature --out RUNS` and `... reward-bench --out RUNS`. Run time: a second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from paper_figures.exhibits.differences import clear, difference_text, excludes_zero
from paper_figures.exhibits.exhibit import Exhibit, Picture
from paper_figures.exhibits.findings import differences_table
from paper_figures.exhibits.names import guide_name, in_words
from paper_figures.exhibits.runs import Results, read_run
from paper_figures.exhibits.style import GREY, LINES, figure, panel_title
from paper_figures.figures.parts.controls_net_rates import (
    Net,
    against_default,
    minus_line,
    nets_of,
    nets_picture,
    nets_table,
)
from paper_figures.table import Table

Row = Mapping[str, Any]

NEEDS: tuple[str, ...] = ("temperature", "reward-bench")
CONTROLS = ("constant", "shuffled", "flipped", "random")
_TITLES = {"constant": "constant", "shuffled": "shuffled", "flipped": "sign turned", "random": "random"}
_METRICS = {
    "coherent": ("share coherent", "share coherent\n[of answers]"),
    "judge": ("judge's reward", "judge's reward\n[its own unit]"),
    "perplexity": ("perplexity", "perplexity\n(lower: better)"),
    "god_steps": ("GOD in steps", "GOD\n[steps]"),
}


@dataclass(frozen=True)
class Controls:
    """Rows of RWS minus each control by guide, scale and metric; net win rates; and the runs that both are of."""

    rows: Sequence[Row]
    nets: Sequence[Net]
    scaled: Results
    judged: Results

    @property
    def guide(self) -> str:
        """Return the guide that is drawn, the run's first."""
        return self.scaled.settings["rewards"][0]

    @property
    def controls(self) -> list[str]:
        """Return the controls that were run, in the order of panels."""
        return [name for name in CONTROLS if any(row["control"] == name for row in self.rows)]

    @property
    def metrics(self) -> list[str]:
        """Return the metrics that the run has: answers outside the story language have no coherence."""
        return [name for name in _METRICS if any(row["metric"] == name for row in self.rows)]

    def of(self, control: str, metric: str) -> list[Row]:
        """Return the drawn guide's differences of one panel, by rising scale."""
        kept = (row for row in self.rows if (row["control"], row["metric"]) == (control, metric))
        return sorted((row for row in kept if row["guide"] == self.guide), key=lambda row: row["scale"])


def compute(runs: Path) -> Controls:
    """Read both experiments' outcomes below `runs`; MissingRun, with the command, if one is missing."""
    scaled, judged = (read_run(runs, name) for name in NEEDS)
    rows = [
        row
        for row in scaled.rows.get("controls", ())
        if row["control"] in CONTROLS and row["metric"] in _METRICS and row["difference"] is not None
    ]
    return Controls(rows, nets_of(judged, CONTROLS), scaled, judged)


def draw(data: Controls) -> Figure:
    """Draw a row of panels per metric and a column per control: RWS minus the control at every scale."""
    picture = figure(6.6, 0.9 + 1.6 * len(data.metrics))
    panels = picture.subplots(len(data.metrics), len(data.controls), sharex=True, sharey="row", squeeze=False)
    scales = sorted({row["scale"] for row in data.rows})
    for line, metric in zip(panels, data.metrics, strict=True):
        for axes, control in zip(line, data.controls, strict=True):
            axes.axhline(0, color=GREY, linewidth=1.0)
            rows = data.of(control, metric)
            _marks(axes, [scales.index(row["scale"]) for row in rows], rows)
            axes.set_xticks(range(len(scales)), [f"{scale:g}" for scale in scales], rotation=90)
            axes.set_xlim(-0.6, len(scales) - 0.4)
            axes.yaxis.set_major_locator(MaxNLocator(5))
        line[0].set_ylabel(_METRICS[metric][1])
    for axes, control in zip(panels[0], data.controls, strict=True):
        panel_title(axes, f"minus {_TITLES[control]}")
    picture.supxlabel("reward scale $s_R$  [factor]", fontsize=9)
    picture.legend(handles=_handles(), loc="outside upper center", ncols=2)
    return picture


def _marks(axes: Axes, positions: Sequence[float], rows: Sequence[Row]) -> None:
    """Draw differences with intervals at their places, filled where a difference is shown."""
    for position, row in zip(positions, rows, strict=True):
        middle = row["difference"]
        spread = [[max(middle - row["low"], 0.0)], [max(row["high"] - middle, 0.0)]]
        axes.errorbar(position, middle, yerr=spread, elinewidth=1.0, capsize=2, **_style(clear(row)))


def _style(marked: bool) -> dict[str, Any]:
    look = LINES["rws"]
    if marked:
        return {"color": look.color, "marker": look.marker, "markersize": 6, "linestyle": "none"}
    return {"color": "#3d3d3d", "marker": "o", "markersize": 4.5, "markerfacecolor": "white", "linestyle": "none"}


def _handles() -> list[Line2D]:
    kinds = {True: "a difference is shown", False: "none is shown"}
    return [Line2D([], [], label=label, **_style(marked)) for marked, label in kinds.items()]


def tables(data: Controls) -> tuple[Table, ...]:
    """Return the differences that are drawn, at every scale, and the net win rates."""
    drawn = [row for row in data.rows if row["guide"] == data.guide]
    first = differences_table("controls", drawn, {name: _METRICS[name][0] for name in data.metrics})
    caption = (
        f"RWS minus each control on the same prompts, guide {guide_name(data.guide)}: mean difference with its 95 % "
        "interval, * where it excludes zero, and p of the sign-flip permutation test, corrected over guides "
        "and scales by Holm's method."
    )
    return (replace(first, caption=caption), nets_table(data.nets))


def exhibit(runs: Path) -> Exhibit:
    """Return the figure of the controls from both experiments' results below `runs`."""
    data = compute(runs)
    pictures = []
    if data.rows:
        pictures.append(Picture("controls", draw(data), _caption(data), _alt(data)))
    if data.nets:
        pictures.append(nets_picture(data.judged, data.nets))
    return Exhibit(
        "RWS against its controls",
        tuple(pictures),
        tables(data),
        conclusions=_conclusions(data),
        inputs=(*data.scaled.inputs, *data.judged.inputs),
    )


def _caption(data: Controls) -> str:
    run = data.scaled
    others = len(run.settings["rewards"]) - 1
    return (
        f"RWS minus each control on the same {run.prompts['test']} prompts ({run.prompts['source']}): model "
        f"{run.settings['model']}, guide {guide_name(data.guide)}{f', the first of {others + 1}' if others else ''}, "
        f"{run.settings['length']} tokens in {run.settings['steps']} steps. Scales are evenly spaced. Bars are paired "
        "95 % intervals. The controls have the reward scale of RWS. The constant has each answer's mean "
        "factor; shuffled has the same rewards at other steps; sign turned has a factor that falls as the reward "
        "rises; random has rewards without meaning. Filled: a difference is shown. We call it shown only if the "
        "interval excludes zero and p of the sign-flip permutation test is at most 0.05, corrected over all scales and "
        "guides by Holm's method. If none is shown, a real difference may still exist; the bars show how large it "
        "could be. The paper has no such controls."
    )


def _alt(data: Controls) -> str:
    drawn = [row for row in data.rows if row["guide"] == data.guide]
    marked = [row for row in drawn if clear(row)]
    listed = "; ".join(
        f"{_METRICS[row['metric']][0]} against {in_words(row['control'])}, s_R = {row['scale']:g}, "
        f"{difference_text(row)}"
        for row in marked[:6]
    )
    return (
        f"Small panels, a row for each of {', '.join(_METRICS[name][0] for name in data.metrics)}, a column for each "
        f"of {', '.join(_TITLES[name] for name in data.controls)}: differences with bars around a zero line. "
        f"{len(marked)} of {len(drawn)} are marked as shown{f': {listed}' if listed else ''}."
    )


def _conclusions(data: Controls) -> tuple[str, ...]:
    lines = [*(_line(data, control) for control in data.controls), *against_default(data.nets)]
    return tuple(lines) or ("The runs have no controls to compare.",)


def _line(data: Controls, control: str) -> str:
    """Return in how many comparisons a difference of RWS to a control is shown, and in which, in one line."""
    rows = [row for row in data.rows if row["control"] == control]
    apart, marked = sum(map(excludes_zero, rows)), [row for row in rows if clear(row)]
    listed = "; ".join(f"{name} {_where(kept)}" for name, kept in _by_metric(marked).items())
    scales = len({row["scale"] for row in rows})
    text = (
        f"RWS against {in_words(control)}: a difference is shown in {len(marked) or 'none'} of {len(rows)} comparisons "
        f"({len(_by_metric(rows))} measures at {scales} scales){f': {listed}' if listed else ''}; by intervals alone "
        f"in {apart or 'none'}."
    )
    return text + minus_line(data.nets, control)


def _by_metric(rows: Sequence[Row]) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(_METRICS[row["metric"]][0], []).append(row)
    return groups


def _where(rows: Sequence[Row]) -> str:
    several = len({row["guide"] for row in rows}) > 1
    return ", ".join(
        f"{'higher' if row['difference'] > 0 else 'lower'} at s_R = {row['scale']:g}"
        + (f" ({guide_name(row['guide'])})" if several else "")
        for row in sorted(rows, key=lambda row: (row["guide"], row["scale"]))
    )
