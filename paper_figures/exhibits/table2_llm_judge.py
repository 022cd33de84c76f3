"""Table 2: two-turn dialogues, RWS against confidence decoding, judged by the paper's LLM and by our judges.

Shows: the printed win rates beside ours, by an LLM if the run asked one, else by the reward itself and by all other
reward models; RWS minus its controls on the same dialogues.
"""

from __future__ import annotations

from pathlib import Path

from paper_figures.exhibits.shared.exhibit import Exhibit
from paper_figures.exhibits.shared.results import (
    Dialogues,
    beside,
    differences_table,
    judged_dialogues,
    measured,
    numbers_by,
    setting,
    tally,
)
from paper_figures.table import Table
from rws_theory.printed import printed_in

NEEDS: tuple[str, ...] = ("mt-bench",)
_STEM = "table2_llm_judge"
_SHOWN = ("rws", "constant")

compute = judged_dialogues


def tables(data: Dialogues) -> tuple[Table, ...]:
    """Return the printed table beside ours, and RWS minus its controls."""
    table = printed_in(_STEM)
    printed = {row["model"]: {"RWS win, %": row["win"], "default win, %": row["default_win"]} for row in table["rows"]}
    shown = [{**row, "measure": f"{row['method']} by {row['measure']}"} for row in data.rows if row["method"] in _SHOWN]
    columns = [
        measured(f"{'RWS' if method == 'rws' else method} preferred, by {judge}, %", f"{method} by {judge}", ".1f")
        for judge in data.judges
        for method in _SHOWN
    ]
    caption = (
        f"Left: {table['where']}: {table['task']}. {setting(data.run)} {data.verdict()} Brackets: 95 % intervals over "
        "dialogues; nothing printed allows any for the left."
    )
    minus = {judge: f"preferred by {judge}, points" for judge in data.judges}
    return (
        beside(_STEM, "reward model", printed, numbers_by(shown), caption, columns),
        differences_table("table2_differences", data.rows, minus),
    )


def exhibit(runs: Path) -> Exhibit:
    """Return Table 2 from the results below `runs`."""
    data = compute(runs)
    wins = [row["win"] for row in printed_in(_STEM)["rows"]]
    printed = (
        f"The printed LLM judge prefers RWS in {min(wins):g} to {max(wins):g} % of dialogues for {len(wins)} reward "
        "models, without intervals or controls."
        + ("" if data.llm else " No LLM has judged this run: whether one would prefer RWS here is not known.")
    )
    ours = tuple(
        f"RWS against the default on two-turn dialogues, by {judge}: {tally(found, 'reward models')}."
        for judge, found in data.against.items()
    )
    return Exhibit(
        "Table 2: two-turn dialogues judged", tables=tables(data), conclusions=(printed, *ours), inputs=data.run.inputs
    )
