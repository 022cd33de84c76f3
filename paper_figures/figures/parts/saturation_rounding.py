"""GOD by scale and ranking from the precision experiment, and what rounding adds to it, in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paper_figures.exhibits.differences import ALPHA, clear, excludes_zero
from paper_figures.exhibits.style import Line
from rws_decode.common.palette import BLUE, VERMILION
from rws_theory import footrule_mean
from rws_theory.printed import printed_in

Row = Mapping[str, Any]

STRATEGIES = {"temperature": "Temperature", "rws": "RWS", "constant": "Constant of equal mean"}
RANKINGS = {
    "exact": Line("#000000", "D", (0, (1, 1)), "exact (log-odds, float64)"),
    "float32": Line(BLUE, "o", "solid", "softmax in float32"),
    "bfloat16": Line(VERMILION, "s", (0, (5, 1.5)), "softmax in bfloat16"),
}


@dataclass(frozen=True)
class Rounding:
    """The experiment's outcome: `rows`, one per strategy, scale and ranking; its settings and files."""

    rows: Sequence[Row]
    settings: Row
    inputs: tuple[str, ...]

    @property
    def strategies(self) -> list[str]:
        """Return the strategies that are drawn, of those that were run."""
        present = {row["strategy"] for row in self.rows}
        return [name for name in STRATEGIES if name in present]

    @property
    def scales(self) -> list[float]:
        """Return all scales, rising."""
        return sorted({row["scale"] for row in self.rows})

    @property
    def prompts(self) -> int:
        """Return the number of prompts behind every row."""
        return max(row["n"] for row in self.rows)

    @property
    def random(self) -> float | None:
        """Return the mean GOD in steps of a random order within blocks; None if steps commit unequal numbers."""
        length, steps, block = (self.settings[name] for name in ("length", "steps", "block"))
        if length % steps or block % (length // steps):
            return None
        return footrule_mean(length, block, per_step=length // steps, reading="steps")

    def of(self, strategy: str, ranking: str) -> list[Row]:
        """Return the rows of one curve by rising scale."""
        rows = [row for row in self.rows if (row["strategy"], row["ranking"]) == (strategy, ranking)]
        return sorted(rows, key=lambda row: row["scale"])

    def due(self, row: Row) -> dict[str, Any]:
        """Return what rounding adds to a row's mean GOD in steps, with interval and p, and as share of the exact GOD.

        Keys: difference, low, high, p_holm; share, share_low, share_high, the same over the exact ranking's mean, NaN
        where that is 0.
        """
        exact = next(other for other in self.of(row["strategy"], "exact") if other["scale"] == row["scale"])[
            "god_steps"
        ]
        due = {"difference": row["god_steps_due"], "low": row["god_steps_due_low"], "high": row["god_steps_due_high"]}
        names = {"share": "difference", "share_low": "low", "share_high": "high"}
        shares = {name: due[of] / exact if exact else float("nan") for name, of in names.items()}
        return due | {"p_holm": row["god_steps_due_p_holm"]} | shares


def conclusions(data: Rounding) -> tuple[str, ...]:
    """Return in words what rounding does, by strategy and ranking, and how the printed GOD falls at its last scale."""
    lines = _headline(data) + [
        _line(data, name, ranking)
        for name in data.strategies
        for ranking in ("bfloat16", "float32")
        if data.of(name, ranking)
    ]
    least = 2.0 ** (1 - data.prompts) * len(data.scales)
    if least > ALPHA:
        lines.append(
            f"With {data.prompts} prompts no p of this test, corrected for {len(data.scales)} scales, can be below "
            f"{min(least, 1.0):.2g}. Only the intervals remain, and they are too narrow for so few prompts."
        )
    return tuple([*lines, *_fall(data)])


def _headline(data: Rounding) -> list[str]:
    """Return at how many scales rounding to bfloat16 changes the GOD of the first strategy, and by how much."""
    name = data.strategies[0] if data.strategies else ""
    rows = [(row, due) for row in data.of(name, "bfloat16") if not np.isnan((due := data.due(row))["share"])]
    if not rows:
        return []
    start = f"{STRATEGIES[name]}, ranked by {RANKINGS['bfloat16'].label}: "
    shown = [(row, due) for row, due in rows if clear(due)]
    if not shown:
        return [f"{start}an effect of rounding on GOD is shown at none of {len(rows)} scales."]
    row, due = max(shown, key=lambda pair: abs(pair[1]["difference"]))
    share, low, high = (100 * due[end] for end in ("share", "share_low", "share_high"))
    return [
        f"{start}an effect of rounding on GOD is shown at {len(shown)} of {len(rows)} scales; it is largest at "
        f"{row['scale']:g}, {share:+.0f} % [{low:+.0f}, {high:+.0f}] of the exact GOD, where "
        f"{100 * row['inexact']:.0f} % of the steps commit another set."
    ]


def _line(data: Rounding, name: str, ranking: str) -> str:
    rows = [(row, data.due(row)) for row in data.of(name, ranking)]
    outside = [(row, due) for row, due in rows if excludes_zero(due)]
    start = f"{STRATEGIES[name]}, ranked by {RANKINGS[ranking].label}: "
    if not outside:
        return f"{start}no 95 % interval of {len(rows)} scales excludes zero; no effect of rounding on GOD is shown."
    signs = {"raises" if due["low"] > 0 else "lowers" for _, due in outside}
    how = signs.pop() if len(signs) == 1 else "changes"
    at = ", ".join(f"{row['scale']:g}" for row, _ in outside)
    row, due = max(outside, key=lambda pair: abs(pair[1]["difference"]))
    kept = [f"{row['scale']:g}" for row, due in rows if due["p_holm"] is not None and due["p_holm"] <= ALPHA]
    share = "" if np.isnan(due["share"]) else f", {100 * due['share']:+.0f} % of the exact GOD"
    return (
        f"{start}rounding {how} GOD at {len(outside)} of {len(rows)} scales, by intervals that exclude zero ({at}), "
        f"most at {row['scale']:g}: {due['difference']:+.2f} [{due['low']:+.2f}, {due['high']:+.2f}] steps{share}. "
        f"There {100 * row['saturated']:.0f} % of the confidences are exactly 1 and {100 * row['inexact']:.0f} % of "
        f"the steps commit another set than the exact one. Corrected p is at most {ALPHA:g} "
        f"{'at ' + ', '.join(kept) if kept else 'nowhere'}."
    )


def _fall(data: Rounding) -> list[str]:
    """Return in words the fall of the printed GOD at its last scale, beside ours at the same two scales."""
    table = sorted(printed_in("table8_temperature")["rows"], key=lambda row: row["scale"])
    peak, last = max(table, key=lambda row: row["god"]), table[-1]
    fall = 100 * (last["god"] / peak["god"] - 1)
    line = (
        f"The paper's GOD of temperature is largest at scale {peak['scale']:g} ({peak['god']}) and {last['god']} at "
        f"{last['scale']:g} ({fall:+.0f} %)."
    )
    ends = {}
    for ranking in RANKINGS:
        at = {row["scale"]: row for row in data.of("temperature", ranking)}
        if {peak["scale"], last["scale"]} <= at.keys():
            ends[ranking] = (at[peak["scale"]], at[last["scale"]])
    if ends.keys() != RANKINGS.keys() or peak is last:
        return [line]
    ours = "; ".join(
        f"{RANKINGS[name].label} {first['god_steps']:.2f} to {second['god_steps']:.2f}"
        for name, (first, second) in ends.items()
    )
    lowered = [
        RANKINGS[name].label
        for name, (_, row) in ends.items()
        if name != "exact" and row["god_steps_due"] < 0 and excludes_zero(data.due(row))
    ]
    verdict = (
        f"At {last['scale']:g} rounding lowers GOD here ({', '.join(lowered)}; the interval excludes zero), with ties "
        "to the leftmost position: rounding can make such a fall. Whether it made the printed one is not known"
        if lowered
        else f"No lowering by rounding is shown here at {last['scale']:g}, so the printed fall is not explained"
    )
    return [f"{line} Here, between the same scales: {ours}. {verdict}."]
