"""Table 8: temperature scaling against reward scaling on keyword prompts, with controls that keep the factors.

Shows: the paper's Table 8 beside the same grid of scales decoded here; RWS beside a constant factor of equal mean and
beside its own rewards in shuffled order; and the ranges that the paper's text gives for the same task.
Inputs: RUNS/temperature/{summary.csv,controls.csv,results.json} of `python -m rws_decode experiment temperature`.
Run time: about three seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from paper_figures.contrasts import contrast_lines, difference_text, excludes_zero, range_line
from paper_figures.exhibits import Exhibit, Picture, Sheet
from paper_figures.inputs import read_results, read_table
from paper_figures.keyword_ranges import ranges_sheet
from paper_figures.published import published
from paper_figures.style import LINES, figure, panel_title

__all__ = ["DRAWN", "Temperatures", "compute", "draw", "exhibit", "sheets"]

DRAWN = ("temperature", "rws", "constant", "shuffled")
_COMMAND = "python -m rws_decode experiment temperature --out {}"
_NAMES = {"rws": "RWS", "constant": "constant of equal mean", "shuffled": "rewards shuffled", "default": "default"}
_SHOWN = {
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
_INTERVALS = ("perplexity", "coherent", "god_tokens", "god_steps", "judge")


@dataclass(frozen=True, eq=False)
class Temperatures:
    """The experiment's tables: `summary`, a row per method and scale; `controls`, differences; and its settings."""

    summary: pandas.DataFrame
    controls: pandas.DataFrame
    results: dict[str, Any]

    def of(self, method: str) -> pandas.DataFrame:
        """Return the rows of one method by rising scale."""
        rows = self.summary[self.summary["method"] == method]
        return rows.sort_values("scale").reset_index(drop=True)


def compute(runs: Path) -> Temperatures:
    """Read the experiment's tables below `runs`; MissingRun, naming the command, where they are absent."""
    command, folder = _COMMAND.format(runs), runs / "temperature"
    summary = read_table(folder / "summary.csv", command, ("method", "scale", "n", *_SHOWN))
    controls = read_table(folder / "controls.csv", command, ("control", "scale", "metric", "difference", "low", "high"))
    return Temperatures(summary, controls, read_results(folder / "results.json", command))


def draw(data: Temperatures) -> Figure:
    """Draw perplexity, share coherent and GOD against the scale, with 95 % intervals."""
    picture = figure(6.6, 8.2)
    panels = picture.subplots(3, 1, sharex=True)
    titles = {
        "perplexity": "Perplexity of the shipped causal model (lower is better)",
        "coherent": "Share of coherent answers, by the language's own checker (higher is better)",
        "god_steps": "Generation Order Deviation",
    }
    units = {"perplexity": "perplexity", "coherent": "share of answers", "god_steps": "GOD  [steps]"}
    for axes, (field, title) in zip(panels, titles.items(), strict=True):
        for place, method in enumerate(DRAWN):
            _curve(axes, data.of(method), field, method, 1.1 ** (place - 1.5))
        if len(default := data.of("default")):
            look = LINES["default"]
            axes.axhline(default[field].iloc[0], color=look.color, linewidth=1.0, linestyle=look.dash, label=look.label)
        panel_title(axes, title)
        axes.set_ylabel(units[field])
    low, high = data.summary["perplexity"].min(), data.summary["perplexity"].max()
    if high > 5 * low:
        panels[0].set_yscale("log")
        panels[0].yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    panels[1].set_ylim(bottom=0)
    panels[2].set_ylim(bottom=0)
    scales = sorted(data.summary["scale"].unique())
    panels[-1].set_xscale("log")
    panels[-1].set_xticks(scales, [f"{scale:g}" for scale in scales])
    for axes in panels:
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.tick_params(axis="x", which="minor", length=0)
    panels[-1].set_xlabel("scale  [factor c of temperature; reward scale $s_R$ of RWS and its controls]")
    handles, labels = panels[0].get_legend_handles_labels()
    picture.legend(handles, labels, loc="outside lower center", ncols=3)
    return picture


def _curve(axes: Axes, rows: pandas.DataFrame, field: str, method: str, shift: float) -> None:
    """Draw one method; scales are shifted by a few percent so that intervals of four methods stand side by side."""
    look, middle = LINES[method], rows[field]
    below, above = (middle - rows[f"{field}_low"]).clip(lower=0), (rows[f"{field}_high"] - middle).clip(lower=0)
    axes.errorbar(
        rows["scale"] * shift,
        middle,
        yerr=[below, above],
        color=look.color,
        marker=look.marker,
        linestyle=look.dash,
        elinewidth=0.9,
        capsize=2,
        label=look.label,
    )


def sheets(data: Temperatures) -> tuple[Sheet, ...]:
    """Return the paper's Table 8 beside ours, RWS beside its controls, the differences, and the text's ranges."""
    return (_printed(data), _methods(data), _differences(data), ranges_sheet(data.summary))


