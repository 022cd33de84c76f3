"""The evidence study as tables: every arm with its cost, every comparison with its verdict, and the power of the study.

Shows: one row for each arm; how RWS compares with all others, by world, sampling and measure (the CSV has each
comparison); and how many prompts each margin needs.
Inputs: the evidence study below RUNS, else the record that ships.
Run time: half a minute.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import numpy as np

from paper_figures.exhibits.evidence import evidence_of, inputs_of, source_line
from paper_figures.exhibits.exhibit import Exhibit
from paper_figures.statistics.equivalence import least_difference, least_net_rate, prompts_for
from paper_figures.statistics.sample_size import prompts_needed
from paper_figures.studies.summaries.evidence_answers import VERDICTS, reward_answer
from paper_figures.studies.summaries.evidence_comparisons import Comparison, comparisons_of
from paper_figures.studies.summaries.evidence_measures import MEASURES, Measure, arms_of, worlds_of
from paper_figures.studies.summaries.evidence_tables import arm_tables, best_table
from paper_figures.table import Table

NEEDS: tuple[str, ...] = ()  # the record ships with the package
_PROMPTS = 400
_LARGEST = 10**6


def exhibit(runs: Path) -> Exhibit:
    """Return the tables of the evidence study below `runs`, or of the record; MissingRun where there is neither."""
    record = evidence_of(runs)
    rows = comparisons_of(record)
    made = [*arm_tables(record.answers), *([comparison_table(rows), power_table(rows)] if rows else [])]
    made += [best_table(arms_of(record.answers, w), record.frontiers, w) for w in worlds_of(record.answers)]
    said = reward_answer(rows) or "The results have no runs of RWS to compare."
    return Exhibit(
        "Does the reward matter? Every arm, every comparison, and the power",
        tables=tuple(made),
        conclusions=(said, source_line(record)),
        inputs=inputs_of(runs),
    )


def comparison_table(rows: Sequence[Comparison]) -> Table:
    """Return every comparison as data, and for reading how many have which verdict by world, sampling and measure."""
    data, shown = [], []
    for row in rows:
        measure = MEASURES[row.measure]
        ends = {"difference": row.difference, "low": row.low, "high": row.high}
        data.append(
            {"world": row.world, "tokens": "drawn" if row.drawn else "greedy", "measure": row.measure}
            | {"unit": "share" if measure.kind == "share" else measure.unit, "s_R": row.scale, "minus": row.title}
            | {"prompts": row.n, "same texts": row.same}
            | {name: value if np.isfinite(value) else None for name, value in ends.items()}
            | {"wins": row.wins, "losses": row.losses, "p alone": row.p_alone, "p max-T": row.p}
            | {"margin": row.margin, "p equivalent": row.p_equivalent, "least with 80 % power": row.least}
            | {"verdict": row.verdict, "within margin": row.within}
        )
    for (world, drawn, name), group in groupby(rows, key=lambda row: (row.world, row.drawn, row.measure)):
        kept, measure = list(group), MEASURES[name]
        least = [row.least for row in kept if row.least is not None]
        shown.append(
            {"world": world, "tokens": "drawn" if drawn else "greedy", "measure": measure.title}
            | {verdict: sum(row.verdict == verdict for row in kept) for verdict in VERDICTS}
            | {"margin": f"{measure.text(measure.margin, sign=False)} {measure.unit}"}
            | {"least seen": _ends(least, measure)}
        )
    caption = (
        "RWS minus each other method on the same prompts: how many comparisons have which verdict. More and less: p by "
        "max-T over the row is at most 0.05. Equivalent: within the margin by two one-sided tests, which are not "
        "corrected for their number. Least seen: the true differences that one test alone finds in 80 % of such "
        "studies, smallest to largest. The CSV file has every comparison."
    )
    return Table("evidence_comparisons", data, shown, caption)


def power_table(rows: Sequence[Comparison]) -> Table:
    """Return how many prompts find a difference of each margin, by the spreads measured between RWS and its controls.

    The spread is the median and the greatest over a world's greedy comparisons: of the standard deviation of a mean's
    differences, and of the share of prompts that differ.
    """
    data, shown = [], []
    for (world, name), group in groupby([r for r in rows if not r.drawn], key=lambda row: (row.world, row.measure)):
        measure = MEASURES[name]
        spreads = [spread for row in group if (spread := _spread(row)) is not None]
        for label, spread in (("median", np.median(spreads)), ("greatest", np.max(spreads))) if spreads else ():
            spread = float(spread)
            needed, least = _needed(measure, spread), _least(measure, spread)
            data.append(
                {"world": world, "measure": name, "spread": label, "value": spread, "margin": measure.margin}
                | {"prompts for the margin": needed, f"least at n = {_PROMPTS}": least}
            )
            shown.append(
                {"world": world, "measure": measure.title, "spread": f"{label}, {measure.text(spread, sign=False)}"}
                | {"margin": f"{measure.text(measure.margin, sign=False)} {measure.unit}"}
                | {"prompts for the margin": f"over {_LARGEST:,}" if needed is None else f"{needed:,}"}
                | {f"least at n = {_PROMPTS}": None if least is None else measure.text(least, sign=False)}
            )
    caption = (
        "Power: the prompts that find a true difference of the margin with 80 % power at 5 %, by the spread that was "
        f"measured, and the least difference that {_PROMPTS} prompts find. Spread: of means the standard deviation of "
        "paired differences, of shares the points of prompts that differ; over all greedy comparisons. Counts "
        "are whole, so that of shares a few prompts fewer may do."
    )
    return Table("evidence_power", data, shown, caption)


def _spread(row: Comparison) -> float | None:
    if row.wins is not None and row.losses is not None:
        return (row.wins + row.losses) / row.n or None
    # The least difference is in proportion to the standard deviation.
    return None if row.least is None else row.least / float(least_difference(1.0, row.n) or 1.0)


def _needed(measure: Measure, spread: float) -> int | None:
    if measure.kind == "mean":
        return prompts_for(measure.margin, spread, largest=_LARGEST)
    net = min(measure.margin, spread)
    return prompts_needed((spread + net) / 2, (spread - net) / 2)


def _least(measure: Measure, spread: float) -> float | None:
    return least_difference(spread, _PROMPTS) if measure.kind == "mean" else least_net_rate(spread, _PROMPTS)


def _ends(values: Sequence[float], measure: Measure) -> str | None:
    if not values:
        return None
    texts = dict.fromkeys(measure.text(value, sign=False) for value in (min(values), max(values)))
    return f"{' to '.join(texts)} {measure.unit}"
