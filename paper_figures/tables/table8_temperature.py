"""Table 8: temperature scaling against reward scaling on keyword prompts, with controls that keep the factors.

Shows: the paper's Table 8 beside the same grid of scales decoded here; RWS beside a constant factor of equal mean and
beside its own rewards in shuffled order; its differences to these and to further controls; and the ranges that the
paper's text gives for temperature scaling. The first of several guides is shown.
Inputs: RUNS/temperature/results.json, made by `python -m paper_figures experiment temperature --out RUNS`.
Run time: three seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from paper_figures.exhibits.exhibit import Exhibit, Picture
from paper_figures.exhibits.findings import contrast_lines, differences_table, range_line
from paper_figures.exhibits.keyword_ranges import ranges_table
from paper_figures.exhibits.names import method_name
from paper_figures.exhibits.runs import read_run
from paper_figures.exhibits.style import LINES, PRINTED, figure, panel_title
from paper_figures.table import Table
from rws_theory.printed import printed_in

Row = Mapping[str, Any]

NEEDS = ("temperature",)
DRAWN = ("temperature", "rws", "constant", "shuffled")
_FIELDS = {
    "perplexity": "perplexity",
    "true_perplexity": "true perplexity",
    "coherent": "coherent",
    "god_tokens": "GOD, tokens",
    "god_steps": "GOD, steps",
    "keywords_included": "keywords of 4",
    "reward": "guiding reward",
    "judge": "judge",
    "mean_factor": "mean factor",
}
# The columns of Table 8 and what it could not have; the rest is for the comparison with RWS.
_TABLE8 = tuple(_FIELDS)[:6]
_COMPARED = {name: _FIELDS[name] for name in ("coherent", "perplexity", "judge", "god_steps", "keywords_included")}


@dataclass(frozen=True)
class Temperatures:
    """The experiment's outcome: `summary`, a row per method and scale; `controls`, differences; settings.

    inputs: its files below the runs, the folder of its traces among them.
    """

    summary: Sequence[Row]
    controls: Sequence[Row]
    settings: Row
    inputs: tuple[str, ...]

    @property
    def prompts(self) -> int:
        """Return the number of prompts behind every row."""
        return max(row["n"] for row in self.summary)

    def of(self, method: str) -> list[Row]:
        """Return the rows of one method by rising scale."""
        return sorted((row for row in self.summary if row["method"] == method), key=lambda row: row["scale"])

    def has(self, field: str) -> bool:
        """Return whether every row has a value: answers outside the story language have no coherence."""
        return all(row.get(field) is not None for row in self.summary)


def compute(runs: Path) -> Temperatures:
    """Read the experiment's outcome below `runs`; MissingRun, with the command, if it is missing."""
    (experiment,) = NEEDS
    run = read_run(runs, experiment)
    guide = run.settings["rewards"][0]
    summary, controls = (
        [row for row in run.rows.get(name, ()) if row["guide"] == guide] for name in ("summary", "controls")
    )
    if not summary:
        raise ValueError(f"{runs / experiment} has no table summary: no answer was measured")
    return Temperatures(summary, controls, run.settings, (*run.inputs, f"{experiment}/{run.units}/traces"))


