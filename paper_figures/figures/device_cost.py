"""What guidance costs on the hardware: the printed seconds beside an A100's limits, and what was measured on devices.

Shows: the printed seconds, divided into the least time of their operations and bytes and the rest; the increase over
the default by how often the reward is asked, as printed, at the least times, and on each device; operations and bytes
by part of a step; Tables 11 and 12, goals, ways and kernels of every measurement.
Inputs: measurements in paper_figures/measured/ and below RUNS/bench, made by `python -m rws_decode bench --shape NAME
--out FILE`. Without any, arithmetic alone is shown. Run time: five seconds, mostly imports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from paper_figures.exhibits.dot_plot import height_of
from paper_figures.exhibits.exhibit import Exhibit, Picture
from paper_figures.exhibits.style import GREY, LINES, PRINTED, figure, joint_legend, panel_title
from paper_figures.figures.parts.device_cost_arithmetic import arithmetic_tables, assumed, of_8b
from paper_figures.figures.parts.device_cost_least_time import A100, ASSUMED_PROMPT, PROMPTS, Least, least
from paper_figures.figures.parts.device_cost_measured import called, measured_tables
from paper_figures.figures.parts.device_cost_sentences import arithmetic_lines, headline, measured_lines
from paper_figures.measured import FOLDER, Measurement, read_measured
from paper_figures.table import Table
from rws_decode.common.palette import AMBER, BLUE, GREEN, PURPLE, SKY, VERMILION
from rws_theory.printed import printed_in

__all__ = ["DeviceCost", "compute", "draw_every", "draw_seconds", "exhibit", "tables"]

NEEDS: tuple[str, ...] = ()
_HERE = "bench"  # below the runs

# What a printed time is made of: its words, colour and hatch.
_PARTS = {
    "default": ("default: least time", BLUE, ""),
    "default_rest": ("default: the rest", "#BBD6E8", "//"),
    "reward": ("reward: least time", LINES["rws"].color, ""),
    "reward_rest": ("reward: the rest", "#F3C6A5", "\\\\"),
    "extra": ("reward of a shape not known here", "#E2E2E2", ".."),
}


@dataclass(frozen=True)
class DeviceCost:
    """least: the paper's setting by tokens of prompt (`PROMPTS`); measured: every file; inputs: those below RUNS."""

    least: Mapping[int, Least]
    measured: Sequence[Measurement]
    inputs: tuple[str, ...]

    @property
    def assumed(self) -> Least:
        """Return the least after a prompt as long as the bench's."""
        return self.least[ASSUMED_PROMPT]


def compute(runs: Path, folder: Path = FOLDER) -> DeviceCost:
    """Do the arithmetic, and read the measurements in `folder` and below `runs`.

    ValueError, in one line that names the file, for one that is no measurement.
    """
    of_runs = read_measured(runs / _HERE, _HERE)
    return DeviceCost(
        {prompt: least(prompt) for prompt in PROMPTS},
        (*read_measured(folder), *of_runs),
        tuple(measurement.name for measurement in of_runs),
    )


def printed_parts(data: DeviceCost) -> dict[str, dict[str, float]]:
    """Return "default" and each reward model -> what its printed seconds are made of, as `_PARTS` calls the parts.

    The reward's least time is known for those of 8B, which are built as Llama-3.1-8B is.
    """
    table, floor = printed_in("table11_overhead"), data.assumed
    base = {"default": floor.default_seconds, "default_rest": table["default_seconds"] - floor.default_seconds}
    rows = {"default": base}
    for row in table["rows"]:
        extra = row["seconds"] - table["default_seconds"]
        computed = row["model"] in of_8b()
        added = {"reward": floor.reward_seconds, "reward_rest": extra - floor.reward_seconds}
        rows[row["model"]] = base | (added if computed else {"extra": extra})
    return rows


def draw_seconds(data: DeviceCost) -> Figure:
    """Draw the printed seconds as bars, parted into least time and the rest."""
    bars = printed_parts(data)
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


def draw_every(data: DeviceCost) -> Figure:
    """Draw the increase over the default by how often the reward is asked: printed, at least times, on each device."""
    series = _increases(data)
    distances = sorted({every for values in series.values() for every in values})
    picture = figure(6.6, 3.6)
    axes = picture.subplots()
    for name, values in series.items():
        x = [distances.index(every) for every in values]
        axes.plot(x, list(values.values()), label=name, **_look(name, list(series)))
    axes.axhline(0, color=GREY, linewidth=1.0)
    axes.set_xticks(
        range(len(distances)), ["every\nstep" if every == 1 else f"every {every}\nsteps" for every in distances]
    )
    axes.set_xlim(-0.4, len(distances) - 0.6)
    axes.set_xlabel("when the reward is asked")
    axes.set_ylabel("increase over the default  [%]")
    panel_title(axes, "Time over the default's")
    joint_legend(picture, 2)
    return picture


