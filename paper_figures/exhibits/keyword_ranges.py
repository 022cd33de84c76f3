"""The numbers of the paper's text on the keyword task, beside the ranges of the same quantities here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paper_figures.table import Table
from rws_theory.printed import printed_in


def printed_range(quantity: str) -> tuple[float, float]:
    """Return the ends of the range that the paper prints for a quantity; both are the same for a single number.

    >>> printed_range("perplexity of RWS below that of the default"), printed_range("GOD of the default")
    ((12, 16), (0.95, 0.95))
    """
    entry = _printed()[quantity]
    low, high = ("value", "value") if "value" in entry else ("low", "high")
    return entry[low], entry[high]


def ranges_table(stem: str, ours: Mapping[str, Sequence[float]], over: str) -> Table:
    """Return each printed range or number with the range of ours; quantities without a number are left out.

    ours: quantity, as `printed_in("keyword_task")` names it, -> our values; over: what these are of, in words.
    """
    rows, shown = [], []
    for quantity, values in ours.items():
        if not values:
            continue
        ends = (*printed_range(quantity), min(values), max(values))
        where = {"where in the paper": _printed()[quantity]["where"]}
        columns = ("paper: low", "paper: high", "here: low", "here: high")
        rows.append({"quantity": quantity, **dict(zip(columns, ends, strict=True)), **where})
        printed, here = _text(*ends[:2], "{:g}"), _text(*ends[2:], "{:.2f}")
        shown.append({"quantity": quantity, "paper: printed": printed, "here: range": here, **where})
    caption = (
        f"{printed_in('keyword_task')['where']}: numbers in the text, as printed (Figure 6 itself prints none), and "
        f"the same quantities here, over {over}. GOD here is in steps. Another model, language and length: percentages "
        "and ratios can be compared, levels cannot."
    )
    return Table(stem, rows, shown, caption)


def _printed() -> dict[str, dict[str, Any]]:
    task = printed_in("keyword_task")
    return {entry["quantity"]: entry for entry in (*task["ranges"], *task["values"])}


def _text(low: float, high: float, form: str) -> str:
    ends = [form.format(end) for end in (low, high)]
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)
