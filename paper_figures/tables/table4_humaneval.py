"""Table 4: problems passed at the first try, by guide: HumanEval as printed, beside programs or puzzles here.

Shows: pass@1 of the default and of RWS as printed, and here with intervals; RWS minus the default and minus every
control on the same problems. The mini models write no programs: their puzzles have one right answer each.
Inputs: RUNS/humaneval/results.json, made by `python -m paper_figures experiment humaneval --out RUNS`.
Run time: two seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from paper_figures.exhibits.differences import minus_text, rws_minus
from paper_figures.exhibits.dot_plot import AS_PRINTED, Dots, draw_dots, height_of
from paper_figures.exhibits.exhibit import Exhibit, Picture
from paper_figures.exhibits.findings import guide_line
from paper_figures.exhibits.names import method_name, methods_in, with_guide_names
from paper_figures.exhibits.paper_beside_ours import beside
from paper_figures.exhibits.runs import Results, read_run
from paper_figures.exhibits.style import LINES, PRINTED, figure, joint_legend, panel_title
from paper_figures.statistics.intervals import share_interval
from paper_figures.table import Table
from rws_theory.printed import printed_in

NEEDS: tuple[str, ...] = ("humaneval",)
DRAWN = ("default", "rws", "constant")
_PASS = "pass@1"
_PROBLEMS = 164  # of HumanEval
_CONTROLS = ("default", "constant", "shuffled", "best-of-n")
_MEASURES = {_PASS: "pass@1, %", "god_tokens": "GOD, tokens", "cost": "cost"}


@dataclass(frozen=True)
class HumanEval:
    """The run's means by guide, method and measure, each with its guide's `name`; empty where nothing was checked."""

    rows: Sequence[Mapping[str, Any]]
    run: Results

    @property
    def names(self) -> list[str]:
        """Return what the guides are called."""
        return list(dict.fromkeys(row["name"] for row in self.rows))

    @property
    def task(self) -> str:
        """Return what was answered, in words."""
        source: str = self.run.settings["data"].partition(":")[0]
        sources = {"humaneval": "HumanEval programs, run", "puzzles": "puzzles with one right answer, no programs"}
        return sources.get(source, source)

    def passed(self, method: str) -> dict[str, tuple[float, float | None, float | None]]:
        """Return guide's name -> pass@1 in percent and the ends of its interval."""
        rows = [row for row in self.rows if (row["method"], row["measure"]) == (method, _PASS)]
        return {row["name"]: (row["mean"], row["low"], row["high"]) for row in rows if row["mean"] is not None}


def compute(runs: Path) -> HumanEval:
    """Read the experiment's results below `runs`; MissingRun, with the command, if they are missing."""
    run = read_run(runs, NEEDS[0])
    return HumanEval(with_guide_names(run.rows.get("pass_at_k", ()), run.settings["rewards"]), run)


def draw(data: HumanEval) -> Figure:
    """Draw pass@1 as printed, on axes of its own, beside ours with 95 % intervals."""
    table = printed_in("table4_humaneval")
    printed = {row["model"]: (row["pass_at_1"], None, None) for row in table["rows"]}
    count = max(len(printed) * 0.55, float(len(data.names)))
    picture = figure(6.6, 0.75 + height_of([""] * round(count), len(DRAWN)))
    left, right = picture.subplots(1, 2)
    draw_dots(left, list(printed), [Dots(AS_PRINTED, AS_PRINTED.label, printed, hollow=True)])
    look = {"color": PRINTED, "linewidth": 1.2, "linestyle": LINES["default"].dash}
    left.axvline(table["default"], label="default, as printed", **look)
    panel_title(left, "HumanEval, as printed (no interval)")
    draw_dots(right, data.names, [Dots(LINES[name], LINES[name].label, data.passed(name)) for name in DRAWN])
    panel_title(right, "Here: " + ("HumanEval" if data.task.startswith("HumanEval") else "puzzles, no programs"))
    for axes in (left, right):
        axes.set_xlabel("passed at the first try  [%]")
    joint_legend(picture, 3)
    return picture


def tables(data: HumanEval) -> tuple[Table, ...]:
    """Return Table 4 beside ours, and RWS minus every other method."""
    return (_printed(data), _differences(data))


