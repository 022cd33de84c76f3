"""What guidance costs on the hardware: printed and measured seconds beside the least that the same work needs.

Shows: the printed seconds of an A100 and those measured on an H100, each beside the least time of its operations and
bytes. The least time is arithmetic, from shapes and the device's limits.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from paper_figures.exhibits.shared.exhibit import (
    LINES,
    Dots,
    Exhibit,
    Line,
    Mark,
    Picture,
    draw_dots,
    figure,
    height_of,
    joint_legend,
    panel_title,
)
from paper_figures.extra.bench.roofline import Ceilings, decode_parts, least_seconds
from paper_figures.extra.bench.shapes import shapes_named
from paper_figures.table import Column, Row, Table, make_table
from rws_decode.canvas.schedule import block_plan
from rws_decode.common.files import read_json
from rws_decode.common.palette import BLUE
from rws_theory.printed import printed_in

NEEDS: tuple[str, ...] = ()
# NVIDIA's datasheet: dense bfloat16 on tensor cores, the memory of the 40 GB card.
A100 = Ceilings(1.555e12, 312e12, "bfloat16")
PROMPT = 64  # tokens; the paper says neither how long its prompts are nor its precision

# By their name in the table "overhead" of `bench`: what a reader calls them, and their way of RWS.
_WAYS = {"naive": ("loops as published", "naive rws"), "ours": ("compact decoder", "rws")}
_LEAST = Line(BLUE, "o", "solid", "least time")


def measured() -> dict[str, Any]:
    """Return what `bench` measured on an H100, as `paper_figures.extra.bench.device` says."""
    return read_json(Path(__file__).with_name("h100-llada-8b.json"))


def printed_table() -> Table:
    """Return the printed seconds beside the least ones, of a decode in the paper's setting (`bench.roofline`)."""
    printed, setting, shapes = printed_in("table11_overhead"), printed_in("setting"), shapes_named("llada-8b")
    plan = block_plan(setting["length"], setting["steps"], setting["block"])
    default, rws = (
        least_seconds(decode_parts(shapes, plan, rows=1, prompt=PROMPT, itemsize=2, rewarded=rewarded), A100)
        for rewarded in (False, True)
    )
    # The arithmetic is of the shape of Llama 3 and 3.1 of 8B.
    known = {row["model"]: rws for row in printed_in("table9_reward_models")["rows"] if row["size"] == "8B"}
    decodes = [("default", printed["default_seconds"], default)]
    decodes += [(f"RWS, {row['model']}", row["seconds"], known.get(row["model"])) for row in printed["rows"]]
    rows = [
        {"method": name, "paper: seconds": seconds, "least seconds": floor, "over the least": floor and seconds / floor}
        for name, seconds, floor in decodes
    ]
    columns = [Column("method"), Column("paper: seconds", form=".3f"), Column("least seconds", form=".3f")]
    caption = (
        f"Seconds: {printed['where']}. By arithmetic, not measured: the least time of the same "
        f"decode. Assumed: the shapes of LLaDA-8B and Llama-3.1-8B, two bytes a weight, {PROMPT} tokens of prompt, "
        f"{setting['length']} tokens in {setting['steps']} steps, blocks of {setting['block']}, batch 1; 312 TFLOP/s "
        "and 1,555 GB/s (NVIDIA's datasheet), which no program reaches. The reward's shape is known here for those of "
        "8B alone."
    )
    return make_table("device_cost_printed", rows, [*columns, Column("over the least", form=".1f")], caption)


def measured_table() -> Table:
    """Return what RWS adds to confidence decoding on an H100, by decoder and batch."""
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


def draw(printed: Table, measured: Table) -> Figure:
    """Draw the seconds of both tables, with the least time where the tables have it."""
    as_printed = {row["method"]: row for row in printed.rows}
    here = {f"{row['decoder']}, batch {row['batch']}": row for row in measured.rows}
    default, rws = LINES["default"], LINES["rws"]
    seconds = _marks(as_printed, "paper: seconds")
    above = [
        Dots(default, "default, as printed", {"default": seconds.pop("default")}, hollow=True),
        Dots(rws, "RWS, as printed", seconds, hollow=True),
        Dots(_LEAST, _LEAST.label, _marks(as_printed, "least seconds")),
    ]
    below = [
        Dots(default, "default", _marks(here, "default seconds")),
        Dots(rws, "RWS", _marks(here, "RWS seconds")),
        Dots(_LEAST, _LEAST.label, _marks(here, "least RWS seconds")),
    ]
    heights = height_of([*as_printed], 2), height_of([*here], 3)
    picture = figure(6.6, 1.2 + sum(heights))
    panels = picture.subplots(2, height_ratios=heights)
    titles = "Printed: an A100, batch 1", "Measured: an H100, a reward of 8B (least time: of RWS)"
    for axes, title, rows, series in zip(panels, titles, (as_printed, here), (above, below), strict=True):
        draw_dots(axes, [*rows], series)
        axes.set_xlim(left=0)
        axes.set_xlabel("seconds per answer  [s]")
        panel_title(axes, title)
    joint_legend(picture, 3)
    return picture


def _marks(rows: Mapping[str, Row], column: str) -> dict[str, Mark]:
    return {name: (row[column], None, None) for name, row in rows.items() if row[column] is not None}


def exhibit(runs: Path) -> Exhibit:
    """Return printed and measured seconds; `runs` is not read."""
    tables = printed_table(), measured_table()
    caption = (
        "Seconds per answer, as printed and as measured. Least time: that of the operations and bytes of the same "
        "decode at the device's limits. The tables say what is assumed and how it was measured."
    )
    alt = "Dots by method and decoder: printed and measured seconds of the default and of RWS, and least times."
    increases = [row["increase, %"] for row in tables[1].rows]
    summary = (
        f"On an H100, a reward of 8B adds {min(increases):.0f} to {max(increases):.0f} % to the default's seconds "
        "(random weights, batches of 1 to 16, loops as published and ours); the printed default takes "
        f"{tables[0].rows[0]['over the least']:.1f} times its least time."
    )
    pictures = (Picture("device_cost", draw(*tables), caption, alt),)
    return Exhibit("What guidance costs on the hardware", pictures, tables, (summary,))
