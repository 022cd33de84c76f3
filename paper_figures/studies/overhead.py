"""Measure what guidance costs: seconds per answer and memory, by reward, beside the controls (Table 11).

RWS by every reward, and every control, decode a few prompts at the reward scale that validation prompts chose for it.
Then all is decoded again, one answer at a time, to measure seconds (`timing`). Confidence and rws run with the usual
savings, with all of `settings.Savings.everything`, and with none. Controls that ask no reward show the machine's noise.
These files go below OUT/overhead, besides the units' parts and `selection.json|csv`:

- `overhead`: seconds, their increase over confidence, reward calls and what was saved of them;
- `memory`: what each reward model adds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paper_figures.runner.units import Unit
from paper_figures.statistics.means import readable
from paper_figures.studies.answers import LINE, lines_of, printed_tables
from paper_figures.studies.comparison import run_comparison, run_usual
from paper_figures.studies.options import ComparisonOptions, Drawn, Usual
from paper_figures.studies.prompts import Prompts
from paper_figures.studies.study import Stages
from paper_figures.studies.timing import HOW, SAVINGS, measured, note_several_workers, run_timing, timed_rows, way_of
from paper_figures.table import Table
from rws_decode.cli.options import option
from rws_decode.common.later import pd

NAME = "overhead"


@dataclass(frozen=True)
class OverheadOptions(ComparisonOptions):
    """The options of `experiment overhead`."""

    data: str = Usual("stories:keywords")
    prompts: int = Drawn(4)
    validation: int = 8
    repetitions: int = option(3, "runs of every method on every timed prompt", least=1)


_MIB = 2**20


def run(options: OverheadOptions) -> dict[str, Any]:
    """Run the study from parsed options; return what `--json` prints."""
    note_several_workers(options)
    return run_comparison(options, NAME, tables, _run_stages)


def _run_stages(options: OverheadOptions, base: Unit, prompts: Prompts, stages: Stages) -> None:
    run_usual(options, base, prompts, stages)
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
    caption = (
        "savings: usual, what `decode` leaves out if not told; everything; nothing, so that the reward is asked at "
        "every step. best-of-n decodes N samples and scores them together. reward calls: texts scored; saved: not "
        f"needed, or scored before; same text: share of prompts with the text of the usual savings. {HOW} {timing}"
    )
    return [Table("overhead", rows, readable(rows), caption), *_memory(timed), *printed_tables("table11_overhead")]


def _memory(timed: pd.DataFrame) -> list[Table]:
    measured_rows = timed[(timed["method"] == "rws") & (timed["savings"] == "usual") & timed["reward_bytes"].notna()]
    rows = []
    for line, rows_of_guide in lines_of(measured_rows, ("guide", "measured_on")):
        first = rows_of_guide.iloc[0]
        row: dict[str, Any] = line | {"reward_mib": float(first["reward_bytes"]) / _MIB}
        row |= dict.fromkeys(("peak_without_mib", "peak_mib", "added_mib"))
        if rows_of_guide["peak_bytes"].notna().any():
            without, peak = (float(first[name]) / _MIB for name in ("peak_bytes_without", "peak_bytes"))
            row |= {"peak_without_mib": without, "peak_mib": peak, "added_mib": peak - without}
        rows.append(row)
    caption = (
        "reward_mib: bytes of the guide's parameters and buffers; peak_: the most that PyTorch had allocated on CUDA "
        "(torch.cuda.max_memory_allocated) while it decoded the default with no guide loaded, and rws; added: their "
        "difference, what the paper prints; on a CPU not measured. MiB, on the first prompt."
    )
    return [Table("memory", rows, rows, caption)] if rows else []
