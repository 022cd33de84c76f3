"""What rounding does to the generation order: GOD against the scale, ranked exactly and by rounded confidences.

Shows: GOD of temperature, of RWS and of a constant factor of equal mean, ranked by log-odds, which order positions as
exact confidences do, and by softmax in float32 and in bfloat16; the share of GOD that is due to rounding; how many
confidences are exactly 1; how many steps commit another set than the exact ranking; and the printed GOD of temperature.
Inputs: RUNS/precision/results.json, made by `python -m paper_figures experiment precision --out RUNS`.
Run time: a second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from paper_figures.exhibits.differences import excludes_zero
from paper_figures.exhibits.exhibit import Exhibit, Picture, Story
from paper_figures.exhibits.names import guide_name
from paper_figures.exhibits.paper_beside_ours import beside
from paper_figures.exhibits.runs import read_named
from paper_figures.exhibits.style import GREY, PRINTED, figure, panel_title
from paper_figures.figures.parts.saturation_rounding import RANKINGS, STRATEGIES, Rounding, conclusions
from paper_figures.plan import command
from paper_figures.table import Table
from rws_theory.printed import printed_in

Row = Mapping[str, Any]

NEEDS: tuple[str, ...] = ("precision",)
_SHIFT = {"float32": 1.05, "bfloat16": 1 / 1.05}  # so that two intervals stand side by side


def compute(runs: Path) -> Rounding:
    """Read the experiment's outcome below `runs`; MissingRun, with the command, if it is missing."""
    (experiment,) = NEEDS
    path, made_by = runs / experiment / "results.json", command(experiment, runs)
    results, _ = read_named(path, made_by, ("summary", "settings"))
    if not results["summary"]:
        raise ValueError(f"{path} has no rows: run {made_by} --retry-failed")
    files = (f"{experiment}/results.json", f"{experiment}/summary.csv")
    return Rounding(results["summary"], results["settings"], files)


def draw(data: Rounding) -> Figure:
    """Draw a column per strategy; below the first, the GOD that the paper printed for temperature, on its own axis."""
    names, table = data.strategies, printed_in("table8_temperature")["rows"]
    picture = figure(6.6, 8.8)
    grid = picture.add_gridspec(5, len(names), height_ratios=(1.25, 1.25, 1, 1, 1))
    scales = sorted({*data.scales, *(row["scale"] for row in table)})
    columns: list[list[Axes]] = []
    for column, name in enumerate(names):
        beside_it = columns[0] if columns else [None] * 4
        columns.append([picture.add_subplot(grid[row, column], sharey=upper) for row, upper in enumerate(beside_it)])
        _column(columns[-1], data, name)
        for row, axes in enumerate(columns[-1]):
            scale_axis(axes, scales)
            axes.tick_params(labelbottom=row == 3, labelleft=column == 0)
        columns[-1][-1].set_xlabel("scale  [factor]" if name == "temperature" else "reward scale $s_R$  [factor]")
    titles = ("GOD\n[steps]", "GOD due to rounding\n[% of exact GOD]", "confidences\nequal to 1  [%]")
    for axes, title in zip(columns[0], (*titles, "other set than\nexact  [% of steps]"), strict=True):
        axes.set_ylabel(title)
    columns[0][0].set_ylim(bottom=0)
    for axes in columns[0][2:]:
        axes.set_ylim(0, 104)
    printed = picture.add_subplot(grid[4, 0])
    look = {"color": PRINTED, "marker": "o", "markerfacecolor": "white", "markersize": 5.5, "linewidth": 1.0}
    label = "temperature, as printed in Table 8"
    scale, god = [row["scale"] for row in table], [row["god"] for row in table]
    printed.plot(scale, god, linestyle=(0, (2, 1.5)), label=label, **look)
    scale_axis(printed, scales)
    panel_title(printed, "Temperature, as printed")
    printed.set_ylabel("GOD, reading\nnot said")
    printed.set_xlabel("scale  [factor]")
    printed.set_ylim(bottom=0)
    handles, labels = columns[0][0].get_legend_handles_labels()
    # Beside the printed panel where there is room, else below it all.
    spot: dict[str, Any] = {"loc": "outside lower center"}
    if len(names) > 1:
        spot = {"loc": "center", "bbox_to_anchor": (0.66, 0.09)}
    picture.legend([*handles, *printed.lines[:1]], [*labels, label], **spot)
    return picture


