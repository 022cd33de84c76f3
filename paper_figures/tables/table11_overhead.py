"""Table 11: what guidance costs in seconds and memory, by guide, as printed and here.

Shows: seconds, their increase over the default's and memory as printed beside ours; the increase by guide with no
savings, with the usual ones and with all; and the same for controls that ask no reward, which is the machine's noise.
Inputs: RUNS/overhead/results.json, made by `python -m paper_figures experiment overhead --out RUNS`.
Run time: two seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from paper_figures.exhibits.differences import excludes_zero
from paper_figures.exhibits.dot_plot import AS_PRINTED, Dots, Mark, draw_dots, height_of
from paper_figures.exhibits.exhibit import Exhibit, Picture
from paper_figures.exhibits.increases import ends_of, few_prompts, with_interval
from paper_figures.exhibits.names import SAVINGS, method_name, methods_in, with_guide_names
from paper_figures.exhibits.paper_beside_ours import beside
from paper_figures.exhibits.runs import Results, read_run
from paper_figures.exhibits.style import GREY, LINES, Line, figure, joint_legend, panel_title
from paper_figures.table import Table
from rws_decode.common.palette import AMBER, BLUE
from rws_theory.printed import printed_in

NEEDS: tuple[str, ...] = ("overhead",)
_LOOKS = {
    "nothing": Line(AMBER, "v", "none", "RWS, no savings"),
    "usual": Line(LINES["rws"].color, LINES["rws"].marker, "none", "RWS, usual savings"),
    "everything": Line(BLUE, "o", "none", "RWS, all savings"),
}
_FREE = ("constant", "shuffled", "random", "margin")


@dataclass(frozen=True)
class Overhead:
    """The run's `overhead` rows by guide, method and savings, and its `memory` rows, each with its guide's `name`."""

    rows: Sequence[Mapping[str, Any]]
    memory: Mapping[str, Mapping[str, Any]]
    run: Results

    @property
    def names(self) -> list[str]:
        """Return what the guides are called."""
        return list(dict.fromkeys(row["name"] for row in self.rows))

    def of(self, method: str, savings: str = "usual") -> dict[str, Mapping[str, Any]]:
        """Return guide's name -> the row of a method with some savings."""
        return {row["name"]: row for row in self.rows if (row["method"], row["savings"]) == (method, savings)}


def compute(runs: Path) -> Overhead:
    """Read the experiment's results below `runs`; MissingRun, with the command, if they are missing."""
    run = read_run(runs, NEEDS[0])
    order = run.settings["rewards"]
    memory = with_guide_names(({**row, "reward_scale": None} for row in run.rows.get("memory", ())), order)
    rows = with_guide_names(run.rows.get("overhead", ()), order)
    return Overhead(rows, {row["guide"]: row for row in memory}, run)


def printed_increases() -> dict[str, float]:
    """Return reward model -> the increase in percent that the printed seconds amount to.

    >>> round(printed_increases()["GRM"], 1)
    21.8
    """
    table = printed_in("table11_overhead")
    return {row["model"]: 100 * (row["seconds"] / table["default_seconds"] - 1) for row in table["rows"]}


def draw(data: Overhead) -> Figure:
    """Draw the increase as printed, on axes of its own, beside ours by guide and savings: wall clock and CPU time."""
    printed: dict[str, Mark] = {name: (value, None, None) for name, value in printed_increases().items()}
    cpu = any(row["cpu_increase"] is not None for row in data.rows)
    fields = {"increase": "Here: wall clock"} | ({"cpu_increase": "Here: CPU time"} if cpu else {})
    height = max(height_of(list(printed), 1), height_of(data.names, len(_LOOKS) + 1))
    picture = figure(6.6, 0.85 + height)
    first, *panels = picture.subplots(1, 1 + len(fields))
    draw_dots(first, list(printed), [Dots(AS_PRINTED, "RWS, from printed seconds", printed, hollow=True)])
    first.set_xlim(0, 1.15 * max(value for value, _, _ in printed.values()))
    panel_title(first, "From printed seconds")
    for axes, (field, title) in zip(panels, fields.items(), strict=True):
        series = [Dots(look, look.label, _marks(data.of("rws", name), field)) for name, look in _LOOKS.items()]
        series.append(Dots(LINES["constant"], "constant, asks no reward", _marks(data.of("constant"), field)))
        draw_dots(axes, data.names, series)
        axes.axvline(0, color=GREY, linewidth=1.0)
        panel_title(axes, title)
    for axes in (first, *panels):
        axes.set_xlabel("increase over default  [%]")
    joint_legend(picture, 2)
    return picture


