"""What guidance costs on the hardware: printed and measured seconds beside the least that the same work needs.

Shows: the printed seconds of an A100 and those measured on an H100, each divided into the least time of its operations
and bytes and the rest. The least time is arithmetic, from shapes and the device's limits.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from paper_figures.bench.roofline import Ceilings, decode_parts, least_seconds
from paper_figures.bench.shapes import shapes_named
from paper_figures.exhibits.dot_plot import height_of
from paper_figures.exhibits.exhibit import Exhibit, Picture
from paper_figures.exhibits.style import LINES, figure, panel_title
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
# By their name in the table "overhead" of `bench`: what a reader calls them, and their ways of the default and of RWS.
_WAYS = {
    "naive": ("loops as published", "plain", "naive rws"),
    "ours": ("compact decoder", "default", "rws"),
}


class Least(NamedTuple):
    """The least time of a decode by the default in seconds, and what a reward of 8B adds to it at every step."""

    default: float
    reward: float


@cache
def least() -> Least:
    """Return the least of the paper's setting, batch 1, for LLaDA-8B's shape and a reward of Llama-3.1-8B's.

    The reward reads all of its text anew at every step. `paper_figures.bench.roofline` says what is counted.

    >>> [round(seconds, 2) for seconds in least()]
    [1.95, 1.86]
    """
    setting, shapes = printed_in("setting"), shapes_named("llada-8b")
    plan = block_plan(setting["length"], setting["steps"], setting["block"])
    default, rws = (
        least_seconds(decode_parts(shapes, plan, rows=1, prompt=PROMPT, itemsize=_BYTES, rewarded=rewarded), A100)
        for rewarded in (False, True)
    )
    return Least(default, rws - default)


def printed_parts() -> dict[str, dict[str, float]]:
    """Return "default" and each reward model -> what its printed seconds are made of, as `_PARTS` calls the parts."""
    table, floor = printed_in("table11_overhead"), least()
    # The arithmetic is of the shape of Llama 3 and 3.1 of 8B.
    known = [row["model"] for row in printed_in("table9_reward_models")["rows"] if row["size"] == "8B"]
    base = {"default": floor.default, "default_rest": table["default_seconds"] - floor.default}
    rows = {"default": base}
    for row in table["rows"]:
        extra = row["seconds"] - table["default_seconds"]
        added = {"reward": floor.reward, "reward_rest": extra - floor.reward}
        rows[row["model"]] = base | (added if row["model"] in known else {"extra": extra})
    return rows


@cache
def measured() -> dict[str, Any]:
    """Return what `bench` measured on an H100, as `paper_figures.bench.device` says."""
    return json.loads(MEASURED.read_text(encoding="utf-8"))


def measured_parts() -> dict[str, dict[str, float]]:
    """Return decoder and batch -> what an answer's measured seconds are made of, as `_PARTS` calls the parts."""
    result = measured()
    floors = {(row["batch"], row["method"]): row["seconds"] for row in result["roofline"]}
    seconds = {(row["batch"], row["way"]): row["median_seconds"] for row in result["ways"]}
    bars = {}
    for batch in result["settings"]["batches"]:
        default, reward = floors[batch, "default"], floors[batch, "rws"] - floors[batch, "default"]
        for words, plain, guided in _WAYS.values():
            base, extra = seconds[batch, plain], seconds[batch, guided] - seconds[batch, plain]
            rests = {"default_rest": base - default, "reward_rest": extra - reward}
            parts = {"default": default, **rests, "reward": reward}
            bars[f"{words}, batch {batch}"] = {name: parts[name] / batch for name in _PARTS if name in parts}
    return bars


def draw() -> Figure:
    """Draw printed and measured seconds as bars, parted into least time and the rest."""
    panels = (
        ("Printed (A100)", {{"default": "default"}.get(n, f"RWS, {n}"): parts for n, parts in printed_parts().items()}),
        ("Measured (H100): RWS, reward of 8B", measured_parts()),
    )
    picture = figure(6.6, 1.5 + sum(height_of(list(bars), 1) for _, bars in panels))
    ratios = [len(bars) + 1 for _, bars in panels]
    for axes, (title, bars) in zip(picture.subplots(2, height_ratios=ratios), panels, strict=True):
        _draw_bars(axes, bars)
        panel_title(axes, title)
        axes.set_xlabel("seconds per answer  [s]")
    looks: list[dict[str, Any]] = [
        {"label": words, "facecolor": color, "hatch": hatch} for words, color, hatch in _PARTS.values()
    ]
    patches = [Patch(edgecolor="white", **look) for look in looks]
    picture.legend(handles=patches, loc="outside lower center", ncols=3)
    return picture


