"""Table 4: problems passed at the first try, by guide: HumanEval as printed, beside programs or puzzles here.

Shows: pass@1 of the default and of RWS as printed, and here with intervals; RWS minus the default and minus every
control on the same problems. The mini models write no programs: their puzzles have one right answer each.
Inputs: RUNS/humaneval/results.json, made by `rws experiment humaneval --out RUNS`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paper_figures.exhibits.differences import differences_table, rws_minus, tally
from paper_figures.exhibits.exhibit import Exhibit
from paper_figures.exhibits.names import in_words, method_name, with_guide_names
from paper_figures.exhibits.paper_beside_ours import beside, measured, numbers_by
from paper_figures.exhibits.runs import Results, read_run
from paper_figures.table import Column, Table
from rws_theory.printed import printed_in

NEEDS: tuple[str, ...] = ("humaneval",)
_STEM = "table4_humaneval"
_PASS = "pass@1"
_MEASURES = {_PASS: "pass@1, %", "god_tokens": "GOD, tokens", "cost": "cost"}


@dataclass(frozen=True)
class HumanEval:
    """The run's means by guide, method and measure, each with its guide's `name`; empty where nothing was checked."""

    rows: Sequence[Mapping[str, Any]]
    run: Results

    @property
    def task(self) -> str:
        """Return what was answered, in words."""
        source: str = self.run.settings["data"].partition(":")[0]
        sources = {"humaneval": "HumanEval programs, run", "puzzles": "puzzles with one right answer, no programs"}
        return sources.get(source, source)


def compute(runs: Path) -> HumanEval:
    """Read the experiment's results below `runs`; MissingRun, with the command, if they are missing."""
    run = read_run(runs, NEEDS[0])
    return HumanEval(with_guide_names(run.rows.get("pass_at_k", ()), run.settings["rewards"]), run)


def tables(data: HumanEval) -> tuple[Table, ...]:
    """Return Table 4 beside ours, and RWS minus every other method."""
    table, label = printed_in(_STEM), _MEASURES[_PASS]
    printed = {method_name("default"): {label: table["default"]}}
    printed |= {f"RWS, {row['model']}": {label: row["pass_at_1"]} for row in table["rows"]}
    passed = [row for row in data.rows if row["measure"] == _PASS]
    default = [
        {**row, "name": method_name("default"), "reward_scale": None} for row in passed if row["method"] == "default"
    ]
    rws = [{**row, "name": f"RWS, {row['name']}"} for row in passed if row["method"] == "rws"]
    settings, chosen = data.run.settings, "chosen on validation problems" if data.run.selection else "given"
    caption = (
        f"Left: {table['where']}, {table['task']}. Right, here: {data.task}; model {settings['model']}, "
        f"{data.run.prompts['test']} problems, {settings['length']} tokens, {settings['steps']} steps, one s_R per "
        f"guide ({chosen}). Brackets: Wilson's 95 % interval of a share. Problems and model are not the paper's: "
        "levels cannot be compared."
    )
    columns = [measured(label, _PASS, ".1f"), Column("problems", "prompts"), Column("s_R")]
    return (
        beside(_STEM, "method", printed, numbers_by([*default, *rws]), caption, columns),
        differences_table("table4_differences", data.rows, _MEASURES),
    )


def _headline(data: HumanEval) -> str:
    if not data.rows:
        return "No answer was checked here: programs run only with --allow-code-execution."
    passed = [row for row in data.rows if row["measure"] == _PASS]
    default, constant = (
        tally([rws_minus(row["name"], row) for row in passed if row["method"] == method], "reward models")
        for method in ("default", "constant")
    )
    return (
        f"{data.task[0].upper()}{data.task[1:]}: RWS minus the default, pass@1, is {default}; "
        f"minus {in_words('constant')}, {constant}."
    )


def exhibit(runs: Path) -> Exhibit:
    """Return Table 4 from the results below `runs`."""
    data, table = compute(runs), printed_in(_STEM)
    best = max(table["rows"], key=lambda row: row["pass_at_1"])
    printed = (
        f"Table 4 as printed: {table['default']:.2f} % by default, RWS up to {best['pass_at_1']:.2f} % "
        f"({best['model']}, {best['pass_at_1'] - table['default']:+.2f} points), without intervals. The paper does not "
        "print how many problems only one of the two passes, so no paired test can be made."
    )
    return Exhibit(
        "Table 4: problems passed",
        tables=tables(data),
        conclusions=(_headline(data), printed),
        inputs=data.run.inputs,
    )
