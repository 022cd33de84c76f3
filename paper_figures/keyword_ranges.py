"""What the paper's text and Figure 6 say of the keyword task, beside the same quantities here."""

from __future__ import annotations

import pandas

from paper_figures.exhibits import Sheet
from paper_figures.published import published

__all__ = ["ranges_sheet"]


def ranges_sheet(summary: pandas.DataFrame) -> Sheet:
    """Return each printed range or value with our own range over the scales; summary: one row per method and scale."""
    printed = published("keyword_task")
    text = {entry["quantity"]: entry for entry in (*printed["ranges"], *printed["values"])}
    rows = []
    for quantity, values in _ours(summary).items():
        entry = text[quantity]
        low, high = (entry["value"],) * 2 if "value" in entry else (entry["low"], entry["high"])
        rows.append((quantity, low, high, float(values.min()), float(values.max()), entry["where"]))
    ends = ["paper: low", "paper: high", "here: low", "here: high"]
    frame = pandas.DataFrame(rows, columns=["quantity", *ends, "where in the paper"])
    shown = pandas.DataFrame(
        {
            "quantity": frame["quantity"],
            "paper: printed": [_range(low, high, "g") for low, high in frame[ends[:2]].itertuples(index=False)],
            "here: over all scales": [_range(low, high, ".2f") for low, high in frame[ends[2:]].itertuples(index=False)],
            "where in the paper": frame["where in the paper"],
        }
    )
    caption = (
        f"{printed['where']}: numbers in the text, as printed (Figure 6 itself prints none). GOD here is in steps. The paper "
        "has one tuned scale per reward model; ours are the ranges over every scale of the grid."
    )
    return Sheet("fig6_keyword_task", frame, shown, caption)


def _ours(summary: pandas.DataFrame) -> dict[str, pandas.Series]:
    rows = {method: found for method, found in summary.groupby("method")}
    found = {"keywords included, all methods": summary["keywords_included"]}
    if "temperature" in rows:
        found["perplexity of temperature scaling"] = rows["temperature"]["perplexity"]
        found["GOD of temperature scaling"] = rows["temperature"]["god_steps"]
    if "rws" in rows:
        found["worst perplexity of RWS"] = rows["rws"]["perplexity"].nlargest(1)
        found["GOD of RWS at every step"] = rows["rws"]["god_steps"]
    if "default" in rows:
        found["GOD of the default"] = rows["default"]["god_steps"]
    if {"rws", "default"} <= set(rows):
        default = rows["default"].iloc[0]
        better = 100 * (1 - rows["rws"]["perplexity"] / default["perplexity"])
        found["perplexity of RWS below that of the default"] = better
        found["GOD of RWS over that of the default, at least"] = rows["rws"]["god_steps"] / default["god_steps"]
    return found


def _range(low: float, high: float, form: str) -> str:
    return f"{low:{form}}" if low == high else f"{low:{form}} to {high:{form}}"
