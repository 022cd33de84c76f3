"""Numbers with their intervals, against another number: a line for each series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rws_decode.common.palette import LOOKS
from rws_decode.view.plots.sheet import Panels, drawn, finished, panels_of
from rws_decode.view.sentences import number
from rws_theory.checks import finite

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@drawn
def intervals(
    series: Mapping[str, Mapping[float, Sequence[float]]],
    across: str,
    height: str,
    *,
    logarithmic: bool = False,
    level: float = 0.95,
    axes: Panels = None,
) -> Figure:
    """Draw numbers with their intervals against another number, a line for each series.

    series : name -> number -> (value, lower end, upper end), such as a mean and its bootstrap interval. across, height
    : the labels of the two axes, with units. logarithmic : the axis across. level : of the intervals, for the caption.
    ValueError for no numbers, for an interval without its value, for numbers across a logarithmic axis that are not
    positive, and for a level that is not between 0 and 1.

    >>> from rws_decode import plots
    >>> figure = plots.intervals({"exact": {1: (2.0, 1.5, 2.5), 2: (2.2, 1.9, 2.6)}}, "scale", "GOD [tokens]")
    >>> plots.caption(figure)
    'Bars are 95 % intervals.'
    """
    if not series or not all(series.values()):
        raise ValueError("series holds nothing: a name with numbers and their intervals is needed")
    for name, values in series.items():
        for at, (value, low, high) in values.items():
            if not low <= value <= high:
                raise ValueError(f"series holds {name!r} at {at}: {value:g} is not in [{low:g}, {high:g}]")
    finite("level", level, above=0, below=1, example="level=0.95")
    numbers = sorted({at for values in series.values() for at in values})
    if logarithmic and not numbers[0] > 0:
        raise ValueError(f"series holds the number {numbers[0]}: a logarithmic axis has numbers above 0")
    figure, (panel,) = panels_of(axes, 1, 1, (8.0, 4.0))
    for place, (name, values) in enumerate(series.items()):
        look = LOOKS[place % len(LOOKS)]
        value, low, high = np.array([values[at] for at in sorted(values)], dtype=float).T
        style = {"color": look.color, "linestyle": look.dash, "marker": look.marker, "markersize": 5, "capsize": 3}
        panel.errorbar(sorted(values), value, [value - low, high - value], label=name, **style)
    if logarithmic:
        panel.set_xscale("log")
    panel.set_xticks(numbers, [number(at) for at in numbers])
    panel.set_xticks([], minor=True)
    panel.set_xlabel(across)
    panel.set_ylabel(height)
    if axes is None and len(series) > 1:
        panel.legend(loc="best")
    return finished(figure, axes, f"Bars are {number(100 * level)} % intervals.")
