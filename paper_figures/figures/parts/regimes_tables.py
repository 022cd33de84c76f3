"""Tables and conclusions of Theorem 1's regimes: shares with intervals, cases against crossings, crossings in reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paper_figures.table import Table

__all__ = ["CASES", "FORMS", "Regimes", "conclusions", "source_name", "tables"]

Row = Mapping[str, Any]

# What the printed theorem says of a pair that meets these premises.
CASES = {
    "a": "printed (a): one in (0, 1), none above",
    "b": "printed (b): one above 1, none below",
    "both": "printed: cannot be both",
    "neither": "printed (c): no crossing",
}
FORMS = {
    "printed": "as printed",
    "items": "item by item",
    "mended": "with (b) mended",
    "corrected": "as corrected",
}
_SOURCES = {"gaussian": "Gaussian", "heavy-tailed": "heavy-tailed", "integers": "whole numbers", "real": "real"}


@dataclass(frozen=True)
class Regimes:
    """The experiment's outcome: rows of its three tables, real `pairs`, distributions in words, settings."""

    summary: Sequence[Row]
    cases: Sequence[Row]
    reach: Sequence[Row]
    pairs: Sequence[Row]
    distributions: Mapping[str, str]
    settings: Row

    @property
    def sources(self) -> list[tuple[str, int | None]]:
        """Return the sources of pairs in order, random ones first: name and dimension."""
        return list(dict.fromkeys((row["source"], row["dimension"]) for row in self.summary))

    def share(self, source: tuple[str, int | None], measure: str) -> Row:
        """Return the row of a source and measure."""
        return next(
            row for row in self.summary if (row["source"], row["dimension"]) == source and row["measure"] == measure
        )


def source_name(source: str) -> str:
    """Return what a source of pairs is called in figures and tables.

    >>> source_name("integers")
    'whole numbers'
    """
    return _SOURCES.get(source, source)


def tables(data: Regimes) -> tuple[Table, ...]:
    """Return the shares of every source, its cases against the true crossings, and the reach of real crossings."""
    return (_shares(data), _cases(data), _reach(data))


def _shares(data: Regimes) -> Table:
    names = {
        **{f"case {case}": f"printed case {case}" for case in CASES},
        **{f"crossings {count}": f"crossings {count}" for count in ("0", "1", "2+")},
        **{f"{form} false": f"false {label}" for form, label in FORMS.items()},
        "no flip proved": "no crossing by majorisation",
    }
    lines: dict[tuple[str, Any], dict[str, str | None]] = {}
    for row in data.summary:
        start = {"pairs from": source_name(row["source"]), "d": _text(row["dimension"]), "pairs": str(row["pairs"])}
        line = lines.setdefault((row["source"], row["dimension"]), start)
        if row["measure"] in names:
            line[names[row["measure"]]] = _share(row)
    caption = (
        "Shares of pairs, in %, with 95 % intervals: exact binomial for random pairs, which are independent; prompts "
        "resampled for real ones. Printed case: which premises of Theorem 1 are met. False: what the theorem asserts "
        "of the pair in this form does not hold. Item by item: (a), (b) and (c) as printed, each on its own, without "
        "its 'exactly one of the following holds', which allows no crossings on both sides of 1. The CSV has every "
        "measure with its count."
    )
    return Table("regimes", data.summary, list(lines.values()), caption)


def _cases(data: Regimes) -> Table:
    columns = ("none", "below 1", "above 1", "both sides", "several on a side")
    columns += tuple(f"{form} false" for form in FORMS)
    shown = [
        {"pairs from": source_name(row["source"]), "d": _text(row["dimension"]), "case": row["case"]}
        | {"printed claim": row["printed claim"], "pairs": str(row["pairs"])}
        | {name: str(row[name]) for name in columns}
        for row in data.cases
    ]
    caption = (
        "What the printed theorem asserts of each case, and where the crossings of its pairs really lie: nowhere, "
        "below scale 1 alone, above it alone, on both sides; and in how many pairs a side has several."
    )
    return Table("regimes_cases", data.cases, shown, caption)


def _reach(data: Regimes) -> Table:
    shown = [
        {"what": row["measure"], "count": str(row["count"]), "of": str(row["of"]), "share, %": _share(row)}
        for row in data.reach
    ]
    caption = (
        "Real pairs: how many of their crossings lie within the factors that decoding can use or did use, and how many "
        "pairs have another order at the factor that RWS used at their step than at scale 1. 95 % intervals, prompts "
        "resampled."
    )
    return Table("regimes_reach", data.reach, shown, caption)


