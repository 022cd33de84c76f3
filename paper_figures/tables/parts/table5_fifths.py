"""Tables of win rates by fifth of GOD: the printed one, every outcome, trends, and RWS minus controls at equal GOD."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paper_figures.exhibits.differences import Difference
from paper_figures.exhibits.names import method_name, methods_in
from paper_figures.exhibits.paper_beside_ours import beside, number_text
from paper_figures.exhibits.runs import Results, setting
from paper_figures.statistics.intervals import share_interval
from paper_figures.table import Table

Row = Mapping[str, Any]

NO_EFFECT = (
    "A trend over prompts does not show an effect of order, because prompts differ in more than GOD: an answer that "
    "RWS does not change is a draw, whatever its GOD."
)


@dataclass(frozen=True)
class Fifths:
    """The experiment's tables of fifths, trends and effects at equal GOD; guides: (guide, scale) -> name."""

    run: Results
    fifths: Sequence[Row]
    trends: Sequence[Row]
    equal: Sequence[Row]
    guides: Mapping[tuple[str, float | None], str]
    printed: Mapping[str, Any]

    @property
    def models(self) -> list[str]:
        """Return the paper's reward models, in the order of the printed columns."""
        return [name for name in self.printed["rows"][0] if name != "quintile"]

    def name(self, row: Row) -> str:
        """Return the name of the row's guide."""
        return self.guides[row["guide"], row["reward_scale"]]

    def of(self, name: str) -> list[Row]:
        """Return the fifths of one guide that hold prompts, from the lowest GOD."""
        rows = [row for row in self.fifths if self.name(row) == name and row["n"]]
        return sorted(rows, key=lambda row: row["fifth"])


def share(row: Row, outcome: str) -> tuple[float, float, float]:
    """Return a fifth's share of an outcome, "win" or "loss", in percent with Wilson's 95 % interval.

    >>> share({"n": 4, "win": 0.5, "loss": 0.25}, "loss")[0]
    25.0
    """
    mean, low, high = share_interval(round(row[outcome] * row["n"]), row["n"])
    return 100 * mean, 100 * low, 100 * high


def fifths_tables(data: Fifths) -> tuple[Table, ...]:
    """Return the printed table beside ours, every fifth, the trends, and RWS minus each control at equal GOD."""
    return (_printed(data), _fifths(data), _trends(data), _equal(data))


def _printed(data: Fifths) -> Table:
    labels = [row["quintile"] for row in data.printed["rows"]]
    printed = {row["quintile"]: {name: row[name] for name in data.models} for row in data.printed["rows"]}
    here: dict[str, dict[str, Any]] = {label: {} for label in labels}
    shown: dict[str, dict[str, str | None]] = {label: {} for label in labels}
    for name in data.guides.values():
        by_fifth = {row["fifth"]: row for row in data.of(name)}
        for number, label in enumerate(labels, 1):
            row = by_fifth.get(number)
            here[label][name] = None if row is None else 100 * row["win"]
            shown[label][name] = None if row is None else _percent(share(row, "win"))
    caption = (
        f"Left: {data.printed['where']}, {data.printed['task']}, without intervals. {setting(data.run)} The same here: "
        "percent of prompts that RWS wins in its guide's judgement, with Wilson's 95 % interval, by fifth of GOD in "
        f"tokens; equal GOD is in one fifth. {NO_EFFECT}"
    )
    return beside("table5_god_quintiles", "fifth of GOD", printed, here, caption, shown)


def _percent(share: tuple[float, float, float]) -> str:
    return "{:.0f} [{:.0f}, {:.0f}]".format(*share)


def _fifths(data: Fifths) -> Table:
    rows, shown = [], []
    for name in data.guides.values():
        for row in data.of(name):
            line = {"guide": name, "fifth": row["fifth"], "prompts": row["n"]}
            line |= {"lowest GOD, tokens": row["god_low"], "highest GOD, tokens": row["god_high"]}
            numbers = dict(line)
            text: dict[str, str | None] = {key: number_text(value) for key, value in line.items()}
            for column, outcome in (("RWS wins, %", "win"), ("draws, %", "draw"), ("default wins, %", "loss")):
                interval = share(row, outcome)
                numbers |= dict(zip((column, f"{column}, low", f"{column}, high"), interval, strict=True))
                text[column] = _percent(interval)
            rows.append(numbers)
            shown.append(text)
    caption = (
        "Every fifth in full. The printed table has wins alone; if draws get fewer, wins and losses can both rise. "
        "Wilson's 95 % intervals."
    )
    return Table("table5_outcomes", rows, shown, caption)


