"""How far the scale may move at each step before other positions are chosen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rws_decode.common.palette import BLACK, BLUE, GREY, PALE
from rws_decode.view.plots.axes import scale_ticks, whole_ticks
from rws_decode.view.plots.sheet import Panels, drawn, finished, legend, panels_of
from rws_decode.view.sentences import number
from rws_theory import StabilityRadius

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["stability"]

_WIDEST = 1e3  # scales beyond it, or below its inverse, are drawn at the edge
_NARROWEST = 2.0
_ARROW = 12  # points of the marks of ends that lie beyond the edge


@drawn
def stability(radii: Sequence[StabilityRadius], *, axes: Panels = None) -> Figure:
    """Draw the scales at which each step chooses the same positions, and what one evaluation proves of them.

    Across: the step [from 0]; up: the scale, a factor of all logits. A wide bar covers the proved scales, a narrow one
    those that one evaluation at scale 1 proves. A triangle at the edge: the set stays beyond the edge, to 0 or to
    infinity where the interval ends there. A wide bar that is hatched may be longer.

    radii : of `rws_theory.stability_radius`, one for each step. ValueError for none.

    >>> from rws_decode import plots
    >>> from rws_theory import stability_radius
    >>> figure = plots.stability([stability_radius([[1.1, 0.6, 0.3], [1.0, 0.4, 0.4]], 1)])
    >>> plots.caption(figure).split(". ")[0]
    'The chosen set stays the same at every larger scale at 0 of 1 steps, at every smaller one at 1'
    """
    if not len(radii):
        raise ValueError("radii holds nothing: what stability_radius(logits, k) returns is needed, one for each step")
    ends = [end for radius in radii for end in (radius.lower, radius.upper, *radius.cheap) if 0 < end < math.inf]
    reach = min(max([_NARROWEST, *(max(end, 1 / end) * 1.4 for end in ends)]), _WIDEST)
    figure, (panel,) = panels_of(axes, 1, 1, (max(6.0, min(10.0, 2.4 + 0.22 * len(radii))), 4.4))
    panel.set_yscale("log")
    for step, radius in enumerate(radii):
        hatch = {} if radius.certified else {"hatch": "xx"}
        _bar(
            panel, step, radius.lower, radius.upper, reach, 0.8, facecolor=PALE, edgecolor=GREY, linewidth=0.6, **hatch
        )
        _bar(panel, step, *radius.cheap, reach, 0.4, facecolor=BLUE, edgecolor="none")
        for beyond, edge, mark in ((radius.upper > reach, reach, "^"), (radius.lower < 1 / reach, 1 / reach, "v")):
            if beyond:
                panel.plot(step, edge, mark, color=BLACK, markersize=_ARROW / 2, clip_on=False)
    for name, look in {"the same set, proved": (PALE, GREY), "proved by one evaluation": (BLUE, "none")}.items():
        panel.fill_between([], [], color=look[0], edgecolor=look[1], label=name)
    panel.plot([], [], "^", color=BLACK, linestyle="none", label="beyond the edge")
    panel.axhline(1, color=BLACK, linewidth=0.8)
    panel.set_ylim(1 / reach, reach)
    ticks = scale_ticks(1 / reach, reach)
    panel.set_yticks(ticks, [number(tick) for tick in ticks])
    panel.set_yticks([], minor=True)
    panel.set_xlim(-0.6, len(radii) - 0.4)
    panel.set_xlabel("step, from 0")
    panel.set_ylabel("scale: factor of all logits")
    panel.grid(visible=False, axis="x")
    whole_ticks(panel)
    legend(figure, panel, axes)
    return finished(figure, axes, *_sentences(radii))


def _bar(panel: Axes, step: int, lower: float, upper: float, reach: float, width: float, **look: Any) -> None:
    low, high = max(lower, 1 / reach), min(upper, reach)
    panel.bar(step, high - low, width, low, **look)


def _sentences(radii: Sequence[StabilityRadius]) -> list[str]:
    up, down = sum(radius.upper == math.inf for radius in radii), sum(radius.lower == 0 for radius in radii)
    open_ = sum(not radius.certified for radius in radii)
    proved = [min(radius.cheap[1] - 1, 1 - radius.cheap[0]) / radius.radius for radius in radii if radius.radius > 0]
    return [
        f"The chosen set stays the same at every larger scale at {up} of {len(radii)} steps, "
        f"at every smaller one at {down}.",
        f"One evaluation proves {number(100 * float(np.median(proved)), 2)} % of the radius (median)."
        if proved
        else "",
        f"At {open_} steps the interval may be wider (hatched)." if open_ else "",
    ]
