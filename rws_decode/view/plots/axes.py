"""Axes that several pictures share: scales, positions of an answer, steps."""

from __future__ import annotations

from math import ceil, floor, log10
from typing import TYPE_CHECKING, Any

from rws_decode.view.sentences import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MOST_TICKS", "hatched_span", "scale_axis", "scale_ticks", "values_label", "whole_ticks"]

MOST_TICKS = 9


def scale_ticks(low: float, high: float) -> list[float]:
    """Return round scales in [low, high] for ticks: 1, 2 and 5 of each decade, or 1 alone where these are many.

    >>> scale_ticks(0.1, 10.0), scale_ticks(0.01, 40.0), scale_ticks(1.3, 1.4)
    ([0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0], [0.01, 0.1, 1.0, 10.0], [1.3, 1.4])
    """
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    for digits in ((1, 2, 5), (1,)):
        ticks = [float(f"{digit}e{power}") for power in powers for digit in digits]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) <= MOST_TICKS:
            break
    step = ceil(len(ticks) / MOST_TICKS)
    return ticks[::step] if len(ticks) > 1 else [low, high]


def scale_axis(axes: Axes, low: float, high: float, label: str) -> None:
    """Make x the axis of scales from low to high, logarithmic, with plain numbers."""
    axes.set_xscale("log")
    axes.set_xlim(low, high if high > low else low * 1.01)
    ticks = scale_ticks(low, high)
    axes.set_xticks(ticks, [number(tick) for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlabel(label)


def whole_ticks(axes: Axes, which: str = "x") -> None:
    """Let the ticks of an axis of positions, steps or counts be whole numbers."""
    from matplotlib.ticker import MaxNLocator

    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def values_label(ranking: str) -> str:
    """Return the label of what a trace's positions are ranked by, with its unit.

    >>> values_label("log-odds"), values_label("order")
    ('log-odds [nats]', "order [the strategy's number]")
    """
    unit = {"log-odds": "nats", "order": "the strategy's number"}.get(ranking, "probability")
    return f"{'confidence' if unit == 'probability' else ranking} [{unit}]"


def hatched_span(axes: Axes, low: float, high: float, **look: Any) -> None:
    """Mark scales of which nothing is proved."""
    axes.axvspan(low, high, **({"facecolor": "#dddddd", "hatch": "xx", "edgecolor": "white", "lw": 0} | look))
