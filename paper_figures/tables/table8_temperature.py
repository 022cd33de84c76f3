"""Table 8: temperature scaling against reward scaling on keyword prompts, with controls that keep the factors.

Shows: the paper's Table 8 beside the same grid of scales decoded here; temperature, RWS, a constant factor of equal
mean and RWS with its own rewards in shuffled order, drawn; RWS minus these and further controls; and the ranges that
the paper's text gives for temperature scaling. The first of several guides is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from paper_figures.exhibits.differences import by_measure, minus_of
from paper_figures.exhibits.exhibit import Exhibit, Picture
from paper_figures.exhibits.names import method_name
from paper_figures.exhibits.paper_beside_ours import beside, ranges_table
from paper_figures.exhibits.runs import Results, Row, read_run
from paper_figures.exhibits.style import LINES, figure, panel_title, plain_log
from paper_figures.table import Column, Table
from rws_theory.printed import printed_in

NEEDS = ("temperature",)
DRAWN = ("temperature", "rws", "constant", "shuffled")
_STEM = "table8_temperature"
_COLUMNS = (
    Column("perplexity", form=".2f", ends=("perplexity_low", "perplexity_high")),
    Column("true perplexity", "true_perplexity", ".2f"),
    Column("coherent", form=".2f", ends=("coherent_low", "coherent_high")),
    Column("GOD, tokens", "god_tokens", ".2f"),
    Column("GOD, steps", "god_steps", ".2f"),
    Column("keywords of 4", "keywords_included", ".2f"),
    Column("GOD, steps, softmax in bf16", "rounded", ".2f"),
)
_COMPARED = {"coherent": "coherent", "perplexity": "perplexity", "judge": "judge", "god_steps": "GOD, steps"}
_DRAWN = {
    "perplexity": ("Perplexity of the causal model (lower is better)", "perplexity"),
    "coherent": ("Share of coherent answers, by the language's own checker (higher is better)", "share of answers"),
    "god_steps": ("Generation Order Deviation", "GOD  [steps]"),
}


@dataclass(frozen=True)
class Temperatures:
    """The experiment's outcome for its first guide: `summary`, a row per method and scale; `controls`, differences."""

    run: Results
    summary: Sequence[Row]
    controls: Sequence[Row]

    def of(self, method: str) -> list[Row]:
        """Return the rows of one method by rising scale."""
        return sorted((row for row in self.summary if row["method"] == method), key=lambda row: row["scale"])

    @property
    def fields(self) -> list[str]:
        """Return which fields are drawn: answers outside the story language have no coherence."""
        return [field for field in _DRAWN if all(row.get(field) is not None for row in self.summary)]


def compute(runs: Path) -> Temperatures:
    """Read the experiment's outcome below `runs`; MissingRun, with the command, if it is missing."""
    run = read_run(runs, NEEDS[0])
    tables, guide = (run.table("summary", "no answer was measured"), run.table("controls")), run.settings["rewards"][0]
    summary, controls = ([row for row in rows if row["guide"] == guide] for rows in tables)
    return Temperatures(run, summary, controls)


def draw(data: Temperatures) -> Figure:
    """Draw perplexity, share coherent and GOD against the scale, with 95 % intervals."""
    picture = figure(6.6, 0.7 + 2.5 * len(data.fields))
    panels = picture.subplots(len(data.fields), 1, sharex=True, squeeze=False)[:, 0]
    for axes, field in zip(panels, data.fields, strict=True):
        for index, method in enumerate(DRAWN):
            if rows := data.of(method):
                _curve(axes, rows, field, method, 1.1 ** (index - 1.5))
        for row in data.of("default"):
            look = LINES["default"]
            axes.axhline(row[field], color=look.color, linewidth=1.0, linestyle=look.dash, label=look.label)
        title, unit = _DRAWN[field]
        panel_title(axes, title)
        axes.set_ylabel(unit)
        if field != "perplexity":
            axes.set_ylim(bottom=0)
        elif max(row[field] for row in data.summary) > 5 * min(row[field] for row in data.summary):
            plain_log(axes)
    scales = sorted({row["scale"] for row in data.summary if row["scale"] is not None})
    panels[-1].set_xscale("log")
    panels[-1].set_xticks(scales, [f"{scale:g}" for scale in scales])
    panels[-1].xaxis.set_minor_locator(NullLocator())
    panels[-1].set_xlabel("scale  [factor c of temperature; reward scale $s_R$ of RWS and its controls]")
    picture.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return picture


