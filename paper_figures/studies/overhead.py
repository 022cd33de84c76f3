"""Measure what guidance costs: seconds per answer and memory, by guide, beside the controls (Table 11).

Every guide and every control decodes a few prompts at the reward scale that validation prompts chose for the guide.
Then all is decoded again, one answer at a time, to measure seconds (`timing`). The default and rws run with the usual
savings, with all of `settings.Savings.everything`, and with none. Controls that ask no reward show the machine's noise.
These files go below OUT/overhead, besides the units' parts and `selection.json|csv`:

- `overhead`: seconds, their increase over the default's, reward calls and what was saved of them;
- `memory`: what each guide adds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paper_figures.studies.design.asked import Drawn
from paper_figures.studies.design.comparison import arms_from, run_comparison, scales_from
from paper_figures.studies.design.options import ComparisonOptions
from paper_figures.studies.summaries.timing import repetitions_option

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas

    from paper_figures.runner.units import Unit
    from paper_figures.studies.design.prompts import Prompts
    from paper_figures.studies.design.stages import Stages
    from paper_figures.table import Table

NAME = "overhead"
_MIB = 2**20


@dataclass(frozen=True)
class Options(ComparisonOptions):
    """The study's options."""

    data: str = "stories:keywords"
    prompts: int = Drawn(4)
    validation: int = 8
    path_prompts: int = 0
    repetitions: int = repetitions_option()


def run(options: Options) -> dict[str, Any]:
    """Run the study from parsed options; return what `--json` prints."""
    from paper_figures.studies.summaries.timing import note_several_workers

    note_several_workers(options)
    return run_comparison(options, NAME, tables, _run_stages)


def _run_stages(options: Options, base: Unit, prompts: Prompts, stages: Stages) -> None:
    from paper_figures.studies.design.arms import run_arms
    from paper_figures.studies.summaries.timing import run_timing

    run_arms(arms_from(options, base, prompts, scales_from(options, base, prompts, stages)), stages)
    run_timing(options, base, prompts.test, stages, _ways, repetitions=options.repetitions, memory=True)


def _ways(answers: Mapping[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    from paper_figures.studies.work.timing import SAVINGS, way_of

    guided_ways = [way_of(method, answers[method], savings) for savings in SAVINGS for method in ("default", "rws")]
    return guided_ways + [way_of(method, rows) for method, rows in answers.items() if method not in ("default", "rws")]


def tables(frame: pandas.DataFrame, *, seed: int = 0) -> list[Table]:
    """Return the tables of the study from its rows."""
    from paper_figures.studies.summaries.paired_answers import LINE
    from paper_figures.studies.summaries.timing import HOW, measured, shown_times, timed_rows
    from paper_figures.table import Table

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


def _memory(timed: pandas.DataFrame) -> list[Table]:
    from paper_figures.studies.summaries.paired_answers import lines_of
    from paper_figures.studies.summaries.printed import Printed, paper_names, printed_value
    from paper_figures.table import Table

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
    from paper_figures.studies.summaries.printed import Printed, paper_names, printed_value
    from rws_theory.printed import printed_in

    where = Printed("table11_overhead", "seconds", {"guide": "model"}, {"method": "rws"}, paper_names())
    seconds = printed_value(where, row)
    base = printed_in("table11_overhead")["default_seconds"]
    increase = None if seconds is None else 100 * (seconds / base - 1)
    return {"seconds, paper": seconds, "increase, paper": increase}


def _printed_tables() -> list[Table]:
    from dataclasses import replace

    from paper_figures.studies.summaries.printed import printed_tables

    def with_increase(row: Mapping[str, Any], base: float) -> dict[str, Any]:
        return {**row, "increase, %, computed": None if row["seconds"] == base else 100 * (row["seconds"] / base - 1)}

    tables_with_increase = []
    for table in printed_tables("table11_overhead"):
        base = next(row["seconds"] for row in table.rows if row["model"] == "Default")
        rows = [with_increase(row, base) for row in table.rows]
        tables_with_increase.append(replace(table, rows=rows, shown=rows))
    return tables_with_increase