def draw_short(data: Rounding) -> Figure:
    """Draw GOD of the first strategy against the scale, ranked exactly and by rounded confidences."""
    picture = figure(6.6, 3.1)
    axes = picture.subplots()
    name = data.strategies[0]
    if data.random is not None:
        axes.axhline(data.random, color=GREY, linewidth=1.2, linestyle=(0, (6, 3)), label="random order within blocks")
    for ranking, look in RANKINGS.items():
        curve = data.of(name, ranking)
        style: dict[str, Any] = {"color": look.color, "marker": look.marker, "linestyle": look.dash}
        axes.plot([row["scale"] for row in curve], [row["god_steps"] for row in curve], label=look.label, **style)
    scale_axis(axes, data.scales)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("scale  [factor]")
    axes.set_ylabel("GOD  [steps; 0: left to right]")
    panel_title(axes, STRATEGIES[name])
    picture.legend(loc="outside right center")
    return picture


def _column(panels: Sequence[Axes], data: Rounding, name: str) -> None:
    """Draw one strategy: GOD, the share due to rounding, saturated confidences, steps with another set."""
    if (random := data.random) is not None:
        panels[0].axhline(random, color=GREY, linewidth=1.2, linestyle=(0, (6, 3)), label="random order within blocks")
    for ranking, look in RANKINGS.items():
        curve = data.of(name, ranking)
        scale = np.array([row["scale"] for row in curve])
        style: dict[str, Any] = {"color": look.color, "marker": look.marker, "linestyle": look.dash, "markersize": 4}
        panels[0].plot(scale, [row["god_steps"] for row in curve], label=look.label, **style)
        if ranking != "exact":
            due = [data.due(row) for row in curve]
            ends = (np.array([100 * effect[key] for effect in due]) for key in ("share_low", "share", "share_high"))
            low, middle, high = ends
            spread = np.maximum([middle - low, high - middle], 0.0)
            panels[1].errorbar(scale * _SHIFT[ranking], middle, yerr=spread, elinewidth=0.9, capsize=2, **style)
        for axes, field in zip(panels[2:], ("saturated", "inexact"), strict=True):
            axes.plot(scale, [100 * row[field] for row in curve], **style)
    panels[1].axhline(0, color=GREY, linewidth=0.8)
    panel_title(panels[0], STRATEGIES[name])


def scale_axis(axes: Axes, scales: Sequence[float]) -> None:
    """Make x an axis of scales, logarithmic, with a mark at each of them and numbers where a narrow panel has room."""
    axes.set_xscale("log")
    axes.set_xlim(scales[0] / 1.4, scales[-1] * 1.4)
    shown = [scale for scale in scales if scale in (0.01, 0.1, 1.0, 4.0, 32.0)] or [scales[0], scales[-1]]
    axes.set_xticks(shown, [f"{scale:g}" for scale in shown])
    axes.set_xticks([scale for scale in scales if scale not in shown], minor=True)
    axes.xaxis.set_minor_formatter(NullFormatter())


def tables(data: Rounding) -> tuple[Table, ...]:
    """Return every row with what rounding adds, and the GOD of temperature beside the printed one."""
    rows, shown = [], []
    for strategy in data.strategies:
        for scale in data.scales:
            for ranking in RANKINGS:
                for row in (curve_row for curve_row in data.of(strategy, ranking) if curve_row["scale"] == scale):
                    due = data.due(row)
                    rows.append(dict(row) | {"share_due": None if np.isnan(due["share"]) else due["share"]})
                    shown.append(_shown(row, due))
    caption = (
        "GOD in steps and in tokens of each ranking; due to rounding: GOD in steps minus that of the exact ranking on "
        "the same prompts, with its 95 % interval, * where it excludes zero, p of the sign-flip permutation "
        "test, corrected over the scales by Holm's method, and as a share of the exact GOD; equal to 1: share of "
        "candidate confidences; other set: share of steps whose committed set is not the one that exact confidences "
        "choose. GOD is of the whole canvas, end-of-text filler included."
    )
    table = printed_in("table8_temperature")
    printed = {f"{row['scale']:g}": {"GOD, reading not said": row["god"]} for row in table["rows"]}
    here: dict[str, dict[str, float]] = {}
    for ranking, look in RANKINGS.items():
        for row in data.of("temperature", ranking):
            here.setdefault(f"{row['scale']:g}", {})[f"GOD in steps, {look.label}"] = row["god_steps"]
    beside_printed = f"Temperature: {table['where']}, and here. {_apart(data)}"
    return (
        Table("saturation", rows, shown, caption),
        beside("saturation_printed", "scale", printed, here, beside_printed),
    )


