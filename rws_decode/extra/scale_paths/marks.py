"""Marks along the scale axis: names at the ends of curves, scales of which nothing is proved, and spans joined."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

VISIBLE = 1e-3  # a relative width of scales that can be seen
_LINE = 17  # points from one line of text to the next, in axes that captions will make lower


def names_at_ends(axes: Axes, curves: Mapping[str, NDArray[np.float64]], last: float) -> None:
    """Write the name of each curve beside its right end, at the scale `last`, where they do not overlap.

    A short line in the look of the curve leads from its end to its name. Names that are too many for the height of the
    axes are a legend instead; a curve without an end that is finite has no name. Call it when the axes are complete.
    """
    ends = {name: float(curve[-1]) for name, curve in curves.items() if np.isfinite(curve[-1])}
    axes.set_ylim(axes.get_ylim())
    places = [(axes.transScale + axes.transLimits).transform((last, end))[1] for end in ends.values()]
    tall = axes.get_window_extent().height / axes.figure.dpi * 72
    distance = _LINE / tall
    if distance * len(ends) > 1:
        axes.legend(loc="best")
        return
    lines = {line.get_label(): line for line in axes.lines}
    for name, place, room in zip(ends, places, spread(places, distance), strict=True):
        look = {"arrowstyle": "-", "shrinkA": 3, "shrinkB": 0, "linewidth": 0.7}
        look |= {"color": lines[name].get_color(), "linestyle": lines[name].get_linestyle()}
        placing: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "axes fraction", "va": "center"}
        axes.annotate(name, (1, place), (1.06, room), arrowprops=look, parse_math=False, **placing)


def spread(places: Sequence[float], distance: float) -> list[float]:
    """Return places from 0 to 1 moved as little as it takes, in their order, so that any two are so far apart.

    >>> [round(place, 2) for place in spread([0.5, 0.5, 0.9], 0.1)], spread([1.0, 0.99], 0.25)
    ([0.45, 0.55, 0.9], [1.0, 0.75])
    """
    order, below = np.argsort(places, kind="stable"), distance * np.arange(len(places))
    moved = isotonic_regression(np.asarray(places)[order] - below).x
    return (np.clip(moved, 0, 1 - below[-1]) + below)[np.argsort(order)].tolist()


def hatched_span(axes: Axes, low: float, high: float, **look: Any) -> None:
    """Mark scales of which nothing is proved."""
    axes.axvspan(low, high, **({"facecolor": "#dddddd", "hatch": "xx", "edgecolor": "white", "lw": 0} | look))


def stretches(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return rising spans with those joined of which one begins where the last ends."""
    together: list[tuple[float, float]] = []
    for low, high in spans:
        touches = bool(together) and together[-1][1] == low
        together.append((together.pop()[0] if touches else low, high))
    return together
