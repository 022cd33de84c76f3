"""Table 12: the reward asked at every step, every second, every fourth: order and time against the default's.

Shows: GOD and seconds as printed beside ours; both as ratios and increases over the default's, which can be compared,
by how often the reward is asked, with the constant factor, which asks none; and what asking less costs in quality.
Inputs: RUNS/frequency/results.json, made by `python -m paper_figures experiment frequency --out RUNS`.
Run time: two seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.exhibits.differences import excludes_zero
from paper_figures.exhibits.exhibit import Exhibit, Picture
from paper_figures.exhibits.increases import ends_of, few_prompts, with_interval
from paper_figures.exhibits.names import method_name, with_guide_names
from paper_figures.exhibits.paper_beside_ours import beside
from paper_figures.exhibits.runs import Results, read_run
from paper_figures.exhibits.style import GREY, LINES, PRINTED, figure, joint_legend, panel_title
from paper_figures.table import Table
from paper_figures.tables.parts.table12_quality import every_of, every_words, quality_lines, quality_table
from rws_theory.printed import printed_in

NEEDS: tuple[str, ...] = ("frequency",)


@dataclass(frozen=True)
class Frequency:
    """The run's means over the guides by method, of one reward scale per guide, and `quality` by guide and method."""

    rows: Mapping[str, Mapping[str, Any]]
    quality: Sequence[Mapping[str, Any]]
    run: Results

    @property
    def asked(self) -> dict[int, Mapping[str, Any]]:
        """Return steps from one call of the reward model to the next -> its row, by rising number."""
        by_every = {every_of(method): row for method, row in self.rows.items()}
        return {every: by_every[every] for every in sorted(every for every in by_every if every)}


def compute(runs: Path) -> Frequency:
    """Read the experiment's results below `runs`; MissingRun, with the command, if they are missing."""
    run = read_run(runs, NEEDS[0])
    order = run.settings["rewards"]
    means = with_guide_names(run.rows.get("trade_off", ()), order)
    # Guides that ran at several reward scales have a row for each: the first is shown, the CSV has all.
    rows = {row["method"]: row for row in reversed(means)}
    return Frequency(rows, with_guide_names(run.rows.get("quality", ()), order), run)


def draw(data: Frequency) -> Figure:
    """Draw GOD over the default's and the increase in time against how often the reward is asked."""
    table = printed_in("table12_frequency")
    distances = sorted({*data.asked, *(row["every"] for row in table["rows"])})
    picture = figure(6.6, 3.5)
    left, right = picture.subplots(1, 2)
    base = table["default"]["god"]
    printed = {row["every"]: (row["god"] / base, row["increase"]) for row in table["rows"]}
    for axes, index in ((left, 0), (right, 1)):
        look = {"color": PRINTED, "marker": "s", "markerfacecolor": "white", "linestyle": (0, (1, 1.5)), "zorder": 3}
        values = [printed[every][index] for every in printed]
        axes.plot([distances.index(every) for every in printed], values, label="RWS, as printed", **look)
    _points(left, data, distances, "god_steps_ratio", "")
    _points(right, data, distances, "increase", "", -0.08)
    _points(right, data, distances, "cpu_increase", "o", 0.08, ", CPU time")
    left.axhline(1, color=GREY, linewidth=1.0)
    right.axhline(0, color=GREY, linewidth=1.0)
    panel_title(left, "GOD over the default's")
    left.set_ylabel("ratio of mean GOD")
    panel_title(right, "Time over the default's")
    right.set_ylabel("increase  [%]")
    words = ["every\nstep" if every == 1 else f"every {every}\nsteps" for every in distances]
    for axes in (left, right):
        axes.set_xticks(range(len(distances) + 1), [*words, "never:\nconstant"])
        axes.set_xlim(-0.5, len(distances) + 0.5)
        axes.set_xlabel("when the reward is asked")
    joint_legend(picture, 3)
    return picture


def _points(
    axes: Axes, data: Frequency, distances: Sequence[int], field: str, marker: str, shift: float = 0.0, words: str = ""
) -> None:
    """Draw RWS by how often it asks, and the constant factor, with intervals; what was not measured is left out."""
    asked = {distances.index(every): row for every, row in data.asked.items()}
    never = {len(distances): data.rows["constant"]} if "constant" in data.rows else {}
    for method, rows in (("rws", asked), ("constant", never)):
        measured = {x: row for x, row in rows.items() if row[field] is not None}
        if measured:
            middle = np.array([row[field] for row in measured.values()])
            low, high = np.array([ends_of(row, field) for row in measured.values()]).T
            axes.errorbar(
                np.array(list(measured)) + shift,
                middle,
                yerr=np.maximum([middle - low, high - middle], 0.0),
                color=LINES[method].color,
                marker=marker or LINES[method].marker,
                linestyle="none",
                elinewidth=1.1,
                capsize=2.5,
                label=("RWS" if method == "rws" else "constant") + (words or " (time: wall clock)"),
            )


def tables(data: Frequency) -> tuple[Table, ...]:
    """Return Table 12 beside ours, and what asking less changes by guide."""
    return (_printed(data), quality_table("table12_quality", data.quality))


