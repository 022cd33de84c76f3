"""GOD by scale and ranking from the precision experiment, and what rounding adds to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paper_figures.exhibits.differences import clear
from paper_figures.exhibits.style import Line
from rws_decode.common.palette import BLUE, VERMILION
from rws_theory import footrule_mean

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
    """Return at how many scales rounding to bfloat16 changes the GOD of the first strategy, and by how much."""
    name = data.strategies[0] if data.strategies else ""
    rows = [(row, due) for row in data.of(name, "bfloat16") if not np.isnan((due := data.due(row))["share"])]
    if not rows:
        return ("The results have no exact GOD above 0, of which an effect could be a share.",)
    start = f"{STRATEGIES[name]}, ranked by {RANKINGS['bfloat16'].label}: "
    shown = [(row, due) for row, due in rows if clear(due)]
    if not shown:
        return (f"{start}an effect of rounding on GOD is shown at none of {len(rows)} scales.",)
    row, due = max(shown, key=lambda pair: abs(pair[1]["difference"]))
    share, low, high = (100 * due[end] for end in ("share", "share_low", "share_high"))
    return (
        f"{start}an effect of rounding on GOD is shown at {len(shown)} of {len(rows)} scales; it is largest at "
        f"{row['scale']:g}, {share:+.0f} % [{low:+.0f}, {high:+.0f}] of the exact GOD, where "
        f"{100 * row['inexact']:.0f} % of the steps commit another set.",
    )
