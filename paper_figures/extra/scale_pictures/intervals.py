"""Numbers with their intervals: against another number, and the shares of reversed pairs with their limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rws_decode.common.palette import BLACK, LOOKS, Look
from rws_decode.view.plots.sheet import Panels, drawn, finished, legend, panels_of
from rws_decode.view.sentences import number
from rws_theory import ReversalLimit, ReversalShare
from rws_theory.checks import finite

_APART = 1.03  # of one series from the next, across: intervals at one number are then all seen


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
        for x, (value, low, high) in values.items():
            if not low <= value <= high:
                raise ValueError(f"series holds {name!r} at {x}: {value:g} is not in [{low:g}, {high:g}]")
    finite("level", level, above=0, below=1, example="level=0.95")
    numbers = sorted({x for values in series.values() for x in values})
    if logarithmic and not numbers[0] > 0:
        raise ValueError(f"series holds the number {numbers[0]}: a logarithmic axis has numbers above 0")
    figure, (panel,) = panels_of(axes, 1, 1, (8.0, 4.0))
    for place, (name, values) in enumerate(series.items()):
        look = LOOKS[place % len(LOOKS)]
        _line(panel, name, values, look, linestyle=look.dash, capsize=3)
    _label(panel, numbers, across, height, logarithmic)
    if axes is None and len(series) > 1:
        panel.legend(loc="best")
    return finished(figure, axes, f"Bars are {number(100 * level)} % intervals.")


@drawn
def reversal_shares(
    shares: Mapping[str, Mapping[float, ReversalShare]],
    limits: Mapping[str, ReversalLimit] | None = None,
    across: str = "tokens of each position",
    border: float | None = None,
    *,
    axes: Panels = None,
) -> Figure:
    """Draw the share of reversed pairs against a number, such as the tokens of a position, with 95 % intervals.

    A series for each name. Lines across are the limits for many tokens, in the look of their series. Series stand
    slightly apart, so that their intervals are seen.

    shares : name -> number -> what `rws_theory.end_reversals` or `scale_reversals` counted. limits : of some of the
    names, by `rws_theory.reversal_limit`. across : the label of the numbers, which are positive. border : a number at
    which a vertical line is shown, such as 1 where the numbers are scales over the freezing scale. ValueError for no
    shares, for limits of other names, and for numbers that are not positive.

    >>> import numpy as np
    >>> from rws_decode import plots
    >>> from rws_theory import end_reversals, reversal_limit
    >>> rng = np.random.default_rng(0)
    >>> shares = {d: end_reversals(*rng.standard_exponential((2, 500, d))) for d in (16, 64)}
    >>> figure = plots.reversal_shares({"exponential": shares}, {"exponential": reversal_limit("gumbel")})
    >>> plots.caption(figure)
    'Bars are 95 % intervals. Dashed lines are limits for many tokens: 25 % (exponential).'
    """
    limits = dict(limits or {})
    if not shares or not all(shares.values()):
        raise ValueError("shares holds nothing: a name with numbers and their shares is needed")
    if strange := [name for name in limits if name not in shares]:
        raise ValueError(f"limits holds {strange[0]!r}: one of {', '.join(shares)} is needed")
    numbers = sorted({count for series in shares.values() for count in series})
    if not numbers[0] > 0:
        raise ValueError(f"shares holds the number {numbers[0]}: {across} are drawn on a logarithmic axis, above 0")
    figure, (panel,) = panels_of(axes, 1, 1, (8.0, 4.4))
    for place, (name, series) in enumerate(shares.items()):
        look, apart = LOOKS[place % len(LOOKS)], _APART ** (place - (len(shares) - 1) / 2)
        _line(panel, name, {x * apart: (y.share, *y.interval()) for x, y in series.items()}, look, linewidth=1.2)
        if (limit := limits.get(name)) is not None:
            middle = (limit.lower + limit.upper) / 2
            panel.axhline(middle, color=look.color, linestyle=(0, (6, 4)), linewidth=0.9, zorder=1)
    if border is not None:
        panel.axvline(border, color=BLACK, linewidth=0.8)
    _label(panel, numbers, across, "share of reversed pairs", True)
    panel.set_ylim(0, None)
    legend(figure, panel, axes, "right upper")
    named = [f"{number(50 * (limit.lower + limit.upper), 3)} % ({name})" for name, limit in limits.items()]
    lines = f"Dashed lines are limits for many tokens: {', '.join(named)}." if named else ""
    return finished(figure, axes, "Bars are 95 % intervals.", lines)


def _line(panel: Axes, name: str, values: Mapping[float, Sequence[float]], look: Look, **style: Any) -> None:
    value, low, high = np.array([values[x] for x in sorted(values)], dtype=float).T
    style |= {"color": look.color, "marker": look.marker, "markersize": 5}
    panel.errorbar(sorted(values), value, [value - low, high - value], label=name, **style)


def _label(panel: Axes, numbers: Sequence[float], across: str, height: str, logarithmic: bool) -> None:
    if logarithmic:
        panel.set_xscale("log")
    panel.set_xticks(numbers, [number(x) for x in numbers])
    panel.set_xticks([], minor=True)
    panel.set_xlabel(across)
    panel.set_ylabel(height)
