"""Test the printed shares of Table 10, taken as counts of dialogues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paper_figures.exhibits.differences import ALPHA
from paper_figures.table import Table
from rws_theory.printed import printed_in

Row = Mapping[str, Any]

PLACES = {"first": "RWS shown first", "second": "RWS shown second"}
_PRINTED = "table10_llm_judge_orders"


def counted_shares() -> list[dict[str, Any]]:
    """Return model, order, won, of, share, p, p_holm of each printed share, and its exact interval, low and high.

    Counts, sign tests and their correction are those of `studies.summaries.llm_judge.printed_intervals`. The interval
    is Clopper's and Pearson's instead of Wilson's. No row if the printed shares are not whole numbers of dialogues.

    >>> [(row["won"], round(row["low"], 3)) for row in counted_shares()][0]
    (52, 0.535)
    """
    from scipy.stats import binomtest

    from paper_figures.studies.summaries.llm_judge import printed_intervals

    rows = []
    for row in (row for table in printed_intervals() for row in table.rows):
        exact = binomtest(row["won"], row["of"]).proportion_ci(0.95, method="exact")
        rows.append({**row, "low": float(exact.low), "high": float(exact.high)})
    return rows


def counts_table(tested: Sequence[Row]) -> Table:
    """Return the tested shares as a table."""
    rows, shown = [], []
    for row in tested:
        line = {"reward model": row["model"], "place": PLACES[row["order"]], "won": row["won"], "of": row["of"]}
        numbers = {"share": row["share"], "low": row["low"], "high": row["high"], "p": row["p"]}
        rows.append(line | numbers | {"p, corrected": row["p_holm"]})
        ends = " to ".join(f"{100 * row[end]:.1f}" for end in ("low", "high"))
        shown.append(
            {name: str(value) for name, value in line.items()}
            | {"share, %": f"{100 * row['share']:g}", "exact 95 % interval": ends}
            | {"sign test p": f"{row['p']:.2g}", "p, corrected": f"{row['p_holm']:.2g}"}
        )
    of = tested[0]["of"]
    caption = (
        f"What {printed_in(_PRINTED)['where']} allows to conclude from what it prints: every share is a whole number "
        f"of {of}ths, and we take it as a number of {of} dialogues. Exact intervals (Clopper and Pearson), exact "
        "two-sided sign tests against one half, and p corrected over the models within a place by Holm's method. All "
        "models are compared with the same default answers, so the tests are not independent. No printed number is "
        "altered; these numbers are computed from them."
    )
    return Table("table10_tested", rows, shown, caption)


def printed_lines(tested: Sequence[Row]) -> list[str]:
    """Return in words how many shares differ from one half by intervals and tests, and what the place does."""
    if not tested:
        return ["The printed shares are not whole numbers of MT-Bench's dialogues, so their number is not known."]
    count, of = len(tested), tested[0]["of"]

    def some(rows: list[Row]) -> str:
        named = ", ".join(f"{row['model']} {row['order']}" for row in rows)
        return f"{len(rows)} of {count}" + (f" ({named})" if rows and len(rows) < count else "")

    outside = [row for row in tested if row["low"] > 0.5 or row["high"] < 0.5]
    alone = [row for row in tested if row["p"] <= ALPHA]
    corrected = [row for row in tested if row["p_holm"] <= ALPHA]
    printed = printed_in(_PRINTED)["rows"]
    equal = [row["model"] for row in printed if row["first"] == row["second"]]
    first = [(row["first"] + 100 - row["second"]) / 2 for row in printed]
    above = sum(row["share"] > 0.5 for row in tested)
    return [
        f"{above} of {count} printed shares are above 50 %. Taken as counts of {of} dialogues, 95 % intervals exclude "
        f"50 % for {len(outside)}, and sign tests corrected over the models have p of at most {ALPHA:g} for "
        f"{len(corrected) or 'none'}.",
        f"Exact 95 % intervals exclude 50 % for {some(outside)}; the sign test alone has p of at most {ALPHA:g} for "
        f"{some(alone)}, corrected over the models within a place for {some(corrected)}.",
        f"The printed judge prefers the answer shown first in {min(first):.1f} to {max(first):.1f} % of verdicts; both "
        f"places have the same share for {len(equal)} of {len(printed)} models ({', '.join(equal)}). Equal shares do "
        "not mean that the same dialogues were won: the paper does not print in how many the order decided.",
    ]
