"""What guidance costs on the hardware: printed and measured seconds beside the least that the same work needs.

Shows: the printed seconds of an A100 and those measured on an H100, each divided into the least time of its operations
and bytes and the rest. The least time is arithmetic, from shapes and the device's limits.
"""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import pandas
from matplotlib.figure import Figure

from paper_figures.bench.roofline import Ceilings, decode_parts, least_seconds
from paper_figures.bench.shapes import shapes_named
from paper_figures.exhibits.dot_plot import height_of
from paper_figures.exhibits.exhibit import Exhibit, Picture
from paper_figures.exhibits.style import LINES, figure, joint_legend, panel_title
from paper_figures.table import Column, Table, make_table
from rws_decode.canvas.schedule import block_plan
from rws_decode.common.palette import BLUE
from rws_theory.printed import printed_in

NEEDS: tuple[str, ...] = ()
MEASURED = Path(__file__).parents[1] / "measured" / "h100-llada-8b.json"
# NVIDIA's datasheet: dense bfloat16 on tensor cores, the memory of the 40 GB card.
A100 = Ceilings(1.555e12, 312e12, "bfloat16")
PROMPT = 64  # tokens; the paper says neither how long its prompts are nor its precision
_BYTES = 2  # per weight and per logit

# What a printed time is made of: its words, colour and hatch.
_PARTS = {
    "default": ("default: least time", BLUE, ""),
    "default_rest": ("default: the rest", "#BBD6E8", "//"),
    "reward": ("reward: least time", LINES["rws"].color, ""),
    "reward_rest": ("reward: the rest", "#F3C6A5", "\\\\"),
    "extra": ("reward of a shape not known here", "#E2E2E2", ".."),
}
# By their name in the table "overhead" of `bench`: what a reader calls them, and their way of RWS.
_WAYS = {"naive": ("loops as published", "naive rws"), "ours": ("compact decoder", "rws")}


@cache
def least() -> tuple[float, float]:
    """Return the least seconds of a decode by the default, and what a reward of 8B adds to it at every step.

    The paper's setting, batch 1, LLaDA-8B's shape and a reward of Llama-3.1-8B's, which reads all of its text anew at
    every step. `paper_figures.bench.roofline` says what is counted.

    >>> [round(seconds, 2) for seconds in least()]
    [1.95, 1.86]
    """
    setting, shapes = printed_in("setting"), shapes_named("llada-8b")
    plan = block_plan(setting["length"], setting["steps"], setting["block"])
    default, rws = (
        least_seconds(decode_parts(shapes, plan, rows=1, prompt=PROMPT, itemsize=_BYTES, rewarded=rewarded), A100)
        for rewarded in (False, True)
    )
    return default, rws - default


def printed_parts() -> pandas.DataFrame:
    """Return what the printed seconds of the default and of RWS are made of: a row for each, a column for each part."""
    table, (least_default, least_reward) = printed_in("table11_overhead"), least()
    # The arithmetic is of the shape of Llama 3 and 3.1 of 8B.
    known = [row["model"] for row in printed_in("table9_reward_models")["rows"] if row["size"] == "8B"]
    bars: dict[str, dict[str, float]] = {"default": {}}
    for row in table["rows"]:
        extra = row["seconds"] - table["default_seconds"]
        parts = {"reward": least_reward, "reward_rest": extra - least_reward}
        bars[f"RWS, {row['model']}"] = parts if row["model"] in known else {"extra": extra}
    base = {"default": least_default, "default_rest": table["default_seconds"] - least_default}
    return pandas.DataFrame([base | parts for parts in bars.values()], [*bars], [*_PARTS])


@cache
def measured() -> dict[str, Any]:
    """Return what `bench` measured on an H100, as `paper_figures.bench.device` says."""
    return json.loads(MEASURED.read_text(encoding="utf-8"))


def measured_parts() -> pandas.DataFrame:
    """Return the same of an answer's measured seconds, a row for each decoder and batch."""
    rows = pandas.DataFrame(measured_table().rows).sort_values(["batch", "decoder"], ascending=[True, False])
    rows.index = rows["decoder"] + ", batch " + rows["batch"].astype(str)
    floors = {row["batch"]: row["seconds"] for row in measured()["roofline"] if row["method"] == "default"}
    default, seconds = rows["batch"].map(floors) / rows["batch"], rows["default seconds"]
    reward = rows["least RWS seconds"] - default
    parts = {"default": default, "default_rest": seconds - default, "reward": reward}
    return pandas.DataFrame(parts | {"reward_rest": rows["RWS seconds"] - seconds - reward}, columns=[*_PARTS])


