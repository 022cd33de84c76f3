"""Pairs of bars: what a method wins from the default, above what the default wins from it; printed pairs are hollow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from paper_figures.exhibits.style import LINES, PRINTED

__all__ = ["draw_pair", "pair_handles"]

_CONTROL = "#56B4E9"
_LOOKS: dict[str, dict[str, Any]] = {
    "printed: RWS wins": {"facecolor": "none", "edgecolor": PRINTED, "hatch": "///"},
    "printed: default wins": {"facecolor": "none", "edgecolor": PRINTED, "hatch": "..."},
    "here: RWS wins": {"facecolor": LINES["rws"].color, "edgecolor": LINES["rws"].color},
    "here: its control wins": {"facecolor": _CONTROL, "edgecolor": _CONTROL},
    "here: default wins": {"facecolor": "#d9d9d9", "edgecolor": PRINTED, "hatch": "xx"},
}


def draw_pair(
    axes: Axes, position: int, won: Mapping[str, Any], lost: Mapping[str, Any], side: str, method: str
) -> None:
    """Draw the two bars at one place of the upright axis, each with its number behind it.

    won, lost: mean in percent, and low and high where there is an interval; side: "printed" or "here"; method: "RWS" or
    "its control".
    """
    for at, row, winner in ((position - 0.2, won, method), (position + 0.2, lost, "default")):
        value, high = row["mean"], row.get("high", row["mean"])
        axes.barh(at, value, height=0.36, linewidth=0.8, **_LOOKS[f"{side}: {winner} wins"])
        if "low" in row:
            ends = [[abs(value - row["low"])], [abs(high - value)]]
            axes.errorbar(value, at, xerr=ends, color="black", elinewidth=1.1, capsize=2)
        axes.annotate(
            f"{value:.3g}" if side == "printed" else f"{value:.0f}",
            (high, at),
            (3, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )


def pair_handles() -> tuple[list[Patch], list[str]]:
    """Return what a legend of all bars takes: handles and labels."""
    return [Patch(**look) for look in _LOOKS.values()], list(_LOOKS)
