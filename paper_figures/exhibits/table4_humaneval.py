"""Table 4: problems passed at the first try, by reward: HumanEval as printed, beside programs or puzzles here.

Shows: pass@1 of confidence and of RWS as printed, and here with intervals; RWS minus confidence and minus every
control on the same problems. The mini models write no programs: their puzzles have one right answer each.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from paper_figures.exhibits.shared.exhibit import Exhibit
from paper_figures.exhibits.shared.results import (
    Results,
    Row,
    beside,
    capital,
    differences_table,
    in_words,
    measured,
    method_name,
    numbers_by,
    read_run,
    rws_minus,
    tally,
)
from paper_figures.table import Column, Table
from rws_theory.printed import printed_in

NEEDS: tuple[str, ...] = ("humaneval",)
_STEM = "table4_humaneval"
_PASS = "pass@1"
_MEASURES = {_PASS: "pass@1, %", "god_tokens": "GOD, tokens", "cost": "cost"}


def _task(run: Results) -> str:
    """Return what was answered, in words."""
    source: str = run.settings["data"].partition(":")[0]
    sources = {"humaneval": "HumanEval programs, run", "puzzles": "puzzles with one right answer, no programs"}
    return sources.get(source, source)


def tables(run: Results, rows: Sequence[Row]) -> tuple[Table, ...]:
    """Return Table 4 beside ours, and RWS minus every other method."""
    table, label = printed_in(_STEM), _MEASURES[_PASS]
    printed = {method_name("default"): {label: table["default"]}}
    printed |= {f"RWS, {row['model']}": {label: row["pass_at_1"]} for row in table["rows"]}
    passed = [row for row in rows if row["measure"] == _PASS]
    default = [
        {**row, "name": method_name("default"), "reward_scale": None} for row in passed if row["method"] == "default"
    ]
    rws = [{**row, "name": f"RWS, {row['name']}"} for row in passed if row["method"] == "rws"]
    settings, chosen = run.settings, "chosen on validation problems" if run.selection else "given"
    caption = (
        f"Left: {table['where']}, {table['task']}. Right, here: {_task(run)}; model {settings['model']}, "
        f"{run.prompts['test']} problems, {settings['length']} tokens, {settings['steps']} steps, one s_R per "
        f"reward ({chosen}). Brackets: Wilson's 95 % interval of a share. Problems and model are not the paper's: "
        "levels cannot be compared."
    )
    columns = [measured(label, _PASS, ".1f"), Column("problems", "prompts"), Column("s_R")]
    return (
        beside(_STEM, "method", printed, numbers_by([*default, *rws]), caption, columns),
        differences_table("table4_differences", rows, _MEASURES),
    )


def _headline(run: Results, rows: Sequence[Row]) -> str:
    if not rows:
        return "No answer was checked here: programs run only with --allow-code-execution."
    passed = [row for row in rows if row["measure"] == _PASS]
    default, constant = (
        tally([rws_minus(row) for row in passed if row["method"] == method], "reward models")
        for method in ("default", "constant")
    )
    return (
        f"{capital(_task(run))}: RWS minus the default, pass@1, is {default}; minus {in_words('constant')}, {constant}."
    )


def exhibit(runs: Path) -> Exhibit:
    """Return Table 4 from the results below `runs`."""
    run = read_run(runs, NEEDS[0])
    rows = run.named("pass_at_k")  # empty where nothing was checked
    return Exhibit(
        "Table 4: problems passed", tables=tables(run, rows), conclusions=(_headline(run, rows),), inputs=run.inputs
    )
