"""Tables of a study by guide: what each guide is called, RWS minus each other method, and that in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from paper_figures.exhibits.contrasts import difference_text, excludes_zero, finding
from paper_figures.exhibits.methods import in_words
from paper_figures.exhibits.paper_beside_ours import named

__all__ = ["guide_line", "minus_text", "rws_minus", "with_names"]

Row = Mapping[str, Any]


def with_names(rows: Iterable[Row], order: Sequence[str]) -> list[dict[str, Any]]:
    """Return rows of a table with what each one's guide is called as `name`, the guides in `order`, their mean last.

    One of the paper's reward models has the paper's name; a guide at several reward scales has its scale behind it.

    >>> rows = [{"guide": guide, "reward_scale": scale} for guide, scale in [("all", 8.0), ("grm", 8.0), ("grm", 2.0)]]
    >>> [row["name"] for row in with_names(rows, ["grm"])]
    ['GRM, s_R = 2', 'GRM, s_R = 8', 'mean of all guides']
    """
    rows = [dict(row) for row in rows]
    scales: dict[str, set[float | None]] = {}
    for row in rows:
        scales.setdefault(row["guide"], set()).add(row["reward_scale"])
    for row in rows:
        row["name"] = "mean of all guides" if row["guide"] == "all" else named(row["guide"])
        if len(scales[row["guide"]]) > 1:
            row["name"] += f", s_R = {row['reward_scale']:g}"
    order_of = {guide: position for position, guide in enumerate(order)}
    return sorted(rows, key=lambda row: (order_of.get(row["guide"], len(order_of)), row["reward_scale"] or 0.0))


def rws_minus(rows: Iterable[Row], control: str, measure: str) -> list[dict[str, Any]]:
    """Return RWS minus a control by guide, from rows of `means.summarise` whose differences are to RWS.

    >>> row = {"method": "default", "measure": "god", "difference": 0.2, "difference_low": 0.1, "difference_high": 0.4}
    >>> [(one["low"], one["high"]) for one in rws_minus([row], "default", "god")]
    [(-0.4, -0.1)]
    """
    differences = []
    for row in rows:
        if (row["method"], row["measure"]) == (control, measure) and row["difference"] is not None:
            ends = {"difference": -row["difference"], "low": -row["difference_high"], "high": -row["difference_low"]}
            differences.append({**row} | {name: value + 0.0 for name, value in ends.items()})  # no minus zero
    return differences


def guide_line(rows: Sequence[Row], control: str, what: str) -> str | None:
    """Return in words how RWS differs from a control with each guide; None without rows.

    rows: name, difference (RWS minus control), low, high, p_holm, one per guide.
    """
    if not rows:
        return None
    summary = finding(rows, lambda row: row["name"], "reward models", "with ")
    return f"RWS minus {in_words(control)}, {what}: {summary}"


def minus_text(row: Row | None) -> str | None:
    """Return a difference with interval and corrected p for a table, * where the interval excludes zero.

    >>> minus_text({"difference": 0.5, "low": 0.25, "high": 0.75, "p_holm": 0.04})
    '+0.5 [+0.25, +0.75] p 0.04 *'
    """
    if row is None:
        return None
    p_text = "" if row["p_holm"] is None else f" p {row['p_holm']:.2g}"
    return f"{difference_text(row)}{p_text}" + (" *" if excludes_zero(row) else "")
