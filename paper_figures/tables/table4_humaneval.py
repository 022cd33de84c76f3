"""Table 4: problems passed at the first try, by guide: HumanEval as printed, beside programs or puzzles here.

Shows: pass@1 of the default and of RWS as printed, and here with intervals; RWS minus the default and minus every
control on the same problems. The mini models write no programs: their puzzles have one right answer each.
Inputs: RUNS/humaneval/results.json, made by `python -m paper_figures experiment humaneval --out RUNS`.
Run time: two seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from paper_figures.exhibits.differences import Difference, difference_from_row, minus_text, rws_minus
from paper_figures.exhibits.dot_plot import AS_PRINTED, Dots, draw_dots, height_of
from paper_figures.exhibits.exhibit import Exhibit, Picture
from paper_figures.exhibits.names import method_name, methods_in, with_guide_names
from paper_figures.exhibits.paper_beside_ours import columns_beside
from paper_figures.exhibits.runs import Results, read_run
from paper_figures.exhibits.sentences import sentences
from paper_figures.exhibits.style import LINES, PRINTED, figure, joint_legend, panel_title
from paper_figures.statistics.intervals import share_interval
from paper_figures.table import Column, Table, wide
from rws_theory.printed import printed_in

NEEDS: tuple[str, ...] = ("humaneval",)
DRAWN = ("default", "rws", "constant")
_STEM = "table4_humaneval"
_PASS = "pass@1"
_PROBLEMS = 164  # of HumanEval
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
    table = printed_in(_STEM)
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
    table, label = printed_in(_STEM), _MEASURES[_PASS]
    printed = {method_name("default"): {label: table["default"]}}
    printed |= {f"RWS, {row['model']}": {label: row["pass_at_1"]} for row in table["rows"]}
    columns = [Column(label, "mean", ".1f", ("low", "high")), Column("low"), Column("high"), Column("problems", "n")]
    columns.append(Column("s_R", "scale"))
    columns += [
        Column(f"RWS minus {method_name(name)}", name, form=lambda row, name=name: row.get(f"{name} text"))
        for name in ("default", "constant")
    ]
    kept = (row for row in data.rows if row["measure"] == _PASS and row["mean"] is not None)
    passed = {(row["name"], row["method"]): row for row in kept}
    here: dict[str, dict[str, Any]] = {}
    for (name, method), row in passed.items():
        if method == "default":
            here[method_name("default")] = {**row}
        elif method == "rws":
            here[f"RWS, {name}"] = line = {**row, "scale": row["reward_scale"]}
            for control in ("default", "constant"):
                minus = rws_minus(passed.get((name, control)))
                line |= {control: minus and minus["difference"], f"{control} text": minus_text(minus)}
    return columns_beside(_STEM, "method", printed, here, columns, _say(data)(_STEM))


def _differences(data: HumanEval) -> Table:
    order = methods_in(data.rows)
    rows = [row for row in data.rows if row["method"] != "rws" and row["measure"] in _MEASURES]
    rows.sort(key=lambda row: (data.names.index(row["name"]), order.index(row["method"])))
    shown = wide(
        rows,
        lambda row: {"guide": row["name"], "RWS minus": method_name(row["method"])},
        lambda row: {_MEASURES[row["measure"]]: minus_text(rws_minus(row))},
        [label for name, label in _MEASURES.items() if any(row["measure"] == name for row in data.rows)],
    )
    return Table("table4_differences", data.rows, shown, _say(data)("table4_differences"))


def _say(data: HumanEval) -> Callable[[str], str]:
    table = printed_in(_STEM)
    best = max(table["rows"], key=lambda row: row["pass_at_1"])
    return sentences(
        _STEM,
        data=data,
        printed=table,
        best=best,
        problems=_PROBLEMS,
        counts=[_of_problems(percent) for percent in (table["default"], best["pass_at_1"])],
        drawn={LINES[method].label: method for method in DRAWN},
        against={method: [_minus(row) for row in data.rows if _is(row, method)] for method in ("default", "constant")},
    )


def _is(row: Mapping[str, Any], method: str) -> bool:
    return (row["method"], row["measure"]) == (method, _PASS)


def _minus(row: Mapping[str, Any]) -> Difference | None:
    return difference_from_row(row["name"], row)


def _of_problems(percent: float) -> dict[str, Any]:
    """Return how many of HumanEval's problems a printed percentage is, and the interval of that share as text."""
    passed = round(percent * _PROBLEMS / 100)
    share = share_interval(passed, _PROBLEMS)
    return {"passed": passed, "interval": f"[{100 * share.low:.1f}, {100 * share.high:.1f}]"}


def exhibit(runs: Path) -> Exhibit:
    """Return Table 4 and its picture from the results below `runs`."""
    data = compute(runs)
    say = _say(data)
    return Exhibit(
        "Table 4: problems passed",
        (Picture(_STEM, draw(data), say("caption"), say("alt")),) if data.rows else (),
        tables(data),
        conclusions=(say("headline" if data.rows else "unchecked"), say("printed")),
        inputs=data.run.inputs,
    )
