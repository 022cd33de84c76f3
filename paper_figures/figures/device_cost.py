"""What guidance costs on the hardware: the printed seconds beside the least that an A100 needs for the same work.

Shows: the printed seconds, divided into the least time of their operations and bytes and the rest. All of it is
arithmetic, from shapes and a datasheet.
Inputs: none. Run time: five seconds, mostly imports.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

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
COMMAND = "python -m rws_decode bench --shape llada-8b --device cuda --out FILE"
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


def draw() -> Figure:
    """Draw the printed seconds as bars, parted into least time and the rest."""
    bars = printed_parts()
    picture = figure(6.6, 1.0 + height_of(list(bars), 1))
    axes = picture.subplots()
    for row, parts in enumerate(bars.values()):
        start = 0.0
        for part, size in parts.items():
            _, color, hatch = _PARTS[part]
            axes.barh(row, size, 0.72, start, color=color, hatch=hatch, edgecolor="white", linewidth=0)
            start += size
        axes.annotate(f"{start:.1f}", (start, row), xytext=(4, 0), textcoords="offset points", va="center")
    axes.set_yticks(range(len(bars)), ["default", *(f"RWS, {name}" for name in list(bars)[1:])])
    axes.set_ylim(len(bars) - 0.4, -0.6)
    axes.set_xlim(0, 1.08 * max(sum(parts.values()) for parts in bars.values()))
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("seconds per answer, as printed  [s]")
    panel_title(axes, "The printed seconds, and the least that an A100 needs for the same work")
    looks: list[dict[str, Any]] = [
        {"label": words, "facecolor": color, "hatch": hatch} for words, color, hatch in _PARTS.values()
    ]
    patches = [Patch(edgecolor="white", **look) for look in looks]
    picture.legend(handles=patches, loc="outside lower center", ncols=3)
    return picture


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


def exhibit(runs: Path) -> Exhibit:
    """Return the printed seconds, parted; `runs` is not read."""
    floor, printed = least(), printed_in("table11_overhead")
    caption = (
        f"Seconds per answer as printed in {printed['where']}. Least time: that of the operations and bytes of the "
        f"same decode at the limits of an A100; arithmetic, not a measurement. {_assumed()}"
    )
    alt = (
        f"Stacked bars of the printed seconds. Of the default's, {floor.default:.2f} seconds are its least time; of "
        f"the reward's, for models of 8B, {floor.reward:.2f}."
    )
    increases = [100 * (row["seconds"] / printed["default_seconds"] - 1) for row in printed["rows"]]
    said = (
        f"A reward of 8B, read anew at every step, costs {100 * floor.reward / floor.default:+.0f} % where all runs at "
        f"an A100's limits (arithmetic); the printed {min(increases):+.1f} to {max(increases):+.1f} % are of a default "
        f"that takes {printed['default_seconds'] / floor.default:.1f} times its least time."
    )
    return Exhibit(
        "What guidance costs on the hardware",
        (Picture("device_cost", draw(), caption, alt),),
        (table(),),
        conclusions=(said, f"No decode of that scale is measured on a GPU here; this would: {COMMAND}."),
    )