def _printed(data: Temperatures) -> Sheet:
    table = published("table8_temperature")
    frame = pandas.DataFrame(table["rows"]).rename(columns={"perplexity": "paper: perplexity", "god": "paper: GOD"})
    ours = data.of("temperature").rename(columns={name: f"here: {label}" for name, label in _SHOWN.items()})
    kept = [f"here: {_SHOWN[name]}" for name in list(_SHOWN)[:6]]
    intervals = [f"{name}_{end}" for name in _INTERVALS[:4] for end in ("low", "high")]
    frame = frame.merge(ours[["scale", *kept, *intervals, "true_perplexity_n"]], on="scale", how="outer")
    if len(rounded := data.of("temperature-bf16")):
        rounded = rounded[["scale", "god_steps"]].rename(columns={"god_steps": "here: GOD, steps, softmax in bf16"})
        frame = frame.merge(rounded, on="scale", how="left")
    shown = pandas.DataFrame({"scale": [f"{scale:g}" for scale in frame["scale"]]})
    for column in frame.columns:
        if column.startswith(("paper: ", "here: ")):
            shown[column] = [_number(value) for value in frame[column]]
    shown["here: perplexity"] = [_interval(row, "here: perplexity", "perplexity") for _, row in frame.iterrows()]
    shown["here: coherent"] = [_interval(row, "here: coherent", "coherent") for _, row in frame.iterrows()]
    shown["here: true perplexity"] = [_true(row, "here: true perplexity") for _, row in frame.iterrows()]
    caption = (
        f"Temperature scaling. Left: {table['where']}, {table['task']}. Right: here, model "
        f"{data.results.get('settings', {}).get('model', 'mini')}, {int(data.summary['n'].max())} keyword prompts; "
        "another model, language and length, so the shapes can be compared and the levels cannot. Brackets: 95 % "
        "intervals. True perplexity is that of the language itself, of the n answers that are possible in it."
    )
    return Sheet("table8_temperature", frame, shown, caption)


def _methods(data: Temperatures) -> Sheet:
    order = {method: place for place, method in enumerate(("default", *DRAWN))}
    rows = data.summary[data.summary["method"].isin(order)]
    frame = rows.assign(place=rows["method"].map(order)).sort_values(["scale", "place"]).drop(columns="place")
    shown = pandas.DataFrame({"scale": [f"{scale:g}" for scale in frame["scale"]]})
    shown["method"] = [_NAMES.get(method, method) for method in frame["method"]]
    for field, label in _SHOWN.items():
        if field == "true_perplexity":
            shown[label] = [_true(row, field) for _, row in frame.iterrows()]
        elif field in ("perplexity", "coherent"):
            shown[label] = [_interval(row, field, field) for _, row in frame.iterrows()]
        else:
            shown[label] = [_number(value) for value in frame[field]]
    caption = (
        "RWS beside its controls at every reward scale: the constant factor of each answer's mean RWS factor, and the RWS "
        "factors of the same rewards in shuffled order. The judge is a reward model that did not guide."
    )
    return Sheet("table8_methods", frame, shown, caption)


def _differences(data: Temperatures) -> Sheet:
    metrics = [name for name in _SHOWN if name in set(data.controls["metric"])]
    lines: dict[tuple[str, float], dict[str, str]] = {}
    for row in data.controls.to_dict("records"):
        line = lines.setdefault(
            (row["control"], row["scale"]),
            {"RWS minus": _NAMES.get(row["control"], row["control"]), "scale": f"{row['scale']:g}"},
        )
        if row["metric"] in metrics:
            star = " *" if excludes_zero(row["low"], row["high"]) else ""
            line[_SHOWN[row["metric"]]] = difference_text(row) + star
    shown = pandas.DataFrame(lines.values()).fillna("–")
    caption = (
        "RWS minus each control on the same prompts: mean difference with its 95 % bootstrap interval; * where the "
        "interval excludes zero. One interval in twenty does so by chance."
    )
    return Sheet("table8_differences", data.controls, shown, caption)


def _number(value: Any) -> str:
    return "–" if pandas.isna(value) else f"{value:.2f}"


def _interval(row: Any, column: str, field: str) -> str:
    if pandas.isna(row[column]):
        return "–"
    return f"{row[column]:.2f} [{row[f'{field}_low']:.2f}, {row[f'{field}_high']:.2f}]"


def _true(row: Any, column: str) -> str:
    return "–" if pandas.isna(row[column]) else f"{row[column]:.2f} (n = {int(row['true_perplexity_n'])})"


def exhibit(runs: Path) -> Exhibit:
    """Return Table 8 and its figure from the experiment's tables below `runs`."""
    data = compute(runs)
    settings = dict(data.results.get("settings", {}))
    caption = (
        f"{int(data.summary['n'].max())} keyword prompts, 95 % intervals. At equal horizontal place, RWS, its constant and "
        "its shuffled control have the same reward scale, hence the same mean factor, which is below the scale. Points of "
        "one scale are set slightly apart. The dotted line is confidence decoding, temperature 1."
    )
    best = {method: data.of(method).set_index("scale")["coherent"] for method in DRAWN if len(data.of(method))}
    alt = (
        "Three panels against the scale on a logarithmic axis, each with four curves: temperature, RWS, constant factor "
        "and shuffled rewards. "
        + " ".join(
            f"Share coherent of {LINES[method].label}: from {share.min():.2f} to {share.max():.2f}, largest at scale "
            f"{share.idxmax():g}."
            for method, share in best.items()
        )
    )
    table = pandas.DataFrame(published("table8_temperature")["rows"]).set_index("scale")["perplexity"]
    conclusions = (
        *contrast_lines(data.controls),
        *filter(None, [range_line(data.summary)]),
        f"The printed Table 8 has its largest perplexity at scale {table.idxmax():g} ({table.max():.2f}) and its smallest "
        f"at scale {table.idxmin():g} ({table.min():.2f}).",
    )
    return Exhibit(
        "Table 8: temperature against reward",
        (Picture("table8_temperature", draw(data), caption, alt),),
        sheets(data),
        conclusions,
        tuple(f"temperature/{name}" for name in ("results.json", "summary.csv", "controls.csv", "traces")),
        settings,
        data.results.get("seconds"),
    )