def _curve(axes: Axes, rows: Sequence[Row], field: str, method: str, shift: float) -> None:
    """Draw one method; scales are shifted by some percent so that the intervals of four methods stand side by side."""
    look, scales = LINES[method], shift * np.array([row["scale"] for row in rows])
    low, middle, high = (np.array([row[field + end] for row in rows]) for end in ("_low", "", "_high"))
    ends = np.maximum([middle - low, high - middle], 0.0)
    axes.errorbar(scales, middle, ends, elinewidth=0.9, capsize=2, label=look.label, **look.style)


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
    table = printed_in(_STEM)
    rows = sorted(table["rows"], key=lambda row: row["scale"])
    printed = {f"{row['scale']:g}": {"perplexity": row["perplexity"], "GOD": row["god"]} for row in rows}
    rounded = {row["scale"]: row["god_steps"] for row in data.of("temperature-bf16")}
    here = {f"{row['scale']:g}": {**row, "rounded": rounded.get(row["scale"])} for row in data.of("temperature")}
    caption = (
        f"Temperature scaling. Left: {table['where']}, {table['task']}. Right: here, model "
        f"{data.run.settings['model']}, {data.run.prompts['test']} keyword prompts; another model, language and "
        "length, so shapes can be compared and levels cannot. We take the paper's temperature as a factor that "
        "multiplies the logits, because Appendix F calls it a constant scaling factor. If it divides them, its rows "
        "are of other factors. Brackets: 95 % intervals. True perplexity: that of the language itself, of the coherent "
        "answers. The last column ranks by softmax in bfloat16, where confidences round to 1."
    )
    return beside(_STEM, "scale", printed, here, caption, _COLUMNS)


def _differences(controls: Sequence[Row]) -> Table:
    rows = [row for row in controls if row["metric"] in _COMPARED]

    def keys(row: Row) -> Row:
        return {"RWS minus": method_name(row["control"]), "scale": f"{row['scale']:g}"}

    shown = by_measure(rows, keys, _COMPARED, "metric", minus_of)
    caption = (
        "RWS minus each control on the same prompts: mean difference with its 95 % interval and p of the sign-flip "
        "permutation test, corrected over the scales by Holm's method; * if the interval excludes zero and p is at "
        "most 0.05. The default and margin order have one run, the others one at each scale. The CSV has further "
        "metrics."
    )
    return Table("table8_differences", controls, shown, caption)


def exhibit(runs: Path) -> Exhibit:
    """Return Table 8 and its figure from the experiment's results below `runs`."""
    data = compute(runs)
    caption = (
        f"{data.run.prompts['test']} keyword prompts, 95 % intervals. At one place on the axis, RWS, its "
        "constant and its shuffled control have the same reward scale and so the same mean factor, which is below the "
        "scale. Points of one scale are drawn slightly apart. The dotted line is the default, temperature 1."
    )
    alt = (
        "Panels against the scale on a logarithmic axis, with curves of temperature, RWS, constant of equal mean "
        f"and shuffled rewards: {', '.join(_DRAWN[field][0] for field in data.fields)}."
    )
    # At how many scales does RWS differ from its constant?
    signs = {
        field: [minus_of(row).sign for row in data.controls if (row["control"], row["metric"]) == ("constant", field)]
        for field in _COMPARED
    }
    parts = [
        f"{_COMPARED[field]} higher at {of.count(1)} and lower at {of.count(-1)} of {len(of)} scales"
        for field, of in signs.items()
        if of
    ]
    said = (f"RWS minus a constant factor of equal mean: {'; '.join(parts)}.",) if parts else ()
    tables, inputs = (_printed(data), _differences(data.controls), _ranges(data)), data.run.inputs
    picture, inputs = Picture(_STEM, draw(data), caption, alt), (*inputs, f"{NEEDS[0]}/{data.run.units}/traces")
    return Exhibit("Table 8: temperature against reward", (picture,), tables, said, inputs)
