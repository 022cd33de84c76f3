"""Draw values by name as dots, side by side for several methods, with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from paper_figures.exhibits.style import PRINTED, Line

# A value, and the ends of its interval, None if it has none.
Mark = tuple[float, float | None, float | None]


@dataclass(frozen=True)
class Dots:
    """One series: its look, what the legend calls it, and name -> (value, low, high); hollow: printed, not measured."""

    look: Line
    label: str
    marks: Mapping[str, Mark]
    hollow: bool = False


def marks_of(rows: Mapping[str, Mapping[str, Any]], value: str = "mean") -> dict[str, Mark]:
    """Return name -> the mark of its row; a row without a value has none."""
    return {name: (row[value], row["low"], row["high"]) for name, row in rows.items() if row[value] is not None}


def draw_dots(axes: Axes, names: Sequence[str], series: Sequence[Dots], labelled: bool = True) -> None:
    """Draw one band per name, from the top, and in it the series from top to bottom; labelled: write the names beside.

    A printed number has a hollow marker and no interval, a measured one a filled marker and its interval.
    """
    for row, name in enumerate(names):
        present = [dots for dots in series if name in dots.marks]
        for index, dots in enumerate(present):
            value, low, high = dots.marks[name]
            spread = None if low is None or high is None else [[max(value - low, 0.0)], [max(high - value, 0.0)]]
            axes.errorbar(
                value,
                row + 0.7 * ((index + 0.5) / len(present) - 0.5),
                xerr=spread,
                color=PRINTED if dots.hollow else dots.look.color,
                marker=dots.look.marker,
                markerfacecolor="white" if dots.hollow else dots.look.color,
                linestyle="none",
                elinewidth=1.1,
                capsize=2.5,
                label=dots.label,
            )
        if row % 2:
            axes.axhspan(row - 0.5, row + 0.5, color="#f2f2f2", zorder=0, linewidth=0)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks(range(len(names)), names if labelled else [""] * len(names))
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.grid(axis="y", visible=False)


def height_of(names: Sequence[str], series: int) -> float:
    """Return the inches that a panel of so many names and series side by side needs."""
    return 0.55 + len(names) * max(0.26, 0.13 * series + 0.1)
