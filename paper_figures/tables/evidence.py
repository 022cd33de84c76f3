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
from typing import Any

import numpy as np

from paper_figures.exhibits.evidence import evidence_of, inputs_of, source_line
from paper_figures.exhibits.exhibit import Exhibit
from paper_figures.recorded import Recorded
from paper_figures.statistics.equivalence import least_difference, least_net_rate, prompts_for
from paper_figures.statistics.intervals import Interval
from paper_figures.statistics.sample_size import prompts_needed
from paper_figures.studies.design.evidence_arms import METHODS, WORLDS
from paper_figures.studies.summaries.evidence_answers import VERDICTS, reward_answer
from paper_figures.studies.summaries.evidence_comparisons import Comparison, comparisons_of
from paper_figures.studies.summaries.evidence_measures import MEASURES, Measure, arms_of, worlds_of
from paper_figures.studies.summaries.evidence_tables import arm_tables, best_table, table8_rows
from paper_figures.table import Table

NEEDS: tuple[str, ...] = ()  # the record ships with the package
_PROMPTS = 400
_LARGEST = 10**6


def exhibit(runs: Path) -> Exhibit:
    """Return the tables of the evidence study below `runs`, or of the record; MissingRun where there is neither."""
    record = evidence_of(runs)
    rows = comparisons_of(record)
    arms = {world: arms_of(record.answers, world) for world in worlds_of(record.answers)}
    made = [*arm_tables(record.answers), *([comparison_table(rows), power_table(rows)] if rows else [])]
    made += [best_table(arms[world], record.frontiers, world) for world in arms]
    made.append(table8([row for world in arms for row in table8_rows(rows, arms[world], world)]))
    return Exhibit(
        "Does the reward matter? Every arm, every comparison, and the power",
        tables=tuple(made),
        conclusions=_conclusions(record, rows),
        inputs=inputs_of(runs),
    )


def comparison_table(rows: Sequence[Comparison]) -> Table:
    """Return every comparison as data, and for reading how many have which verdict by world, sampling and measure."""
    data = [_fields(row) for row in rows]
    shown = []
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


def _fields(row: Comparison) -> dict[str, Any]:
    numbers = {"difference": row.difference, "low": row.low, "high": row.high}
    finite = {name: value if np.isfinite(value) else None for name, value in numbers.items()}
    tokens = "drawn" if row.drawn else "greedy"
    return (
        {"world": row.world, "tokens": tokens, "measure": row.measure, "unit": _unit(row.measure), "s_R": row.scale}
        | {"minus": row.title, "prompts": row.n, "same texts": row.same, **finite, "wins": row.wins}
        | {"losses": row.losses, "p alone": row.p_alone, "p max-T": row.p, "margin": row.margin}
        | {"p equivalent": row.p_equivalent, "least with 80 % power": row.least, "verdict": row.verdict}
        | {"within margin": row.within}
    )


def _unit(name: str) -> str:
    return "share" if MEASURES[name].kind == "share" else MEASURES[name].unit


def table8(rows: Sequence[dict[str, Any]]) -> Table:
    """Return GOD and perplexity against the default, of RWS and of its controls, as a table."""
    data, shown = [], []
    for row in rows:
        quality, direct = MEASURES[row["name"]], row["direct"]
        title = METHODS[row["method"]].title
        key = {"world": row["world"], "s_R": row["s_R"], "method": title}
        parts = (("GOD", row["god"]), (quality.title, row["quality"]))
        ends = ("", " low", " high")
        data.append(
            key
            | {f"{n}{end}": float(value) for n, i in zip(("GOD", "quality"), (row["god"], row["quality"]), strict=True)
               for end, value in zip(ends, i, strict=True)}
            | {"quality is": row["name"], "pattern": row["pattern"]}
        )  # fmt: skip
        texts = [_interval_text(MEASURES[n], i) for n, (_, i) in zip(("god", row["name"]), parts, strict=True)]
        shown.append(
            key
            | {"GOD, tokens": texts[0], "log p or log perplexity": f"{quality.title} {texts[1]}"}
            | {"Table 8's pattern": "yes" if row["pattern"] else "no"}
            | {"RWS minus it": None if direct is None else f"{direct.text()}, {direct.verdict}"}
        )
    caption = (
        "Table 8's pattern, GOD up and perplexity down against the default, greedy: means with 95 % intervals. It is "
        "there where both intervals exclude 0. RWS minus it: in log p (nats a word) or log perplexity (nats a token)."
    )
    return Table("evidence_table8", data, shown, caption)


def _interval_text(measure: Measure, interval: Interval) -> str:
    mean, low, high = map(measure.text, interval)
    return f"{mean} [{low}, {high}]"


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


def _conclusions(record: Recorded, rows: Sequence[Comparison]) -> tuple[str, ...]:
    lines = []
    for world in dict.fromkeys(row.world for row in rows):
        kept = [row for row in rows if row.world == world]
        counts = {verdict: sum(row.verdict == verdict for row in kept) for verdict in VERDICTS}
        told = ", ".join(f"{verdict} {count}" for verdict, count in counts.items())
        lines.append(f"{len(kept)} comparisons in {WORLDS[world].model}, on {kept[0].n} prompts: {told}.")
    lines = lines or ["The results have no runs of RWS to compare."]
    return tuple(filter(None, (reward_answer(rows), *lines, source_line(record))))