def _marks(rows: Mapping[str, Mapping[str, Any]], field: str) -> dict[str, Mark]:
    kept = {name: row for name, row in rows.items() if row[field] is not None}
    return {name: (row[field], *ends_of(row, field)) for name, row in kept.items()}


def tables(data: Overhead) -> tuple[Table, ...]:
    """Return Table 11 beside ours, and everything that was timed."""
    return (_printed(data), _all(data))


def _printed(data: Overhead) -> Table:
    table = printed_in("table11_overhead")
    increases = printed_increases()
    printed: dict[str, dict[str, Any]] = {method_name("default"): {"seconds": table["default_seconds"]}}
    for row in table["rows"]:
        numbers = {"seconds": row["seconds"], "increase, %, computed": round(increases[row["model"]], 2)}
        printed[f"RWS, {row['model']}"] = numbers | {"memory, MiB": row["memory_mib"]}
    here: dict[str, dict[str, Any]] = {}
    shown: dict[str, dict[str, str | None]] = {}
    for name, row in data.of("rws").items():
        base = data.of("default").get(name)
        memory = data.memory.get(row["guide"], {})
        line = f"RWS, {name}"
        here[line] = {"seconds": row["seconds"], "default's seconds": None if base is None else base["seconds"]}
        here[line] |= {"increase, %": row["increase"], "increase of CPU time, %": row["cpu_increase"]}
        here[line] |= {"reward calls": row["reward_calls"], "calls saved": row["reward_calls_saved"]}
        here[line] |= {"guide's weights, MiB": memory.get("reward_mib"), "memory added, MiB": memory.get("added_mib")}
        shown[line] = {"increase, %": with_interval(row, "increase")}
        shown[line] |= {"increase of CPU time, %": with_interval(row, "cpu_increase")}
    caption = (
        f"Left: {table['where']}, {table['task']}. Right, here: model {data.run.settings['model']} on {_device(data)}, "
        f"{_count(data)}, with the usual savings. Brackets: 95 % intervals over prompts, rough where these "
        "are few. Memory added is measured on CUDA alone. Seconds and memory are of other hardware, models and code "
        "and cannot be compared. Increases can be compared roughly: they depend on how large the guide is beside the "
        "model."
    )
    return beside("table11_overhead", "method", printed, here, caption, shown)


def _device(data: Overhead) -> str:
    return "a CPU" if data.run.settings.get("device", "cpu") == "cpu" else str(data.run.settings["device"])


def _count(data: Overhead) -> str:
    count, times = max((row["prompts"] for row in data.rows), default=0), data.run.settings["repetitions"]
    return f"{count} prompts, {times} runs each, an answer at a time, the methods in turn"


def _all(data: Overhead) -> Table:
    shown = []
    for name in data.names:
        rows = [row for row in data.rows if row["name"] == name]
        for method in methods_in(rows):
            for savings, words in SAVINGS.items():
                row = data.of(method, savings).get(name)
                if row is not None:
                    line: dict[str, str | None] = {"guide": name, "method": method_name(method), "savings": words}
                    line["seconds [quartiles]"] = (
                        f"{row['seconds']:.3g} [{row['quartile_1']:.3g}, {row['quartile_3']:.3g}]"
                    )
                    line["increase, %"] = with_interval(row, "increase")
                    line["CPU, %"] = with_interval(row, "cpu_increase")
                    line |= {"p": None if row["p_holm"] is None else f"{row['p_holm']:.2g}"}
                    line |= {"forwards": f"{row['forwards']:g}", "reward calls": f"{row['reward_calls']:g}"}
                    shown.append(line | {"same text": f"{row['same_text']:.0%}"})
    caption = (
        f"Everything that was timed: {_count(data)}. Increase: over the default with the same savings, 95 % "
        "interval over prompts; p of no difference, by exchanging the two on random prompts, corrected over the reward "
        "models; same text: share of prompts with the text of the usual savings. Best of N decodes N answers."
    )
    return Table("table11_all", data.rows, shown, caption)


