"""What Section 5.4 says of RWS against the default on keyword prompts, beside the same here: a table and sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paper_figures.exhibits.keyword_ranges import printed_range
from paper_figures.exhibits.names import method_name
from paper_figures.table import Table

Row = Mapping[str, Any]
# A claim of the text: the quantity here, the quantity as printed, the value at which there is no difference.
BELOW = ("perplexity per text, % below default", "perplexity of RWS below that of the default", 0.0)
OVER = ("GOD in steps over default's", "GOD of RWS over that of the default, at least", 1.0)


def claims_table(stem: str, claims: Sequence[Row], prompts: int, controls: Sequence[str]) -> Table:
    """Return a line per quantity for RWS, as printed and by guide here, and one for each of the controls.

    claims: the rows of the keyword experiment's `claims`, with their guides' names; prompts: behind each.
    """
    guides = list(dict.fromkeys(row["name"] for row in claims))
    shown = []
    for quantity in dict.fromkeys(row["quantity"] for row in claims):
        for method in ("rws", *controls):
            rows = {row["name"]: row for row in claims if (row["method"], row["quantity"]) == (method, quantity)}
            if rows:
                printed = next((row["printed"] for row in rows.values() if method == "rws"), None)
                line = {"quantity": quantity, "method": method_name(method), "paper: printed": printed}
                shown.append(line | {f"here: {guide}": _claimed(rows.get(guide)) for guide in guides})
    caption = (
        f"What Section 5.4 says of RWS against the default, the same here ({prompts} prompts), and the same of two "
        "controls. Ratios are of means over prompts. A number below 0 means above the default. Brackets: 95 % "
        "intervals over prompts; p of no difference from the default, corrected over the reward models by "
        "Holm's method. The CSV has every method."
    )
    return Table(stem, claims, shown, caption)


def _claimed(row: Mapping[str, Any] | None) -> str | None:
    if row is None or row["value"] is None:
        return None
    p_text = "" if row["p_holm"] is None else f" p {row['p_holm']:.2g}"
    return f"{row['value']:.3g} [{row['low']:.3g}, {row['high']:.3g}]{p_text}"


def claim_line(claims: Sequence[Row], what: str, quantity: str, printed: str, nothing: float) -> str | None:
    """Return in words a claim's printed range, our mean over guides, and which guides' intervals exclude it.

    None without values. quantity, printed, nothing: as in BELOW and OVER; what: the quantity in words.
    """
    kept = [row for row in claims if (row["method"], row["quantity"]) == ("rws", quantity)]
    rows = [row for row in kept if row["value"] is not None]
    if not rows:
        return None
    low, high = printed_range(printed)
    said, top = (f"{low:g} to {high:g}", high) if low != high else (f"more than {low:g}", float("inf"))
    shown = [row for row in rows if row["guide"] == "all"] or rows
    ours = "; ".join(f"{row['name']} {row['value']:.3g} [{row['low']:.3g}, {row['high']:.3g}]" for row in shown)
    wide = [row for row in rows if row["guide"] != "all" and row["low"] < row["high"]]
    apart = [row["name"] for row in wide if not row["low"] <= nothing <= row["high"]]
    outside = [row["name"] for row in wide if row["high"] < low or row["low"] > top]
    return (
        f"{what}: the paper says {said}; here {ours}. The intervals exclude {nothing:g} for "
        f"{', '.join(apart) or 'no guide'}, the printed {'range' if low != high else 'bound'} for "
        f"{', '.join(outside) or 'no guide'}."
    )
