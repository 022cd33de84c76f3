"""Table 11: what guidance costs in seconds and memory, by guide, as printed and here.

Shows: seconds, their increase over the default's and memory as printed beside ours; the increase by guide with no
savings, with the usual ones and with all; and the same for a control that asks no reward, which is the machine's noise.
Inputs: RUNS/overhead/results.json, made by `python -m paper_figures experiment overhead --out RUNS`.
Run time: two seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from paper_figures.exhibits.dot_plot import AS_PRINTED, Dots, Mark, draw_dots, height_of
from paper_figures.exhibits.exhibit import Exhibit, Picture
from paper_figures.exhibits.names import method_name, names_of, with_guide_names
from paper_figures.exhibits.paper_beside_ours import beside
from paper_figures.exhibits.runs import Results, read_run
from paper_figures.exhibits.style import GREY, LINES, Line, figure, joint_legend, panel_title
from paper_figures.table import Column, Table
from rws_decode.common.palette import AMBER, BLUE
from rws_theory.printed import printed_in

NEEDS: tuple[str, ...] = ("overhead",)
_STEM = "table11_overhead"
_LOOKS = {
    "nothing": Line(AMBER, "v", "none", "RWS, no savings"),
    "usual": Line(LINES["rws"].color, LINES["rws"].marker, "none", "RWS, usual savings"),
    "everything": Line(BLUE, "o", "none", "RWS, all savings"),
}
INCREASE = Column("increase, %", "increase", "+.1f", ("increase_low", "increase_high"))
CPU = Column("increase of CPU time, %", "cpu_increase", "+.1f", ("cpu_increase_low", "cpu_increase_high"))


@dataclass(frozen=True)
class Overhead:
    """The run's `overhead` rows, each with its guide's `name`; guide -> its `memory` row."""

    rows: Sequence[Mapping[str, Any]]
    memory: Mapping[str, Mapping[str, Any]]
    run: Results

    def of(self, method: str, savings: str = "usual") -> dict[str, Mapping[str, Any]]:
        """Return guide's name -> the row of a method with some savings."""
        return {row["name"]: row for row in self.rows if (row["method"], row["savings"]) == (method, savings)}

    def told(self) -> str:
        """Return in words what was timed."""
        count = max((row["prompts"] for row in self.rows), default=0)
        device = self.run.settings.get("device", "cpu")
        return (
            f"model {self.run.settings['model']} on {'a CPU' if device == 'cpu' else device}, {count} prompts, "
            f"{self.run.settings['repetitions']} runs each, an answer at a time, the methods in turn"
        )


def compute(runs: Path) -> Overhead:
    """Read the experiment's results below `runs`; MissingRun, with the command, if they are missing."""
    run = read_run(runs, NEEDS[0])
    rows = with_guide_names(run.rows.get("overhead", ()), run.settings["rewards"])
    return Overhead(rows, {row["guide"]: row for row in run.rows.get("memory", ())}, run)


def printed_increases() -> dict[str, float]:
    """Return reward model -> the increase in percent that the printed seconds amount to.

    >>> round(printed_increases()["GRM"], 1)
    21.8
    """
    table = printed_in(_STEM)
    return {row["model"]: 100 * (row["seconds"] / table["default_seconds"] - 1) for row in table["rows"]}


