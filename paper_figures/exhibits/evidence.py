"""The evidence study as tables: every arm with its cost, and every comparison of RWS with its interval and verdict.

Shows: one row for each arm; how RWS compares with its twins and with all others, by model, reward, sampling and
measure (the CSV has each comparison, with speeches as units too).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from paper_figures.exhibits.shared.evidence import evidence_of, inputs_of, source_line
from paper_figures.exhibits.shared.exhibit import Exhibit
from paper_figures.recorded.arm_tables import arm_tables
from paper_figures.recorded.comparisons import (
    VERDICTS,
    Comparison,
    comparisons_of,
    reward_answer,
    speech_answer,
    variation_text,
)
from paper_figures.recorded.measures import MEASURES
from paper_figures.table import Table

NEEDS: tuple[str, ...] = ()  # the record ships with the package


def exhibit(runs: Path) -> Exhibit:
    """Return the tables of the evidence study below `runs`, or of the record; MissingRun where there is neither."""
    record = evidence_of(runs)
    rows = comparisons_of(record)
    answer = reward_answer(rows) or "The results have no runs of RWS to compare."
    return Exhibit(
        "Does the reward matter? Every arm and every comparison",
        tables=(*arm_tables(record.answers), *([comparison_table(rows)] if rows else [])),
        conclusions=tuple(filter(None, (answer, speech_answer(rows), source_line(record)))),
        inputs=inputs_of(runs),
    )


def comparison_table(rows: Sequence[Comparison]) -> Table:
    """Return every comparison as data; for reading, count each verdict by model, reward, sampling and measure."""
    data, shown = [], []
    for row in rows:
        measure, found, speech = MEASURES[row.measure], row.found, row.by_speech
        data.append(
            {"world": row.world, "tokens": "sampled" if row.drawn else "greedy", "measure": row.measure}
            | {"unit": "share" if measure.kind == "share" else measure.unit, "s_R": row.scale, "minus": row.title}
            | {"reward-blind twin": row.blind, "prompts": found.n, "distinct pairs": found.distinct}
            | {"same texts": found.equal, "difference": found.difference, "low": found.low, "high": found.high}
            | {"margin": measure.margin, "bound": measure.bound, "verdict": row.verdict, "difference uncut": row.uncut}
            | {"factor's variation": row.variation, "speeches": len(row.speeches) or None}
            | {"least of a speech": min(row.speeches, default=None)}
            | {"most of a speech": max(row.speeches, default=None)}
            | {"low by speech": speech and speech.low, "high by speech": speech and speech.high}
            | {"by speech": speech and speech.verdict}
        )
    for (world, drawn, name), group in groupby(rows, key=lambda row: (row.world, row.drawn, row.measure)):
        kept, measure = list(group), MEASURES[name]
        distinct = [row.found.distinct for row in kept]
        shown.append(
            {"world": world, "tokens": "sampled" if drawn else "greedy", "measure": measure.title}
            | {verdict: sum(row.verdict == verdict for row in kept) for verdict in VERDICTS}
            | {"distinct pairs": " to ".join(map(str, dict.fromkeys((min(distinct), max(distinct)))))}
            | {"factor varies by": variation_text(kept) or None}
            | {"margin": f"{measure.text(measure.margin, sign=False)} {measure.unit}"}
        )
    caption = (
        "RWS minus each other method on the same prompts: how many comparisons have which verdict of `rws ablate`. "
        "Better: the interval lies above the margin; worse: below minus the margin; equivalent: between both; not "
        "better: below the margin, but not between both. Intervals hold at any time, with 95 % for the twins of one "
        "s_R and measure together, and for the other methods together; those for a fixed number of prompts would be "
        "narrower. Prompts are the units. The SD of the reward is that over confidence texts. The difference of a mean "
        "counts as 30 margins at most. Of log perplexity the smaller is better, of GOD the greater. Distinct pairs: of "
        "texts. Factor varies by: its median CV within a run of RWS; near 0, equivalence could not fail. The CSV file "
        "has every comparison."
    )
    return Table("evidence_comparisons", data, shown, caption)
