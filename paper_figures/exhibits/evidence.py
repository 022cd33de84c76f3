"""The evidence study as tables: every arm with its cost, and every comparison with its verdict and power.

Shows: one row for each arm; how RWS compares with all others, by world, sampling and measure (the CSV has each
comparison, with the least difference that it could show).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import numpy as np

from paper_figures.exhibits.shared.evidence import evidence_of, inputs_of, source_line
from paper_figures.exhibits.shared.exhibit import Exhibit
from paper_figures.recorded.verdicts import (
    VERDICTS,
    Comparison,
    address_answer,
    comparisons_of,
    reward_answer,
    variation_text,
)
from paper_figures.studies.evidence import arm_tables
from paper_figures.studies.evidence_arms import MEASURES, Measure
from paper_figures.table import Table

NEEDS: tuple[str, ...] = ()  # the record ships with the package


def exhibit(runs: Path) -> Exhibit:
    """Return the tables of the evidence study below `runs`, or of the record; MissingRun where there is neither."""
    record = evidence_of(runs)
    rows = comparisons_of(record)
    made = [*arm_tables(record.answers), *([comparison_table(rows)] if rows else [])]
    made += [address_table(rows)] if any(row.by_address for row in rows) else []
    said = reward_answer(rows) or "The results have no runs of RWS to compare."
    return Exhibit(
        "Does the reward matter? Every arm and every comparison",
        tables=tuple(made),
        conclusions=tuple(filter(None, (said, address_answer(rows), source_line(record)))),
        inputs=inputs_of(runs),
    )


def comparison_table(rows: Sequence[Comparison]) -> Table:
    """Return every comparison as data, and for reading how many have which verdict by world, sampling and measure."""
    data, shown = [], []
    for row in rows:
        measure, of = MEASURES[row.measure], row.by_address
        ends = {"difference": row.difference, "low": row.low, "high": row.high}
        ends |= dict(zip(("low by prompt", "high by prompt"), row.by_prompt, strict=True))
        data.append(
            {"world": row.world, "tokens": "drawn" if row.drawn else "greedy", "measure": row.measure}
            | {"unit": "share" if measure.kind == "share" else measure.unit, "s_R": row.scale, "minus": row.title}
            | {"prompts": row.n, "distinct pairs": row.distinct, "same texts": row.same}
            | {name: value if np.isfinite(value) else None for name, value in ends.items()}
            | {"wins": row.wins, "losses": row.losses, "p alone": row.p_alone, "p max-T": row.p}
            | {"margin": row.margin, "p equivalent alone": row.p_equivalent_alone, "p equivalent": row.p_equivalent}
            | {"factor's variation": row.variation, "least with 80 % power": row.least}
            | {"verdict": row.verdict, "within margin": row.within}
            | {"verdict by speech": row.verdict_by_address}
            | {f"{name} by speech": of and of[at] for at, name in enumerate(("low", "high", "p", "p equivalent"))}
        )
    for (world, drawn, name), group in groupby(rows, key=lambda row: (row.world, row.drawn, row.measure)):
        kept, measure = list(group), MEASURES[name]
        least, distinct = [row.least for row in kept if row.least is not None], [row.distinct for row in kept]
        shown.append(
            {"world": world, "tokens": "drawn" if drawn else "greedy", "measure": measure.title}
            | {verdict: sum(row.verdict == verdict for row in kept) for verdict in VERDICTS}
            | {"distinct pairs": " to ".join(map(str, dict.fromkeys((min(distinct), max(distinct)))))}
            | {"factor varies by": variation_text(kept) or None}
            | {"margin": f"{measure.text(measure.margin, sign=False)} {measure.unit}"}
            | {"least seen": _ends(least, measure)}
        )
    caption = (
        "RWS minus each other method on the same prompts: how many comparisons have which verdict. More and less: p by "
        "max-T over the row is at most 0.05. Equivalent: within the margin by two one-sided tests, p by Holm over the "
        "row. Distinct pairs: of texts; intervals and tests are over these. Factor varies by: its median CV within a "
        "run of RWS; near 0, equivalence could not fail. Least seen: the true differences that one test alone finds in "
        "80 % of such studies, smallest to largest. The CSV file has every comparison."
    )
    return Table("evidence_comparisons", data, shown, caption)


def address_table(rows: Sequence[Comparison]) -> Table:
    """Return the comparisons whose verdict is another one where prompts of one speech may be alike."""
    shown = []
    for row in rows:
        if row.by_address and row.verdict != row.verdict_by_address:
            measure, (low, high, p, _) = MEASURES[row.measure], row.by_address
            shown.append(
                {"measure": f"{measure.title}{', tokens sampled' if row.drawn else ''}", "s_R": f"{row.scale:g}"}
                | {"RWS minus": row.title, "by prompt": f"{row.verdict}: {row.text()}"}
                | {"by speech": f"{row.verdict_by_address}: [{measure.text(low)}, {measure.text(high)}], p {p:.2g}"}
            )
    caption = (
        "Verdicts that another one replaces where prompts of one speech may be alike: interval over "
        "speeches, p by the signs of whole speeches (wild cluster bootstrap), max-T as before."
    )
    return Table("evidence_by_address", shown, shown, caption)


def _ends(values: Sequence[float], measure: Measure) -> str | None:
    if not values:
        return None
    texts = dict.fromkeys(measure.text(value, sign=False) for value in (min(values), max(values)))
    return f"{' to '.join(texts)} {measure.unit}"