def draw(data: Overhead) -> Figure:
    """Draw the increase as printed, on axes of its own, beside ours by guide and savings: wall clock and CPU time."""
    printed: dict[str, Mark] = {name: (value, None, None) for name, value in printed_increases().items()}
    cpu = any(row["cpu_increase"] is not None for row in data.rows)
    fields = {"increase": "Here: wall clock"} | ({"cpu_increase": "Here: CPU time"} if cpu else {})
    names = names_of(data.rows)
    picture = figure(6.6, 0.85 + max(height_of(list(printed), 1), height_of(names, len(_LOOKS) + 1)))
    first, *panels = picture.subplots(1, 1 + len(fields))
    draw_dots(first, list(printed), [Dots(AS_PRINTED, "RWS, from printed seconds", printed, hollow=True)])
    first.set_xlim(0, 1.15 * max(value for value, _, _ in printed.values()))
    panel_title(first, "From printed seconds")
    for axes, (field, title) in zip(panels, fields.items(), strict=True):
        series = [Dots(look, look.label, _marks(data.of("rws", name), field)) for name, look in _LOOKS.items()]
        series.append(Dots(LINES["constant"], "constant, asks no reward", _marks(data.of("constant"), field)))
        draw_dots(axes, names, series)
        axes.axvline(0, color=GREY, linewidth=1.0)
        panel_title(axes, title)
    for axes in (first, *panels):
        axes.set_xlabel("increase over default  [%]")
    joint_legend(picture, 2)
    return picture


def _marks(rows: Mapping[str, Mapping[str, Any]], field: str) -> dict[str, Mark]:
    kept = {name: row for name, row in rows.items() if row[field] is not None}
    return {name: (row[field], row[f"{field}_low"], row[f"{field}_high"]) for name, row in kept.items()}


def table(data: Overhead) -> Table:
    """Return Table 11 beside ours, with the usual savings."""
    table, increases = printed_in(_STEM), printed_increases()
    printed: dict[str, dict[str, Any]] = {method_name("default"): {"seconds": table["default_seconds"]}}
    for row in table["rows"]:
        numbers = {"seconds": row["seconds"], "increase, %, computed": round(increases[row["model"]], 2)}
        printed[f"RWS, {row['model']}"] = numbers | {"memory, MiB": row["memory_mib"]}
    base = {name: row["seconds"] for name, row in data.of("default").items()}
    here = {
        f"RWS, {name}": {**row, "base": base.get(name), **data.memory.get(row["guide"], {})}
        for name, row in data.of("rws").items()
    }
    columns = [Column("seconds"), Column("default's seconds", "base"), INCREASE, CPU]
    columns += [Column("reward calls", "reward_calls"), Column("calls saved", "reward_calls_saved")]
    columns += [Column("guide's weights, MiB", "reward_mib"), Column("memory added, MiB", "added_mib")]
    caption = (
        f"Left: {table['where']}, {table['task']}. Right, here: {data.told()}, with the usual savings. Brackets: 95 % "
        "intervals over prompts, rough where these are few. Memory added is measured on CUDA alone. Seconds and memory "
        "are of other hardware, models and code and cannot be compared. Increases can be compared roughly: they depend "
        "on how large the guide is beside the model."
    )
    return beside(_STEM, "method", printed, here, caption, columns)


def exhibit(runs: Path) -> Exhibit:
    """Return Table 11 and its picture from the results below `runs`."""
    data, increases = compute(runs), printed_increases().values()
    caption = (
        f"Increase in time of RWS over the default with the same savings. Here: {data.told()}; 95 % intervals over "
        "prompts, rough where these are few. Hollow: from the seconds printed in "
        f"{printed_in(_STEM)['where']}, without intervals. The constant of equal mean asks no reward, so its slowdown "
        "is the machine's noise. CPU time, if it is known, is less disturbed by other work on the machine."
    )
    alt = (
        "Dots of the increase in time by guide, with intervals, for three kinds of savings and a constant factor. From "
        f"the printed seconds, hollow: between {min(increases):.1f} and {max(increases):.1f} percent."
    )
    timed = "; ".join(f"{name} {INCREASE.text(row)}" for name, row in data.of("rws").items() if row["increase"])
    said = (
        f"Time of RWS over the default's, usual savings, in percent: {timed or 'not measured'}. The paper's seconds "
        f"amount to {min(increases):+.1f} to {max(increases):+.1f}."
    )
    return Exhibit(
        "Table 11: what guidance costs",
        (Picture(_STEM, draw(data), caption, alt),) if data.rows else (),
        (table(data),),
        conclusions=(said,),
        inputs=data.run.inputs,
    )
