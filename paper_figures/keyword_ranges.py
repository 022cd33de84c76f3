"""What the paper's text and Figure 6 say of the keyword task, beside the same quantities here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paper_figures.exhibits import Sheet
from paper_figures.published import published

__all__ = ["ranges_sheet"]


def ranges_sheet(summary: Sequence[Mapping[str, Any]]) -> Sheet:
    """Return each printed range or value with our own range over the scales; summary: one row per method and scale."""
    printed = published("keyword_task")
    text = {entry["quantity"]: entry for entry in (*printed["ranges"], *printed["values"])}
    rows, shown = [], []
    for quantity, values in _ours(summary).items():
        entry = text[quantity]
        ends = {
            "paper: low": entry.get("value", entry.get("low")),
            "paper: high": entry.get("value", entry.get("high")),
            "here: low": min(values),
            "here: high": max(values),
        }
        rows.append({"quantity": quantity, **ends, "where in the paper": entry["where"]})
        paper_low, paper_high, low, high = ends.values()
        shown.append(
            {
                "quantity": quantity,
                "paper: printed": f"{paper_low:g}" if paper_low == paper_high else f"{paper_low:g} to {paper_high:g}",
                "here: over all scales": f"{low:.2f}" if low == high else f"{low:.2f} to {high:.2f}",
                "where in the paper": entry["where"],
            }
        )
    caption = (
        f"{printed['where']}: numbers in the text, as printed (Figure 6 itself prints none). GOD here is in steps. The "
        "paper has one tuned scale per reward model; ours are the ranges over every scale of the grid."
    )
    return Sheet("fig6_keyword_task", rows, shown, caption)


def _ours(summary: Sequence[Mapping[str, Any]]) -> dict[str, list[float]]:
    def of(method: str | None, field: str) -> list[float]:
        return [row[field] for row in summary if method in (None, row["method"]) and row[field] is not None]

    found = {
        "keywords included, all methods": of(None, "keywords_included"),
        "perplexity of temperature scaling": of("temperature", "perplexity"),
        "GOD of temperature scaling": of("temperature", "god_steps"),
        "worst perplexity of RWS": sorted(of("rws", "perplexity"))[-1:],
        "GOD of RWS at every step": of("rws", "god_steps"),
        "GOD of the default": of("default", "god_steps"),
    }
    for perplexity, god in zip(of("default", "perplexity"), of("default", "god_steps"), strict=False):
        better = [100 * (1 - value / perplexity) for value in of("rws", "perplexity")]
        found["perplexity of RWS below that of the default"] = better
        if god > 0:
            found["GOD of RWS over that of the default, at least"] = [value / god for value in of("rws", "god_steps")]
    return {quantity: values for quantity, values in found.items() if values}