_AS_PRINTED, _AT_LEAST = "as printed", f"both at an {A100.name}'s least time"
_DEVICES = (VERMILION, GREEN, PURPLE, SKY, AMBER)


def _increases(data: DeviceCost) -> dict[str, dict[int, float]]:
    """Return series -> steps from one call of the reward to the next -> increase in percent."""
    printed = {row["every"]: row["increase"] for row in printed_in("table12_frequency")["rows"]}
    at_least = {every: data.assumed.increase(every) for every in data.assumed.rws_seconds}
    series = {_AS_PRINTED: printed, _AT_LEAST: at_least}
    for name, measurement in called(data.measured).items():
        ours = {row["every"]: row["increase"] for row in measurement.rows("frequency") if row["every"] is not None}
        ours = {every: ours[every] for every in sorted(ours) if ours[every] is not None}
        naive = [row for row in measurement.rows("overhead") if row["of"] == "naive"]
        series |= {f"{name}: ours": ours} if ours else {}
        series |= {f"{name}: naive loop": {1: naive[0]["increase"]}} if naive else {}
    return series


def _look(name: str, names: Sequence[str]) -> dict[str, Any]:
    if name == _AS_PRINTED:
        return {"color": PRINTED, "marker": "s", "markerfacecolor": "white", "linestyle": (0, (1, 1.5))}
    if name == _AT_LEAST:
        return {"color": BLUE, "marker": "D", "markersize": 4, "linestyle": (0, (5, 2)), "linewidth": 1.2}
    devices = list(dict.fromkeys(label.rpartition(": ")[0] for label in names[2:]))
    color = _DEVICES[devices.index(name.rpartition(": ")[0]) % len(_DEVICES)]
    if name.endswith("naive loop"):
        return {"color": color, "marker": "X", "markersize": 7, "linestyle": "none"}
    return {"color": color, "marker": "o", "linestyle": "solid"}


def tables(data: DeviceCost) -> tuple[Table, ...]:
    """Return the arithmetic's tables, then those of what was measured."""
    return (*arithmetic_tables(data.least), *measured_tables(data.measured))


def exhibit(runs: Path, folder: Path = FOLDER) -> Exhibit:
    """Return pictures and tables of the arithmetic, and of the measurements in `folder` and below `runs`."""
    data = compute(runs, folder)
    table, series = printed_in("table11_overhead"), _increases(data)
    parted = (
        f"Seconds per answer as printed in {table['where']}. Least time: that of the operations and bytes of the same "
        f"decode at the limits of an {A100.name}; arithmetic, not a measurement. {assumed()}"
    )
    whole = [f"{name}: {sum(parts.values()):.1f} seconds." for name, parts in printed_parts(data).items()]
    least_words = (
        f"Of the default's, {data.assumed.default_seconds:.2f} seconds are its least time; of the reward's, for models "
        f"of 8B, {data.assumed.reward_seconds:.2f}."
    )
    devices = "; ".join(called(data.measured)) or "no device was measured"
    by_every = (
        f"Increase in time over the default. Hollow: as printed in {printed_in('table12_frequency')['where']}, a "
        "mean over the six reward models. Dashed: where the default and RWS both take their least time, for a reward "
        f"of 8B (arithmetic). Measured: {devices}. Ours asks at each of these steps; the naive loop is compared with "
        "the plain loop, its own default. Times of different hardware cannot be compared; these are ratios."
    )
    listed = [
        f"{name}: {', '.join(f'{value:+.1f} at {every}' for every, value in values.items())}."
        for name, values in series.items()
    ]
    return Exhibit(
        "What guidance costs on the hardware",
        (
            Picture(
                "device_cost",
                draw_seconds(data),
                parted,
                f"Stacked bars of the printed seconds. {' '.join(whole)} {least_words}",
            ),
            Picture(
                "device_cost_every",
                draw_every(data),
                by_every,
                f"Lines of the increase in percent against the steps between calls. {' '.join(listed)}",
            ),
        ),
        tables(data),
        conclusions=(
            headline(data.assumed, data.measured),
            *arithmetic_lines(data.least, of_8b()),
            *measured_lines(data.measured),
        ),
        inputs=data.inputs,
    )