def _trends(data: Fifths) -> Table:
    shown: list[dict[str, str | None]] = []
    for row in data.trends:
        slope = None if row["slope"] is None else [100 * row[end] for end in ("slope", "slope_low", "slope_high")]
        shown.append(
            {
                "guide": data.name(row),
                "prompts": str(row["n"]),
                "tau of GOD and outcome": None if row["tau"] is None else f"{row['tau']:+.2f}",
                "p of tau": None if row["p_holm"] is None else f"{row['p_holm']:.2g}",
                "wins per fifth, points": None if slope is None else "{:+.1f} [{:+.1f}, {:+.1f}]".format(*slope),
                "rises in every fifth": "yes" if row["monotone"] else "no",
                "would by chance": f"{row['monotone_by_chance']:.2g}",
                "status": row["status"],
            }
        )
    caption = (
        "Trend over prompts: Kendall's tau-b of GOD and outcome (won, drawn, lost), its permutation p corrected over "
        "the guides by Holm's method; slope of the win share over the fifths with its 95 % interval; whether "
        "wins rise in every fifth, and how often they would if they lay on the prompts at random."
    )
    return Table("table5_trends", data.trends, shown, caption)


def _equal(data: Fifths) -> Table:
    outcomes = {"net": "net, points", "score": "guide's score, normalised"}
    order = methods_in(data.equal, "control")
    rows = sorted(data.equal, key=lambda row: (row["outcome"], order.index(row["control"])))
    shown: list[dict[str, str | None]] = []
    for row in rows:
        unit = 100 if row["outcome"] == "net" else 1
        alpha = at_equal_god(data, row)
        shown.append(
            {
                "outcome": outcomes.get(row["outcome"], row["outcome"]),
                "RWS minus": method_name(row["control"]),
                "guide": data.name(row),
                "prompts": str(row["n"]),
                "difference": _ends(row, "difference", unit),
                "of it GOD, tokens": _ends(row, "god_difference"),
                "at equal GOD": None if alpha is None else alpha.text() + (" *" if alpha.sign else ""),
                "per token of GOD": _ends(row, "beta", unit),
                "pairs of near GOD": str(row["near_n"]),
                "their difference": None if row["near"] is None else f"{round(unit * row['near'], 9) + 0.0:+.3g}",
                "status": row["status"],
            }
        )
    caption = (
        "Does order or reward bring the wins? RWS minus each control on the same prompts: the whole difference, the "
        "difference in GOD, and, by least squares on it, the difference at equal GOD and per token of GOD, with 95 % "
        "intervals. p is of the difference at equal GOD, corrected over the guides by Holm's method. *: the "
        "interval excludes zero and p is at most 0.05. Pairing removes what belongs to the prompt. GOD is itself an "
        "outcome of decoding, so no number here is an effect of order alone."
    )
    return Table("table5_equal_god", rows, shown, caption)


def _ends(row: Row, name: str, unit: float = 1.0) -> str | None:
    if row[name] is None:
        return None
    # What resampling leaves of zero is of the size of rounding.
    values = [round(unit * row[key], 9) + 0.0 for key in (name, f"{name}_low", f"{name}_high")]
    return "0" if not any(values) else "{:+.3g} [{:+.3g}, {:+.3g}]".format(*values)


def at_equal_god(data: Fifths, row: Row) -> Difference | None:
    """Return RWS minus the row's control at equal GOD, net in points; None if it could not be computed."""
    if row["alpha"] is None or row["status"] == "constant":
        return None
    unit = 100.0 if row["outcome"] == "net" else 1.0
    value, low, high = (round(unit * row[key], 9) + 0.0 for key in ("alpha", "alpha_low", "alpha_high"))
    return Difference(data.name(row), value, low, high, row["p_holm"])