def _share(row: Row) -> str | None:
    if row["share"] is None:
        return None
    share, low, high = (100 * row[name] for name in ("share", "low", "high"))
    return f"{share:.1f} [{low:.1f}, {high:.1f}]"


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def conclusions(data: Regimes) -> tuple[str, ...]:
    """Return how often each form of the theorem is false, how many crossings there are, and what decoding reaches."""
    lines = []
    for group, words in (("real", "real pairs"), ("random", "random pairs")):
        rows = [row for row in data.summary if (row["source"] == "real") == (group == "real")]
        if rows and any(row["pairs"] for row in rows):
            headline = [_headline(rows, words)] if not lines else []
            lines += [*headline, _false_line(rows, words), _count_line(rows, words)]
    lines += [_dimension_line(data), _quadrant_line(data), _reach_line(data)]
    return tuple(line for line in lines if line)


def _sum(rows: Sequence[Row], measure: str) -> tuple[int, int]:
    kept = [row for row in rows if row["measure"] == measure]
    return sum(row["count"] for row in kept), sum(row["pairs"] for row in kept)


def _headline(rows: Sequence[Row], words: str) -> str:
    """Return in words for how many pairs the theorem is false: with (b) mended first, since the sign is a slip."""
    counts = {form: _sum(rows, f"{form} false")[0] or "none" for form in FORMS}
    pairs = _sum(rows, "printed false")[1]
    where = " of positions at steps of real decodes" if words == "real pairs" else " of random logit vectors"
    return (
        f"Of {pairs} pairs{where} Theorem 1, with the sign of its case (b) mended as its own proof has it, is false "
        f"for {counts['mended']}, and as corrected here for {counts['corrected']}. With the sign as printed, a slip, "
        f"it is false for {counts['printed']}."
    )


def _false_line(rows: Sequence[Row], words: str) -> str:
    said = []
    for form in ("mended", "corrected", "printed", "items"):
        label = FORMS[form]
        count, pairs = _sum(rows, f"{form} false")
        interval = [row for row in rows if row["measure"] == f"{form} false"]
        # One source has an interval; several have one each, in the table.
        text = f" ({_share(interval[0])} %)" if len(interval) == 1 and interval[0]["share"] is not None else ""
        said.append(f"{label} for {count or 'none'}{text}")
    undecided, pairs = _sum(rows, "undecided")
    rest = f"; {undecided} have a number of crossings that is not proved" if undecided else ""
    return f"Of {pairs} {words} Theorem 1 is false {', '.join(said)}{rest}."


def _count_line(rows: Sequence[Row], words: str) -> str:
    counts = {name: _sum(rows, f"crossings {name}")[0] for name in ("0", "1", "2+")}
    (below, pairs), (above, _) = _sum(rows, "crossing below 1"), _sum(rows, "crossing above 1")
    return (
        f"Crossings, {words}: none in {counts['0']} of {pairs}, one in {counts['1']}, two or more in {counts['2+']}, "
        f"where the theorem allows one; below scale 1 in {below}, above it in {above}."
    )


def _dimension_line(data: Regimes) -> str | None:
    rows = [row for row in data.summary if row["measure"] == "mended false" and row["dimension"] is not None]
    if not rows:
        return None
    small, large = ([row for row in rows if (row["dimension"] <= 3) == few] for few in (True, False))
    parts = [
        f"{sum(row['count'] for row in part)} of {sum(row['pairs'] for row in part)} random pairs with {words}"
        for part, words in ((small, "at most 3 tokens"), (large, "4 or more"))
        if part
    ]
    return f"With (b) mended it is false for {' and for '.join(parts)}; rws_theory.theorem1 has the proof for 3 tokens."


def _quadrant_line(data: Regimes) -> str | None:
    rows = {row["case"]: row for row in data.cases if row["source"] == "real"}
    if not rows:
        return None
    b, neither = rows["b"], rows["neither"]
    crossed = sum(neither[name] for name in ("below 1", "above 1", "both sides"))
    return (
        f"Real pairs of printed case (b), which is to have a crossing above 1: {b['above 1'] + b['both sides']} of "
        f"{b['pairs']} have one; of case (c), which is to have none: {crossed} of {neither['pairs']} have one or more."
    )


def _reach_line(data: Regimes) -> str | None:
    if not data.reach or data.reach[0]["share"] is None:
        return None
    return (
        "Real pairs: "
        + "; ".join(
            f"{row['count']} of {row['of']} {row['measure']} ({_share(row)} %)"
            for row in data.reach
            if row["share"] is not None
        )
        + "."
    )