def _printed(data: HumanEval) -> Table:
    table = printed_in("table4_humaneval")
    printed = {method_name("default"): {_MEASURES[_PASS]: table["default"]}}
    printed |= {f"RWS, {row['model']}": {_MEASURES[_PASS]: row["pass_at_1"]} for row in table["rows"]}
    here: dict[str, dict[str, Any]] = {}
    shown: dict[str, dict[str, str | None]] = {}
    minus = {name: {row["name"]: row for row in rws_minus(data.rows, name, _PASS)} for name in ("default", "constant")}
    for row in data.rows:
        if row["measure"] != _PASS or row["method"] not in ("default", "rws") or row["mean"] is None:
            continue
        free = row["method"] == "default"
        name = method_name("default") if free else f"RWS, {row['name']}"
        here[name] = {_MEASURES[_PASS]: row["mean"], "low": row["low"], "high": row["high"], "problems": row["n"]}
        shown[name] = {_MEASURES[_PASS]: f"{row['mean']:.1f} [{row['low']:.1f}, {row['high']:.1f}]"}
        if not free:
            here[name]["s_R"] = row["reward_scale"]
            for control, rows in minus.items():
                difference, column = rows.get(row["name"]), f"RWS minus {method_name(control)}"
                here[name][column] = None if difference is None else difference["difference"]
                shown[name][column] = minus_text(difference)
    caption = (
        f"Left: {table['where']}, {table['task']}. Right, here: {data.task}; model {data.run.settings['model']}, "
        f"{data.run.prompts['test']} problems. Brackets: Wilson's 95 % interval of a share; of differences, in percent "
        "points, the paired 95 % interval, * if it excludes zero, and p of the sign-flip permutation test, "
        "corrected over the reward models. Problems and model are not the paper's: levels cannot be compared."
    )
    return beside("table4_humaneval", "method", printed, here, caption, shown)


def _differences(data: HumanEval) -> Table:
    measured = {row["measure"] for row in data.rows}
    measures = {name: label for name, label in _MEASURES.items() if name in measured}
    shown = []
    for name in data.names:
        for method in methods_in(data.rows):
            rows = [row for row in data.rows if (row["name"], row["method"]) == (name, method)]
            if rows and method != "rws":
                line: dict[str, str | None] = {"guide": name, "RWS minus": method_name(method)}
                for measure, label in measures.items():
                    line[label] = minus_text(next(iter(rws_minus(rows, method, measure)), None))
                shown.append(line)
    caption = (
        "RWS minus every other method on the same problems, as in the table above; cost: forwards and reward calls. "
        "The CSV has the means of every method, and differences to RWS."
    )
    return Table("table4_differences", data.rows, shown, caption)


def conclusions(data: HumanEval) -> tuple[str, ...]:
    """Return what follows from the intervals, and what the printed table's text says."""
    table = printed_in("table4_humaneval")
    best = max(table["rows"], key=lambda row: row["pass_at_1"])
    gain = best["pass_at_1"] - table["default"]
    ends = [_of_problems(percent) for percent in (table["default"], best["pass_at_1"])]
    printed = (
        f"Table 4 as printed: {table['default']:.2f} % by default, RWS up to {best['pass_at_1']:.2f} % "
        f"({best['model']}, {gain:+.2f} points), without intervals. Of {_PROBLEMS} problems that is {ends[0][0]} and "
        f"{ends[1][0]}; Wilson's 95 % intervals of these counts, computed here, are {ends[0][1]} and {ends[1][1]}. The "
        "paper does not print how many problems only one of the two passes, so no paired test can be made."
    )
    if not data.rows:
        return ("No answer was checked here: programs run only with --allow-code-execution.", printed)
    lines = [guide_line(rws_minus(data.rows, name, _PASS), name, _MEASURES[_PASS]) for name in _CONTROLS]
    lines = [f"{data.task[0].upper()}{data.task[1:]}: {line}" for line in lines if line is not None]
    return (*lines, printed)


def _of_problems(percent: float) -> tuple[int, str]:
    """Return how many of HumanEval's problems a printed percentage is, and the interval of that share as text."""
    passed = round(percent * _PROBLEMS / 100)
    share = share_interval(passed, _PROBLEMS)
    return passed, f"[{100 * share.low:.1f}, {100 * share.high:.1f}]"


def exhibit(runs: Path) -> Exhibit:
    """Return Table 4 and its picture from the results below `runs`."""
    data = compute(runs)
    table, settings = printed_in("table4_humaneval"), data.run.settings
    caption = (
        f"Left: {table['where']}. Right: {data.task}; model {settings['model']}, {data.run.prompts['test']} problems, "
        f"{settings['length']} tokens, {settings['steps']} steps, one s_R per guide "
        f"({'chosen on validation problems' if data.run.selection else 'given'}); Wilson's 95 % intervals. The "
        "constant is the factor of equal mean. Two axes: levels of other problems and another model cannot be compared."
    )
    parts = [
        f"{LINES[method].label}, {name}: {mean:.1f} [{low:.1f}, {high:.1f}]."
        for method in DRAWN
        for name, (mean, low, high) in data.passed(method).items()
    ]
    alt = (
        f"Two panels of dots. Left, as printed, hollow: RWS between {min(r['pass_at_1'] for r in table['rows'])} and "
        f"{max(r['pass_at_1'] for r in table['rows'])} percent, a dotted line for the default at {table['default']}. "
        f"Right, here, percent passed with intervals: {' '.join(parts)}"
    )
    return Exhibit(
        "Table 4: problems passed",
        (Picture("table4_humaneval", draw(data), caption, alt),) if data.rows else (),
        tables(data),
        conclusions=conclusions(data),
        inputs=data.run.inputs,
    )
