"""Table 8: temperature scaling against reward scaling on keyword prompts, with controls that keep the factors.

Shows: the paper's Table 8 beside the same grid of scales decoded here; a plot of temperature, RWS, a fixed factor of
equal mean and RWS with its own rewards shuffled; RWS minus these and further controls; and the ranges that
the paper's text gives for temperature scaling. The first of several reward models is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from paper_figures.exhibits.shared.exhibit import LINES, Exhibit, Picture, figure, joint_legend, panel_title, plain_log
from paper_figures.exhibits.shared.results import (
    Results,
    Row,
    beside,
    by_measure,
    method_name,
    minus_of,
    ranges_table,
    read_run,
)
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
    "perplexity": "Perplexity of the causal model (lower is better)",
    "coherent": "Share of coherent answers, by the language's own checker (higher is better)",
    "god_steps": "Generation Order Deviation  [steps]",
}


@dataclass(frozen=True)
class Temperatures:
    """The experiment's outcome for its first reward: `summary`, a row per method and scale; `controls`, differences."""

    run: Results
    summary: Sequence[Row]
    controls: Sequence[Row]

    def of(self, method: str) -> list[Row]:
        """Return the rows of one method by rising scale."""
        return sorted((row for row in self.summary if row["method"] == method), key=lambda row: row["scale"])


def compute(runs: Path) -> Temperatures:
    """Read the experiment's outcome below `runs`; MissingRun, with the command, if it is missing."""
    run = read_run(runs, NEEDS[0])
    tables, guide = (run.table("summary", "no answer was measured"), run.table("controls")), run.settings["rewards"][0]
    return Temperatures(run, *([row for row in rows if row["guide"] == guide] for rows in tables))


def draw(data: Temperatures) -> Figure:
    """Draw perplexity, share coherent and GOD against the scale, with 95 % intervals."""
    fields = [field for field in _DRAWN if all(row.get(field) is not None for row in data.summary)]
    picture = figure(6.6, 0.7 + 2.5 * len(fields))
    panels = picture.subplots(len(fields), 1, sharex=True, squeeze=False)[:, 0]
    curves = {method: rows for method in DRAWN if (rows := data.of(method))}
    for axes, field in zip(panels, fields, strict=True):
        for index, (method, rows) in enumerate(curves.items()):
            low, middle, high = (np.array([row[field + end] for row in rows]) for end in ("_low", "", "_high"))
            look, ends = LINES[method], np.maximum([middle - low, high - middle], 0.0)
            # The intervals of one scale stand side by side.
            scales = 1.1 ** (index - 1.5) * np.array([row["scale"] for row in rows])
            axes.errorbar(scales, middle, ends, elinewidth=0.9, capsize=2, label=look.label, **look.style)
        look = LINES["default"]
        for row in data.of("default"):
            axes.axhline(row[field], color=look.color, linewidth=1.0, linestyle=look.dash, label=look.label)
        panel_title(axes, _DRAWN[field])
        if field == "perplexity":
            plain_log(axes)
        else:
            axes.set_ylim(bottom=0)
    scales = sorted({row["scale"] for row in data.summary if row["scale"] is not None})
    panels[-1].set(xscale="log", xlabel="scale  [factor c of temperature; reward scale $s_R$ of RWS and its controls]")
    panels[-1].set_xticks(scales, [f"{scale:g}" for scale in scales])
    panels[-1].set_xticks([], minor=True)
    joint_legend(picture, 3)
    return picture


def _printed(data: Temperatures) -> Table:
    table = printed_in(_STEM)
    printed = {f"{row['scale']:g}": {"perplexity": row["perplexity"], "GOD": row["god"]} for row in table["rows"]}
    rounded = {row["scale"]: row["god_steps"] for row in data.of("temperature-bf16")}
    here = {f"{row['scale']:g}": {**row, "rounded": rounded.get(row["scale"])} for row in data.of("temperature")}
    caption = (
        f"Temperature scaling. Left: {table['where']}, {table['task']}. Right: here, model "
        f"{data.run.settings['model']}, {data.run.prompts['test']} keyword prompts; another model, language and "
        "length, so shapes can be compared and levels cannot. We take the paper's temperature as a factor that "
        "multiplies the logits, because Appendix F calls it a “constant scaling factor”. If it divides them, its rows "
        "are of other factors. Brackets: 95 % intervals. True perplexity: that of the language itself, of the coherent "
        "answers. The last column ranks by softmax in bfloat16, where confidences round to 1."
    )
    return beside(_STEM, "scale", printed, here, caption, _COLUMNS)


def _ranges(data: Temperatures) -> Table:
    """Return what Appendix F says of temperature and of the worst RWS, beside the same over the grid here."""
    ours = {
        "perplexity of temperature scaling": [row["perplexity"] for row in data.of("temperature")],
        "GOD of temperature scaling": [row["god_steps"] for row in data.of("temperature")],
        "worst perplexity of RWS": sorted(filter(None, (row["perplexity"] for row in data.of("rws"))))[-1:],
    }
    return ranges_table("table8_ranges", ours, "all scales of the grid, where the paper has a tuned one for RWS")


def _differences(controls: Sequence[Row]) -> Table:
    def keys(row: Row) -> Row:
        return {"RWS minus": method_name(row["control"]), "scale": f"{row['scale']:g}"}

    caption = (
        "RWS minus each control on the same prompts: mean difference with its 95 % interval and p of the sign-flip "
        "permutation test, corrected over the scales by Holm's method; * if the interval excludes zero and p is at "
        "most 0.05. The default and margin order have one run, the others one at each scale. The CSV has further "
        "metrics."
    )
    return Table("table8_differences", controls, by_measure(controls, keys, _COMPARED, "metric", minus_of), caption)


def exhibit(runs: Path) -> Exhibit:
    """Return Table 8 and its figure from the experiment's results below `runs`."""
    data = compute(runs)
    caption = (
        f"{data.run.prompts['test']} keyword prompts, 95 % intervals. At one place on the axis, RWS, its "
        "fixed factor and its shuffled control have the same reward scale and so the same mean factor, which is below "
        "the scale. Points of one scale stand slightly side by side. The dotted line is the default, temperature 1."
    )
    alt = (
        "Quality and GOD against the scale: curves of temperature, RWS, a fixed factor of equal mean, shuffled rewards."
    )
    parts = []
    for name, label in _COMPARED.items():
        signs = [minus_of(row).sign for row in data.controls if (row["control"], row["metric"]) == ("constant", name)]
        if signs:
            parts.append(f"{label} higher at {signs.count(1)} and lower at {signs.count(-1)} of {len(signs)} scales")
    summary = (f"RWS minus a fixed factor of equal mean: {'; '.join(parts)}.",) if parts else ()
    tables = _printed(data), _differences(data.controls), _ranges(data)
    inputs = *data.run.inputs, f"{NEEDS[0]}/{data.run.units}/traces"
    picture = Picture(_STEM, draw(data), caption, alt)
    return Exhibit("Table 8: temperature against reward", (picture,), tables, summary, inputs)