def draw() -> Figure:
    """Draw printed and measured seconds as bars, parted into least time and the rest."""
    panels = {"Printed (A100)": printed_parts(), "Measured (H100): RWS, reward of 8B": measured_parts()}
    picture = figure(6.6, 1.5 + sum(height_of([*bars.index], 1) for bars in panels.values()))
    ratios = [len(bars) + 1 for bars in panels.values()]
    for axes, (title, bars) in zip(picture.subplots(2, height_ratios=ratios), panels.items(), strict=True):
        ends = bars.fillna(0.0).cumsum(axis=1)
        for name, (words, color, hatch) in _PARTS.items():
            look: dict[str, Any] = {"color": color, "hatch": hatch, "label": words}
            left = ends[name] - bars[name]
            axes.barh(bars.index, bars[name], 0.72, left, edgecolor="white", linewidth=0, **look)
        for row, end in enumerate(ends["extra"]):
            axes.annotate(f"{end:.1f}", (end, row), xytext=(4, 0), textcoords="offset points", va="center")
        axes.set_ylim(len(bars) - 0.4, -0.6)
        axes.set_xlim(0, 1.08 * ends["extra"].max())
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="y", visible=False)
        panel_title(axes, title)
        axes.set_xlabel("seconds per answer  [s]")
    joint_legend(picture, 3)
    return picture


def table() -> Table:
    """Return the printed seconds beside the least ones."""
    parts, setting = printed_parts(), printed_in("setting")
    seconds = parts.sum(axis=1)
    floors = (parts["reward"].fillna(0.0) + parts["default"]).where(parts["extra"].isna())
    rows = pandas.DataFrame({"paper: seconds": seconds, "least seconds": floors, "over the least": seconds / floors})
    rows = rows.rename_axis("method").reset_index().astype(object).replace({math.nan: None})
    columns = [Column("method"), Column("paper: seconds", form=".3f"), Column("least seconds", form=".3f")]
    caption = (
        f"Seconds: {printed_in('table11_overhead')['where']}. By arithmetic, not measured: the least time of the same "
        f"decode. Assumed: the shapes of LLaDA-8B and Llama-3.1-8B, two bytes a weight, {PROMPT} tokens of prompt, "
        f"{setting['length']} tokens in {setting['steps']} steps, blocks of {setting['block']}, batch 1; 312 TFLOP/s "
        "and 1,555 GB/s (NVIDIA's datasheet), which no program reaches. The reward's shape is known here for those of "
        "8B alone."
    )
    return make_table("device_cost_printed", rows, [*columns, Column("over the least", form=".1f")], caption)


def measured_table() -> Table:
    """Return what RWS adds to the default on an H100, by decoder and batch."""
    about, settings = measured()["provenance"], measured()["settings"]
    calls = {(row["batch"], row["way"]): row["reward_calls"] for row in measured()["ways"]}
    floors = {(row["batch"], row["method"]): row["seconds"] for row in measured()["roofline"]}
    rows = [
        {
            "decoder": _WAYS[row["of"]][0],
            "batch": row["batch"],
            "default seconds": row["default_seconds"] / row["batch"],
            "RWS seconds": row["rws_seconds"] / row["batch"],
            "least RWS seconds": floors[row["batch"], "rws"] / row["batch"],
            "reward calls": calls[row["batch"], _WAYS[row["of"]][1]] / row["batch"],
            "increase, %": row["increase"],
            "added GB": row["added_bytes"] / 1e9,
        }
        for row in measured()["overhead"]
        if row["of"] in _WAYS
    ]
    columns = [Column("decoder"), Column("batch")]
    columns += [Column(name, form=".2f" if "seconds" in name else ".1f") for name in [*rows[0]][2:]]
    caption = (
        f"Seconds and reward calls per answer. Measured on one {about['device']}, PyTorch {about['torch']}: "
        f"{settings['length']} tokens in {settings['steps']} steps, blocks of {settings['block']}, a prompt of "
        f"{settings['prompt']} tokens, {settings['dtype']}, random weights of LLaDA-8B's and Llama-3.1-8B's shapes. "
        f"Command: {about['command']}"
    )
    return make_table("device_cost_measured", rows, columns, caption)


def exhibit(runs: Path) -> Exhibit:
    """Return printed and measured seconds, parted; `runs` is not read."""
    floor, printed = least()[0], printed_in("table11_overhead")
    caption = (
        f"Above: seconds per answer as printed in {printed['where']}. Below: measured. Least time: that of the "
        "operations and bytes of the same decode at the device's limits. The tables say what is assumed and how it was "
        "measured."
    )
    alt = "Stacked bars of printed and measured seconds: least times and the rest, of the default and of the reward."
    increases = [100 * (row["seconds"] / printed["default_seconds"] - 1) for row in printed["rows"]]
    ours = [row["increase"] for row in measured()["overhead"] if row["of"] in _WAYS]
    said = (
        f"On an H100, a reward of 8B adds {min(ours):.0f} to {max(ours):.0f} % to the default's seconds (random "
        f"weights, batches of 1 to 16, loops as published and ours); the printed {min(increases):+.1f} to "
        f"{max(increases):+.1f} % are of a default that takes {printed['default_seconds'] / floor:.1f} times "
        "its least time."
    )
    pictures = (Picture("device_cost", draw(), caption, alt),)
    return Exhibit("What guidance costs on the hardware", pictures, (table(), measured_table()), (said,))