def draw(data: Temperatures) -> Figure:
    """Draw perplexity, share coherent and GOD against the scale, with 95 % intervals."""
    contents = (
        ("perplexity", "Perplexity of the causal model (lower is better)", "perplexity"),
        ("coherent", "Share of coherent answers, by the language's own checker (higher is better)", "share of answers"),
        ("god_steps", "Generation Order Deviation", "GOD  [steps]"),
    )
    contents = tuple(content for content in contents if data.has(content[0]))
    picture = figure(6.6, 0.7 + 2.5 * len(contents))
    panels = picture.subplots(len(contents), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (field, title, unit) in zip(panels, contents, strict=True):
        for index, method in enumerate(DRAWN):
            if rows := data.of(method):
                _curve(axes, rows, field, method, 1.1 ** (index - 1.5))
        for row in data.of("default"):
            look = LINES["default"]
            axes.axhline(row[field], color=look.color, linewidth=1.0, linestyle=look.dash, label=look.label)
        panel_title(axes, title)
        axes.set_ylabel(unit)
        if field != "perplexity":
            axes.set_ylim(bottom=0)
    values = [row["perplexity"] for row in data.summary if data.has("perplexity")]
    if values and max(values) > 5 * min(values):
        panels[0].set_yscale("log")
        plain = FuncFormatter(lambda value, _: f"{value:g}")
        panels[0].yaxis.set_major_formatter(plain)
        panels[0].yaxis.set_minor_formatter(plain)  # within one decade only minor ticks have labels
    scales = sorted({row["scale"] for row in data.summary if row["scale"] is not None})
    panels[-1].set_xscale("log")
    panels[-1].set_xticks(scales, [f"{scale:g}" for scale in scales])
    for axes in panels:
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.tick_params(axis="x", which="minor", length=0)
    panels[-1].set_xlabel("scale  [factor c of temperature; reward scale $s_R$ of RWS and its controls]")
    handles, labels = panels[0].get_legend_handles_labels()
    picture.legend(handles, labels, loc="outside lower center", ncols=3)
    return picture


def draw_printed() -> Figure:
    """Draw the perplexity and GOD of the printed table against the scale, on axes of their own."""
    rows = sorted(printed_in("table8_temperature")["rows"], key=lambda row: row["scale"])
    picture = figure(6.6, 2.3)
    scales = [row["scale"] for row in rows]
    contents = (("perplexity", "perplexity"), ("god", "GOD  [unit not said]"))
    for axes, (field, unit) in zip(picture.subplots(1, 2), contents, strict=True):
        values = [row[field] for row in rows]
        style = {"color": PRINTED, "linestyle": (0, (1, 1.5)), "marker": "o", "markerfacecolor": "none"}
        axes.plot(scales, values, **style)
        axes.set_xscale("log")
        axes.set_xticks(scales, [f"{scale:g}" for scale in scales])
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.tick_params(axis="x", which="minor", length=0)
        axes.set_ylim(0, 1.1 * max(values))
        axes.set_xlabel("scale  [factor c of temperature]")
        axes.set_ylabel(unit)
        panel_title(axes, f"Temperature, as printed: {unit.split()[0]}")
    return picture


def _curve(axes: Axes, rows: Sequence[Row], field: str, method: str, shift: float) -> None:
    """Draw one method; scales are shifted by some percent so that the intervals of four methods stand side by side."""
    look = LINES[method]
    low, middle, high = (np.array([row[field + end] for row in rows]) for end in ("_low", "", "_high"))
    axes.errorbar(
        np.array([row["scale"] for row in rows]) * shift,
        middle,
        yerr=np.maximum([middle - low, high - middle], 0.0),
        color=look.color,
        marker=look.marker,
        linestyle=look.dash,
        elinewidth=0.9,
        capsize=2,
        label=look.label,
    )


def tables(data: Temperatures) -> tuple[Table, ...]:
    """Return the paper's Table 8 beside ours, RWS beside its controls, the differences, and Appendix F's ranges."""
    differences = differences_table("table8_differences", data.controls, _COMPARED)
    return (_printed(data), _methods(data), differences, _ranges(data))


def _ranges(data: Temperatures) -> Table:
    """Return what Appendix F says of temperature and of the worst RWS, beside the same over the grid here."""

    def of(method: str, field: str) -> list[float]:
        return [row[field] for row in data.of(method) if row[field] is not None]

    ours = {
        "perplexity of temperature scaling": of("temperature", "perplexity"),
        "GOD of temperature scaling": of("temperature", "god_steps"),
        "worst perplexity of RWS": sorted(of("rws", "perplexity"))[-1:],
    }
    return ranges_table("table8_ranges", ours, "all scales of the grid, where the paper has a tuned one for RWS")


def _printed(data: Temperatures) -> Table:
    table = printed_in("table8_temperature")
    printed = {row["scale"]: row for row in table["rows"]}
    ours = {row["scale"]: row for row in data.of("temperature")}
    rounded = {row["scale"]: row for row in data.of("temperature-bf16")}
    rows, shown = [], []
    for scale in sorted(printed.keys() | ours.keys()):
        printed_row, our_row = printed.get(scale, {}), ours.get(scale, {})
        bf16 = rounded.get(scale, {}).get("god_steps")
        row: dict[str, Any] = {
            "scale": scale,
            "paper: perplexity": printed_row.get("perplexity"),
            "paper: GOD": printed_row.get("god"),
        }
        text = {name: f"{scale:g}" if name == "scale" else _number(value) for name, value in row.items()}
        for field in _TABLE8:
            row |= {f"here: {_FIELDS[field]}": our_row.get(field)} | _ends(our_row, field)
            text[f"here: {_FIELDS[field]}"] = _text(our_row, field)
        rows.append(row | {"here: GOD, steps, softmax in bf16": bf16})
        shown.append(text | {"here: GOD, steps, softmax in bf16": _number(bf16)})
    caption = (
        f"Temperature scaling. Left: {table['where']}, {table['task']}. Right: here, model {data.settings['model']}, "
        f"{data.prompts} keyword prompts; another model, language and length, so shapes can be compared and levels "
        "cannot. We take the paper's temperature as a factor that multiplies the logits, because Appendix F calls it a "
        "constant scaling factor. If it divides them, its rows are of other factors. Brackets: 95 % intervals. True "
        "perplexity: that of the language itself, of the n coherent answers. The last column ranks by softmax in "
        "bfloat16, where confidences round to 1."
    )
    return Table("table8_temperature", rows, shown, caption)


def _ends(row: Row, field: str) -> dict[str, Any]:
    """Return the ends of a field's interval as columns, or the number of answers behind a true perplexity."""
    extra = ("n",) if field == "true_perplexity" else ("low", "high")
    name = _FIELDS[field]
    return {f"here: {name}, {end}": row.get(f"{field}_{end}") for end in extra if field != "keywords_included"}


def _methods(data: Temperatures) -> Table:
    order = {method: index for index, method in enumerate(("default", *DRAWN))}
    kept = [row for row in data.summary if row["method"] in order]
    rows = sorted(kept, key=lambda row: (row["scale"], order[row["method"]]))
    shown = [
        {"scale": f"{row['scale']:g}", "method": method_name(row["method"])}
        | {label: _text(row, field) for field, label in _FIELDS.items()}
        for row in rows
    ]
    caption = (
        "RWS beside its controls at every reward scale: the constant factor of each answer's mean RWS factor, and the "
        "RWS factors of the same rewards in shuffled order. The judge is a reward model that did not guide."
    )
    return Table("table8_methods", rows, shown, caption)


def _number(value: float | None) -> str | None:
    return None if value is None else f"{value:.2f}"


def _text(row: Row, field: str) -> str | None:
    """Return a field as text, with its interval where the table has room for one."""
    if row.get(field) is None:
        return None
    if field == "true_perplexity":
        return f"{row[field]:.2f} (n = {row['true_perplexity_n']})"
    if field == "mean_factor":
        return f"{row[field]:.3g}"
    if field in ("perplexity", "coherent"):
        return f"{row[field]:.2f} [{row[f'{field}_low']:.2f}, {row[f'{field}_high']:.2f}]"
    return f"{row[field]:.2f}"


def exhibit(runs: Path) -> Exhibit:
    """Return Table 8 and its figure from the experiment's results below `runs`."""
    data = compute(runs)
    caption = (
        f"{data.prompts} keyword prompts, 95 % intervals. At one place on the axis, RWS, its constant and its shuffled "
        "control have the same reward scale and so the same mean factor, which is below the scale. Points of one scale "
        "are drawn slightly apart. The dotted line is the default, temperature 1."
    )
    named = {"perplexity": "perplexity", "coherent": "share coherent", "god_steps": "Generation Order Deviation"}
    shown = [name for field, name in named.items() if data.has(field)]
    best, what = ("coherent", "share coherent") if data.has("coherent") else ("god_steps", "Generation Order Deviation")
    most = {method: max(rows, key=lambda row: row[best]) for method in DRAWN if (rows := data.of(method))}
    alt = (
        "Panels against the scale on a logarithmic axis, with curves of temperature, RWS, constant of equal mean "
        f"and shuffled rewards: {', '.join(shown)}. "
        + " ".join(
            f"{LINES[method].label}: largest {what} {row[best]:.2f}, at scale {row['scale']:g}."
            for method, row in most.items()
        )
    )
    printed = sorted(printed_in("table8_temperature")["rows"], key=lambda row: row["perplexity"])
    conclusions = (
        *contrast_lines(data.controls),
        *filter(None, [range_line(data.summary) if data.has("perplexity") else None]),
        f"The printed Table 8 has its largest perplexity at scale {printed[-1]['scale']:g} "
        f"({printed[-1]['perplexity']:.2f}) and its smallest at scale {printed[0]['scale']:g} "
        f"({printed[0]['perplexity']:.2f}).",
    )
    where = printed_in("table8_temperature")["where"]
    drawn = Picture(
        "table8_printed",
        draw_printed(),
        f"{where}: temperature alone, as printed, without intervals. Another model, language and length than ours: the "
        "shapes can be compared, the levels cannot.",
        f"Two panels of printed points against the scale. Perplexity is largest at {printed[-1]['scale']:g} and "
        f"smallest at {printed[0]['scale']:g}; GOD is largest at "
        f"{max(printed, key=lambda row: row['god'])['scale']:g}.",
    )
    return Exhibit(
        "Table 8: temperature against reward",
        (Picture("table8_temperature", draw(data), caption, alt), drawn),
        tables(data),
        conclusions=conclusions,
        inputs=data.inputs,
    )