def _printed(data: Frequency) -> Table:
    table = printed_in("table12_frequency")
    base = table["default"]
    printed: dict[str, dict[str, Any]] = {method_name("default"): {"GOD": base["god"]}}
    printed[method_name("default")] |= {"GOD over default's, computed": None, "seconds": base["seconds"]}
    for row in table["rows"]:
        order = {"GOD": row["god"], "GOD over default's, computed": row["god"] / base["god"]}
        times = {"seconds": row["seconds"], "increase, %": row["increase"]}
        printed[every_words(row["every"])] = order | times
    kept = {method: row for method, row in data.rows.items() if method in ("default", "constant") or every_of(method)}
    here: dict[str, dict[str, Any]] = {}
    shown: dict[str, dict[str, str | None]] = {}
    for method, row in sorted(kept.items(), key=lambda item: (item[0] == "constant", every_of(item[0]))):
        name = every_words(every_of(method)) if every_of(method) else method_name(method)
        here[name] = {"GOD, steps": row["god_steps"], "GOD, tokens": row["god_tokens"]}
        here[name] |= {"reward calls": row["reward_calls"], "seconds": row["seconds"]}
        for field, column in _COMPARED.items():
            here[name][column] = row[field]
            shown.setdefault(name, {})[column] = with_interval(row, field)
    caption = (
        f"Left: {table['where']}, {table['task']}. Right, here: model {data.run.settings['model']}, means over the "
        f"guides ({', '.join(data.run.settings['rewards'])}) of {data.run.prompts['test']} prompts, of which "
        f"{data.run.settings['timing_prompts']} are timed, {data.run.settings['repetitions']} times each, an answer at "
        "a time. Brackets: 95 % intervals over prompts, rough where these are few. Seconds are of other "
        "hardware, models and code; ratios and increases can be compared roughly. The constant asks no reward, so its "
        "slowdown is the machine's noise."
    )
    return beside("table12_frequency", "method", printed, here, caption, shown)


_COMPARED = {
    "god_steps_ratio": "GOD in steps over default's",
    "increase": "increase, %",
    "cpu_increase": "increase of CPU time, %",
}


def conclusions(data: Frequency) -> tuple[str, ...]:
    """Return what follows from the intervals: order, time, the machine's noise, and what asking less changes."""
    table = printed_in("table12_frequency")
    printed = {row["every"]: row for row in table["rows"]}
    lines = []
    for field, nothing, what in (("god_steps_ratio", 1.0, "GOD over the default's"), ("increase", 0.0, "Time")):
        parts, apart = [], []
        for every, row in data.asked.items():
            if row[field] is not None:
                said = printed.get(every, {})
                as_printed = said.get("god", 0.0) / table["default"]["god"] if nothing else said.get("increase")
                beside_it = f" (paper {as_printed:.3g})" if said else ""
                parts.append(f"{every_words(every)} {with_interval(row, field)}{beside_it}")
                low, high = (end - nothing for end in ends_of(row, field))
                apart += [every_words(every)] if excludes_zero({"low": low, "high": high}) else []
        if parts:
            unit = "" if nothing else " in percent over the default's"
            excluded = ", ".join(apart) or "none"
            lines.append(f"{what}{unit}: {'; '.join(parts)}. Intervals that exclude {nothing:g}: {excluded}.")
    lines += few_prompts(data.run.settings["timing_prompts"]) if lines else []
    constant = data.rows.get("constant", {})
    if constant.get("increase") is not None:
        lines.append(
            f"The time of the constant of equal mean, which asks no reward, is {with_interval(constant, 'increase')} % "
            "over the default's: differences of that size are the machine's."
        )
    if constant.get("god_steps_ratio") is not None:
        lines.append(f"Its GOD over the default's is {with_interval(constant, 'god_steps_ratio')}, without any reward.")
    return (*lines, *quality_lines(data.quality)) or ("The run has no numbers of RWS to compare.",)


def exhibit(runs: Path) -> Exhibit:
    """Return Table 12 and its picture from the results below `runs`."""
    data = compute(runs)
    settings = data.run.settings
    caption = (
        f"Left: mean GOD in steps over the default's, {data.run.prompts['test']} prompts of "
        f"{data.run.prompts['source']}. Right: time over the default's, {settings['timing_prompts']} of these prompts, "
        f"{settings['repetitions']} runs each, one answer at a time. Model {settings['model']}, means over the guides "
        f"({', '.join(settings['rewards'])}), one s_R each; 95 % intervals over prompts. Hollow: as printed "
        f"({printed_in('table12_frequency')['where']}), without intervals; GOD as a ratio of printed numbers. The "
        "constant of equal mean asks no reward: its time shows the machine's noise, and its GOD shows what a factor "
        "alone does. Seconds of other hardware cannot be compared; ratios can, roughly."
    )
    parts = [
        f"{every_words(every)}: GOD ratio {with_interval(row, 'god_steps_ratio')}, "
        f"time {with_interval(row, 'increase')} percent."
        for every, row in data.asked.items()
    ]
    alt = (
        "Two panels against how often the reward is asked. The printed ratios of GOD and increases of time, hollow, "
        f"fall as it is asked less. Here: {' '.join(parts)}"
    )
    return Exhibit(
        "Table 12: the reward asked less often",
        (Picture("table12_frequency", draw(data), caption, alt),) if data.rows else (),
        tables(data),
        conclusions=conclusions(data),
        inputs=data.run.inputs,
    )
