"""Measure what guidance costs: seconds per answer and memory, by guide, beside the controls (Table 11).

Every guide and every control decodes a few prompts at the reward scale that validation prompts chose for the guide.
Then all is decoded again, one answer at a time, to measure seconds (`timing`). The default and rws run with the usual
savings, with all of `settings.Savings.everything`, and with none. Controls that ask no reward show the machine's noise.
These files go below OUT/overhead, besides the units' parts and `selection.json|csv`:

- `overhead`: seconds, their increase over the default's, reward calls and what was saved of them;
- `memory`: what each guide adds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from paper_figures.runner.units import Unit
from paper_figures.studies.design.arms import run_arms
from paper_figures.studies.design.comparison import arms_from, run_comparison, scales_from
from paper_figures.studies.design.prompts import Prompts
from paper_figures.studies.design.stages import Stages
from paper_figures.studies.options import OverheadOptions
from paper_figures.studies.summaries.paired_answers import LINE, lines_of
from paper_figures.studies.summaries.printed import Printed, paper_names, printed_tables, printed_value
from paper_figures.studies.summaries.timing import (
    HOW,
    measured,
    note_several_workers,
    run_timing,
    shown_times,
    timed_rows,
)
from paper_figures.studies.work.timing import SAVINGS, way_of
from paper_figures.table import Table
from rws_theory.printed import printed_in

NAME = "overhead"
_MIB = 2**20


def run(options: OverheadOptions) -> dict[str, Any]:
    """Run the study from parsed options; return what `--json` prints."""
    note_several_workers(options)
    return run_comparison(options, NAME, tables, _run_stages)


def _run_stages(options: OverheadOptions, base: Unit, prompts: Prompts, stages: Stages) -> None:

    run_arms(arms_from(options, base, prompts, scales_from(options, base, prompts, stages)), stages)
    run_timing(options, base, prompts.test, stages, _ways, repetitions=options.repetitions, memory=True)


def _ways(answers: Mapping[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:

    guided_ways = [way_of(method, answers[method], savings) for savings in SAVINGS for method in ("default", "rws")]
    return guided_ways + [way_of(method, rows) for method, rows in answers.items() if method not in ("default", "rws")]


def tables(frame: pd.DataFrame, *, seed: int = 0) -> list[Table]:
    """Return the tables of the study from its rows."""
    timed = measured(frame)
    if not len(timed):
        return []
    rows, timing = timed_rows(timed, seed, (*LINE, "savings"))
    rows = [row | _printed(row) for row in rows]
    shown_rows = shown_times(rows)
    if any(row["seconds, paper"] is not None for row in rows):
        shown_rows = [out | _printed(row) for out, row in zip(shown_rows, rows, strict=True)]
    caption = (
        "savings: usual, what `decode` leaves out if not told; everything; nothing, so that the reward is asked at "
        "every step. best-of-n decodes N samples and scores them together. reward calls: texts scored; saved: not "
        f"needed, or scored before; same text: share of prompts with the text of the usual savings. {HOW} {timing}"
    )
    return [Table("overhead", rows, shown_rows, caption), *_memory(timed), *_printed_tables()]


def _memory(timed: pd.DataFrame) -> list[Table]:

    measured_rows = timed[(timed["method"] == "rws") & (timed["savings"] == "usual") & timed["reward_bytes"].notna()]
    printed = Printed("table11_overhead", "memory_mib", {"guide": "model"}, names=paper_names())
    rows = []
    for line, rows_of_guide in lines_of(measured_rows, ("guide", "measured_on")):
        first = rows_of_guide.iloc[0]
        row: dict[str, Any] = line | {"reward_mib": float(first["reward_bytes"]) / _MIB}
        row |= dict.fromkeys(("peak_without_mib", "peak_mib", "added_mib"))
        if rows_of_guide["peak_bytes"].notna().any():
            without, peak = (float(first[name]) / _MIB for name in ("peak_bytes_without", "peak_bytes"))
            row |= {"peak_without_mib": without, "peak_mib": peak, "added_mib": peak - without}
        rows.append(row | {"added_mib, paper": printed_value(printed, line)})
    caption = (
        "reward_mib: bytes of the guide's parameters and buffers; peak_: the most that PyTorch had allocated on CUDA "
        "(torch.cuda.max_memory_allocated) while it decoded the default with no guide loaded, and rws; added: their "
        "difference, what the paper prints; on a CPU not measured. MiB, on the first prompt."
    )
    return [Table("memory", rows, rows, caption)] if rows else []


def _printed(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the paper's seconds for a line of ours, and their increase over its default's.

    The increase is computed as ours is.
    """
    where = Printed("table11_overhead", "seconds", {"guide": "model"}, {"method": "rws"}, paper_names())
    seconds = printed_value(where, row)
    base = printed_in("table11_overhead")["default_seconds"]
    increase = None if seconds is None else 100 * (seconds / base - 1)
    return {"seconds, paper": seconds, "increase, paper": increase}


def _printed_tables() -> list[Table]:

    def with_increase(row: Mapping[str, Any], base: float) -> dict[str, Any]:
        return {**row, "increase, %, computed": None if row["seconds"] == base else 100 * (row["seconds"] / base - 1)}

    tables_with_increase = []
    for table in printed_tables("table11_overhead"):
        base = next(row["seconds"] for row in table.rows if row["model"] == "Default")
        rows = [with_increase(row, base) for row in table.rows]
        tables_with_increase.append(replace(table, rows=rows, shown=rows))
    return tables_with_increase
