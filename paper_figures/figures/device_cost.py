"""What guidance costs on the hardware: the printed seconds beside the least that an A100 needs for the same work.

Shows: the printed seconds, divided into the least time of their operations and bytes and the rest; the operations and
bytes by part of a step. All of it is arithmetic.
Inputs: none. Run time: five seconds, mostly imports.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from paper_figures.exhibits.dot_plot import height_of
from paper_figures.exhibits.exhibit import Exhibit, Picture
from paper_figures.exhibits.style import LINES, figure, panel_title
from paper_figures.figures.parts.device_cost_least_time import A100, ASSUMED_PROMPT, Least, least
from paper_figures.table import Table
from rws_decode.common.palette import BLUE
from rws_theory.printed import printed_in

NEEDS: tuple[str, ...] = ()
COMMAND = "python -m rws_decode bench --shape llada-8b --device cuda --out FILE"

# What a printed time is made of: its words, colour and hatch.
_PARTS = {
    "default": ("default: least time", BLUE, ""),
    "default_rest": ("default: the rest", "#BBD6E8", "//"),
    "reward": ("reward: least time", LINES["rws"].color, ""),
    "reward_rest": ("reward: the rest", "#F3C6A5", "\\\\"),
    "extra": ("reward of a shape not known here", "#E2E2E2", ".."),
}


def of_8b() -> list[str]:
    """Return the reward models whose shape the arithmetic uses: Llama 3 and 3.1 of 8B.

    >>> of_8b()
    ['Skywork', 'LlamaOB', 'QRM']
    """
    return [row["model"] for row in printed_in("table9_reward_models")["rows"] if row["size"] == "8B"]


def printed_parts(floor: Least) -> dict[str, dict[str, float]]:
    """Return "default" and each reward model -> what its printed seconds are made of, as `_PARTS` calls the parts."""
    table, known = printed_in("table11_overhead"), of_8b()
    base = {"default": floor.default_seconds, "default_rest": table["default_seconds"] - floor.default_seconds}
    rows = {"default": base}
    for row in table["rows"]:
        extra = row["seconds"] - table["default_seconds"]
        added = {"reward": floor.reward_seconds, "reward_rest": extra - floor.reward_seconds}
        rows[row["model"]] = base | (added if row["model"] in known else {"extra": extra})
    return rows


def draw(floor: Least) -> Figure:
    """Draw the printed seconds as bars, parted into least time and the rest."""
    bars = printed_parts(floor)
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
    panel_title(axes, f"The printed seconds, and the least that an {A100.name} needs for the same work")
    looks: list[dict[str, Any]] = [
        {"label": words, "facecolor": color, "hatch": hatch} for words, color, hatch in _PARTS.values()
    ]
    patches = [Patch(edgecolor="white", **look) for look in looks]
    picture.legend(handles=patches, loc="outside lower center", ncols=3)
    return picture


def tables(floor: Least) -> tuple[Table, ...]:
    """Return the printed seconds beside the least ones, and the parts of a step."""
    return (_printed(floor), _steps(floor))


def _printed(floor: Least) -> Table:
    table = printed_in("table11_overhead")
    base, known = table["default_seconds"], of_8b()
    rows: list[dict[str, Any]] = [
        {"method": "default", "paper: seconds": base, "least seconds": floor.default_seconds}
        | {"over the least": base / floor.default_seconds, "paper: increase, %": None, "increase at its least, %": None}
    ]
    for row in table["rows"]:
        extra = row["seconds"] - base
        added = floor.reward_seconds if row["model"] in known else None
        rows.append(
            {"method": f"RWS, {row['model']}", "paper: seconds": row["seconds"], "least seconds": added}
            | {"over the least": None if added is None else extra / added}
            | {"paper: increase, %": 100 * extra / base}
            | {"increase at its least, %": 100 * extra / floor.default_seconds}
        )
    caption = (
        f"Seconds: {table['where']}, {table['task']}. By arithmetic, not measured: the default's least time; for RWS, "
        "the least that a reward read anew at every step adds to it; how many times that the printed (extra) seconds "
        f"are; and the increase of the same extra seconds over a default at its least time. {_assumed()} The reward's "
        "shape is known here for those of 8B alone."
    )
    return Table("device_cost_printed", rows, [{name: _text(name, row[name]) for name in row} for row in rows], caption)


def _steps(floor: Least) -> Table:
    numbers = {"Gflop": "gigaflop", "MB": "megabytes", "ms": "ms", "bound by": "bound"}
    default = {part["part"]: part for part in floor.default}
    rows: list[dict[str, Any]] = []
    for part in floor.rws:
        row: dict[str, Any] = {"part": part["part"]}
        for name, of in (("default", default.get(part["part"])), ("RWS", part)):
            row |= {f"{name}: {label}": None if of is None else of[key] for label, key in numbers.items()}
        rows.append(row)
    whole = [name for name in rows[0] if name != "part" and not name.endswith("bound by")]
    total = {name: sum(row[name] or 0.0 for row in rows) if name in whole else None for name in rows[0]}
    rows.append(total | {"part": "all"})
    caption = (
        f"The least work of a step, means over the steps, and its least time on an {A100.name}: each part takes the "
        "longer of its operations and its bytes at the device's limits. RWS asks at every step, and the reward model "
        "reads prompt and answer anew. Arithmetic, nothing measured."
    )
    return Table("device_cost_steps", rows, [{name: _text(name, row[name]) for name in row} for row in rows], caption)


def _text(column: str, value: Any) -> str | None:
    """Return a number to the digits that its column is known to, seconds as printed."""
    if value is None or isinstance(value, str):
        return value
    if "%" in column:
        return f"{value:+.1f}"
    if column.endswith("seconds"):
        return f"{value:.{printed_in('table11_overhead')['decimals']}f}"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.2f}"


def _assumed() -> str:
    setting = printed_in("setting")
    return (
        f"Assumed: the shapes of LLaDA-8B and Llama-3.1-8B, two bytes a weight, {ASSUMED_PROMPT} tokens of "
        f"prompt, {setting['length']} tokens in {setting['steps']} steps, blocks of {setting['block']}, batch 1; "
        f"{A100.rate / 1e12:g} TFLOP/s and {A100.bandwidth / 1e9:,g} GB/s ({A100.where}), which no program reaches."
    )


def conclusions(floor: Least) -> tuple[str, ...]:
    """Return what a reward costs by arithmetic beside what was printed, and the command that measures."""
    table = printed_in("table11_overhead")
    base = table["default_seconds"]
    printed = [100 * (row["seconds"] / base - 1) for row in table["rows"]]
    return (
        f"A reward of 8B, read anew at every step, costs {floor.increase(1):+.0f} % where all runs at an {A100.name}'s "
        f"limits (arithmetic); the printed {min(printed):+.1f} to {max(printed):+.1f} % are of a default that takes "
        f"{base / floor.default_seconds:.1f} times its least time. Here no decode of that scale is measured on a GPU.",
        f"This measures the compact decoder at that scale on a GPU: {COMMAND}.",
    )


def exhibit(runs: Path) -> Exhibit:
    """Return the printed seconds, parted, and the tables of the arithmetic."""
    floor = least()
    caption = (
        f"Seconds per answer as printed in {printed_in('table11_overhead')['where']}. Least time: that of the "
        f"operations and bytes of the same decode at the limits of an {A100.name}; arithmetic, not a measurement. "
        f"{_assumed()}"
    )
    whole = " ".join(f"{name}: {sum(parts.values()):.1f} seconds." for name, parts in printed_parts(floor).items())
    alt = (
        f"Stacked bars of the printed seconds. {whole} Of the default's, {floor.default_seconds:.2f} seconds are its "
        f"least time; of the reward's, for models of 8B, {floor.reward_seconds:.2f}."
    )
    return Exhibit(
        "What guidance costs on the hardware",
        (Picture("device_cost", draw(floor), caption, alt),),
        tables(floor),
        conclusions=conclusions(floor),
    )