def _draw_bars(axes: Axes, bars: dict[str, dict[str, float]]) -> None:
    for row, parts in enumerate(bars.values()):
        start = 0.0
        for part, size in parts.items():
            _, color, hatch = _PARTS[part]
            axes.barh(row, size, 0.72, start, color=color, hatch=hatch, edgecolor="white", linewidth=0)
            start += size
        axes.annotate(f"{start:.1f}", (start, row), xytext=(4, 0), textcoords="offset points", va="center")
    axes.set_yticks(range(len(bars)), list(bars))
    axes.set_ylim(len(bars) - 0.4, -0.6)
    axes.set_xlim(0, 1.08 * max(sum(parts.values()) for parts in bars.values()))
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)


def table() -> Table:
    """Return the printed seconds beside the least ones."""
    rows = []
    for name, parts in printed_parts().items():
        seconds = {"paper: seconds": sum(parts.values()), "least seconds": parts.get("reward", 0.0) + parts["default"]}
        known = name == "default" or "reward" in parts
        rows.append({"method": name if name == "default" else f"RWS, {name}"} | seconds)
        rows[-1]["least seconds"] = seconds["least seconds"] if known else None
        rows[-1]["over the least"] = seconds["paper: seconds"] / seconds["least seconds"] if known else None
    columns = [Column("method"), Column("paper: seconds", form=".3f"), Column("least seconds", form=".3f")]
    caption = (
        f"Seconds: {printed_in('table11_overhead')['where']}. By arithmetic, not measured: the least time of the same "
        f"decode. {_assumed()} The reward's shape is known here for those of 8B alone."
    )
    return make_table("device_cost_printed", rows, [*columns, Column("over the least", form=".1f")], caption)


def _assumed() -> str:
    setting = printed_in("setting")
    return (
        f"Assumed: the shapes of LLaDA-8B and Llama-3.1-8B, two bytes a weight, {PROMPT} tokens of "
        f"prompt, {setting['length']} tokens in {setting['steps']} steps, blocks of {setting['block']}, batch 1; "
        "312 TFLOP/s and 1,555 GB/s (NVIDIA's datasheet), which no program reaches."
    )


def measured_table() -> Table:
    """Return what RWS adds to the default on an H100, by decoder and batch."""
    calls = {(row["batch"], row["way"]): row["reward_calls"] for row in measured()["ways"]}
    floors = {(row["batch"], row["method"]): row["seconds"] for row in measured()["roofline"]}
    rows = [
        {
            "decoder": _WAYS[row["of"]][0],
            "batch": row["batch"],
            "default seconds": row["default_seconds"] / row["batch"],
            "RWS seconds": row["rws_seconds"] / row["batch"],
            "least RWS seconds": floors[row["batch"], "rws"] / row["batch"],
            "reward calls": calls[row["batch"], _WAYS[row["of"]][2]] / row["batch"],
            "increase, %": row["increase"],
            "added GB": row["added_bytes"] / 1e9,
        }
        for row in measured()["overhead"]
        if row["of"] in _WAYS
    ]
    forms = {"default seconds": ".2f", "RWS seconds": ".2f", "least RWS seconds": ".2f", "reward calls": ".1f"}
    forms |= {"increase, %": ".1f", "added GB": ".1f"}
    columns = [Column("decoder"), Column("batch"), *(Column(name, form=form) for name, form in forms.items())]
    return make_table("device_cost_measured", rows, columns, f"Seconds and reward calls per answer. {_how()}")


def _how() -> str:
    about, settings = measured()["provenance"], measured()["settings"]
    return (
        f"Measured on one {about['device']}, PyTorch {about['torch']}: {settings['length']} tokens in "
        f"{settings['steps']} steps, blocks of {settings['block']}, a prompt of {settings['prompt']} tokens, "
        f"{settings['dtype']}, random weights of LLaDA-8B's and Llama-3.1-8B's shapes. Command: {about['command']}"
    )


def exhibit(runs: Path) -> Exhibit:
    """Return printed and measured seconds, parted; `runs` is not read."""
    floor, printed = least(), printed_in("table11_overhead")
    caption = (
        f"Above: seconds per answer as printed in {printed['where']}. Below: measured. Least time: that of the "
        f"operations and bytes of the same decode at the device's limits. {_assumed()} {_how()}"
    )
    alt = (
        f"Stacked bars of printed and measured seconds. Of the printed default's, {floor.default:.2f} seconds are its "
        f"least time; of the reward's, for models of 8B, {floor.reward:.2f}."
    )
    increases = [100 * (row["seconds"] / printed["default_seconds"] - 1) for row in printed["rows"]]
    ours = [row["increase"] for row in measured()["overhead"] if row["of"] in _WAYS]
    said = (
        f"On an H100, a reward of 8B adds {min(ours):.0f} to {max(ours):.0f} % to the default's seconds (random "
        f"weights, batches of 1 to 16, loops as published and ours); the printed {min(increases):+.1f} to "
        f"{max(increases):+.1f} % are of a default that takes {printed['default_seconds'] / floor.default:.1f} times "
        "its least time."
    )
    return Exhibit(
        "What guidance costs on the hardware",
        (Picture("device_cost", draw(), caption, alt),),
        (table(), measured_table()),
        conclusions=(said,),
    )