def conclusions(data: Overhead) -> tuple[str, ...]:
    """Return what follows from the intervals: RWS's increase, the machine's noise, and what savings change."""
    table, increases = printed_in("table11_overhead"), printed_increases()
    low, high = min(increases.values()), max(increases.values())
    field, what = ("cpu_increase", "CPU time") if any(_marks(data.of("rws"), "cpu_increase")) else ("increase", "Time")
    lines = []
    for savings in ("usual", "nothing", "everything"):
        rows = {name: row for name, row in data.of("rws", savings).items() if row[field] is not None}
        if rows:
            parts = "; ".join(f"{name} {with_interval(row, field)}" for name, row in rows.items())
            apart = [name for name, row in rows.items() if _apart(row, field)]
            start = f"{what} of RWS over the default's, {SAVINGS[savings]}, in percent: {parts}."
            said = f" The paper's seconds amount to {low:+.1f} to {high:+.1f}." if savings == "usual" else ""
            lines.append(f"{start} Intervals that exclude 0: {', '.join(apart) or 'none'}.{said}")
    lines += few_prompts(max((row["prompts"] for row in data.rows), default=0))
    free = [row for method in _FREE for row in data.of(method).values() if row[field] is not None]
    if free:
        ends = [row[field] for row in free]
        lines.append(
            f"Methods that ask no reward differ from the default by {min(ends):+.1f} to {max(ends):+.1f} %, in "
            f"{sum(_apart(row, field) for row in free)} of {len(free)} with an interval that excludes 0: this much is "
            "noise of the machine, or the cost of another order, and may be part of every other line."
        )
    text = [f"{end / 1024:.2f}" for end in sorted(row["memory_mib"] for row in table["rows"])]
    lines.append(
        f"The text's {table['text']['memory_low_gib']} to {table['text']['memory_high_gib']} GiB are, by the table's "
        f"own MiB, {text[0]} to {text[-1]} GiB."
    )
    return tuple(lines)


def _apart(row: Mapping[str, Any], field: str) -> bool:
    return excludes_zero(dict(zip(("low", "high"), ends_of(row, field), strict=True)))


def exhibit(runs: Path) -> Exhibit:
    """Return Table 11 and its picture from the results below `runs`."""
    data = compute(runs)
    settings = data.run.settings
    caption = (
        f"Increase in time of RWS over the default with the same savings. Here: model {settings['model']} on "
        f"{_device(data)}, {_count(data)}; 95 % intervals over prompts, rough where these are few. Hollow: "
        f"from the seconds printed in {printed_in('table11_overhead')['where']}, without intervals. The constant of "
        "equal mean asks no reward, so its slowdown is the machine's noise. CPU time, if it is known, is less "
        "disturbed by other work on the machine."
    )
    parts = [
        f"{name}, {look.label}: {with_interval(row, 'increase')} percent of wall clock."
        for savings, look in _LOOKS.items()
        for name, row in data.of("rws", savings).items()
        if row["increase"] is not None
    ]
    increases = printed_increases().values()
    alt = (
        f"Dots of the increase in time by guide. {' '.join(parts)} From the printed seconds, hollow: between "
        f"{min(increases):.1f} and {max(increases):.1f} percent."
    )
    return Exhibit(
        "Table 11: what guidance costs",
        (Picture("table11_overhead", draw(data), caption, alt),) if data.rows else (),
        tables(data),
        conclusions=conclusions(data),
        inputs=data.run.inputs,
    )
