"""Table 10: the LLM judge's win rates by the place of RWS's answer, and what they allow to conclude.

Shows: the printed shares taken as counts of 80 dialogues, with exact 95 % intervals and sign tests. Beside them, the
verdicts of the run by order if it asked an LLM; reward models score one answer at a time and know no order.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from paper_figures.exhibits.shared.exhibit import Exhibit
from paper_figures.exhibits.shared.results import (
    ALPHA,
    Dialogues,
    beside,
    judged_dialogues,
    measured,
    numbers_by,
    setting,
)
from paper_figures.studies.mt_bench import printed_intervals
from paper_figures.table import Column, Table, make_table
from rws_theory.printed import printed_in

NEEDS: tuple[str, ...] = ("mt-bench",)
_STEM = "table10_llm_judge_orders"
_PLACES = {"first": "RWS shown first", "second": "RWS shown second"}
# Columns of the run's table `llm_orders`, in percent here.
_MEASURES = {
    "as_first": "RWS shown first, RWS win, %",
    "as_second": "RWS shown second, RWS win, %",
    "order_decides": "order decides, % of those asked about",
    "answer_1": "verdicts for answer 1, %",
    "identical": "same texts, %",
    "invalid": "no verdict, %",
}

compute = judged_dialogues


def tables(data: Dialogues) -> tuple[Table, ...]:
    """Return the printed table beside ours, and the printed one tested where counts follow from it."""
    table = printed_in(_STEM)
    printed = {
        row["model"]: {f"{label}, RWS win, %": row[order] for order, label in _PLACES.items()} for row in table["rows"]
    }
    several = len(data.judges) > 1
    columns = [
        measured(f"{label} ({judge})" if several else label, f"{measure} by {judge}", ".1f")
        for judge in (data.judges if data.llm else ())
        for measure, label in _MEASURES.items()
    ]
    here = numbers_by({**row, "measure": f"{row['measure']} by {row['judge']}"} for row in data.orders)
    unordered = "" if data.llm else " A reward model scores one answer at a time, so that no place can matter to it."
    caption = (
        f"Left: {table['where']}: {table['task']}; the default's shares are the rest of 100. {setting(data.run)} "
        f"{data.verdict()}{unordered} Brackets: 95 % intervals over dialogues."
    )
    tested = [{**row, "place": _PLACES[row["order"]]} for row in _tested()]
    numbers = [Column("reward model", "model"), Column("place"), Column("won"), Column("of")]
    numbers += [Column("share, % [exact 95 % interval]", "share", ".3g", ("low", "high"), 100)]
    numbers += [Column("sign test p", "p", ".2g"), Column("p, corrected", "p_holm", ".2g")]
    what = (
        f"What {table['where']} allows to conclude: every share is a whole number of 80ths, and we take it as a number "
        "of 80 dialogues. Exact intervals (Clopper and Pearson), exact two-sided sign tests against one half, and p "
        "corrected over the models within a place by Holm's method. All models are compared with the same default "
        "answers, so the tests are not independent."
    )
    return (
        beside(_STEM, "reward model", printed, here, caption, columns),
        make_table("table10_tested", tested, numbers, what),
    )


def exhibit(runs: Path) -> Exhibit:
    """Return Table 10 from what is printed and the results below `runs`."""
    data = compute(runs)
    return Exhibit(
        "Table 10: the LLM judge, by the order of the answers",
        tables=tables(data),
        conclusions=(_headline(_tested()),),
        inputs=data.run.inputs,
    )


def _tested() -> list[dict[str, Any]]:
    return [dict(row) for table in printed_intervals() for row in table.rows]


def _headline(tested: Sequence[dict[str, Any]]) -> str:
    if not tested:
        return "The printed shares are not whole numbers of MT-Bench's dialogues, so their number is not known."
    above = sum(row["share"] > 0.5 for row in tested)
    outside = sum(row["low"] > 0.5 or row["high"] < 0.5 for row in tested)
    corrected = sum(row["p_holm"] <= ALPHA for row in tested)
    return (
        f"{above} of {len(tested)} printed shares are above 50 %. Taken as counts of {tested[0]['of']} dialogues, 95 % "
        f"intervals exclude 50 % for {outside}, and sign tests corrected over the models have p of at most {ALPHA:g} "
        f"for {corrected or 'none'}."
    )