def _shown(row: Row, due: Mapping[str, float]) -> dict[str, str | None]:
    if row["ranking"] == "exact":
        effect = share = None
    else:
        effect = f"{due['difference']:+.2f} [{due['low']:+.2f}, {due['high']:+.2f}]" + " *" * excludes_zero(due)
        effect += "" if due["p_holm"] is None else f" p {due['p_holm']:.2g}"
        share = None if np.isnan(due["share"]) else f"{100 * due['share']:+.0f} %"
    return {
        "strategy": STRATEGIES[row["strategy"]],
        "scale": f"{row['scale']:g}",
        "ranking": row["ranking"],
        "GOD, steps": f"{row['god_steps']:.2f}",
        "GOD, tokens": f"{row['god_tokens']:.2f}",
        "due to rounding, steps": effect,
        "share due": share,
        "equal to 1": f"{100 * row['saturated']:.1f} %",
        "other set": f"{100 * row['inexact']:.1f} %",
    }


def _apart(data: Rounding) -> str:
    model = data.settings["model"]
    return (
        f"Here: model {model}, {data.prompts} prompts, {data.settings['length']} tokens in {data.settings['steps']} "
        "steps; the paper: LLaDA, other prompts and length. Shapes can be compared, levels cannot."
    )


def exhibit(runs: Path) -> Exhibit:
    """Return the figure of what rounding does, from the experiment's results below `runs`."""
    data = compute(runs)
    guide = data.settings.get("reward") if set(data.strategies) - {"temperature"} else None
    guided = f" Reward model: {guide_name(guide)}; the constant is each answer's mean factor of RWS." if guide else ""
    random = " The grey line is the mean of a random order within blocks." if data.random is not None else ""
    caption = (
        "Top: mean GOD at each scale, ranked exactly and by softmax as public decoders rank. Here ties go to the "
        f"leftmost position, so a saturated order tends to left to right. Another tie rule need not do so.{random} "
        "Below: what rounding adds to GOD or takes from it, on the same prompts, over the mean exact GOD, with 95 % "
        "intervals of the difference; the share of candidate confidences that are exactly 1 in that "
        "precision (for the exact ranking, in float64, which it does not rank by); the share of steps that commit "
        f"another set than the exact one. {_apart(data)}{guided} GOD is of the whole canvas and so includes "
        "end-of-text filler, of which short answers have more."
    )
    short = f"GOD against the scale, ranked exactly and by softmax; {data.prompts} prompts. GOD is of the whole canvas."
    return Exhibit(
        "What rounding does to the generation order",
        (
            Picture("rounding", draw_short(data), short, _alt(data)),
            Picture("saturation", draw(data), caption, _alt(data)),
        ),
        tables(data),
        conclusions=conclusions(data),
        inputs=data.inputs,
        story=_story(data),
    )


def _story(data: Rounding) -> Story | None:
    """Return what the page says first: what rounding to bfloat16 makes of GOD at the largest scale."""
    name = data.strategies[0]
    rows = data.of(name, "bfloat16")
    due = data.due(rows[-1]) if rows else {}
    if not rows or np.isnan(due["share"]):
        return None
    row, share = rows[-1], 100 * due["share"]
    change = "lowers" if share < 0 else "raises"
    ends = sorted(abs(100 * due[end]) for end in ("share_low", "share_high"))
    left = ": the order becomes almost left to right" if share < -75 else ""
    return Story(
        f"At scale {row['scale']:g}, rounding to bfloat16 {change} GOD by {abs(share):.0f} %{left}.",
        (
            f"At large scales confidences round to exactly 1: {100 * row['saturated']:.0f} % of them in bfloat16 at "
            f"{row['scale']:g}. Then ties decide, and here they go to the leftmost position.",
            f"{100 * row['inexact']:.0f} % of the steps commit another set than the exact ranking. Log-odds in float64 "
            "do not saturate.",
        ),
        f"On {data.prompts} prompts; by {ends[0]:.0f} to {ends[1]:.0f} % with 95 % confidence. The paper does "
        "not print its precision.",
        "rounding",
    )


def _alt(data: Rounding) -> str:
    parts = []
    for name in data.strategies:
        ends = {ranking: data.of(name, ranking)[-1] for ranking in RANKINGS if data.of(name, ranking)}
        values = ", ".join(f"{row['god_steps']:.2f} {ranking}" for ranking, row in ends.items())
        parts.append(f"{STRATEGIES[name]} at scale {data.scales[-1]:g}: GOD {values}.")
    return "Panels of curves against the scale, a column per strategy and a curve per ranking. " + " ".join(parts)
