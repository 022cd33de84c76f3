"""One run's factor over the factors that unmask other positions, step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from rws_decode.common.palette import BLACK, BLUE, SKY, VERMILION
from rws_decode.extra.leverage.measure import Leverage
from rws_decode.view.plots.axes import scale_axis, whole_ticks
from rws_decode.view.plots.sheet import Panels, drawn, finished, legend, panels_of
from rws_decode.view.sentences import count, joined

_PALEST, _WARM = "#ececec", "#f7d3bd"
_DEPTH = 30.0  # the axis ends at this share of the greatest factor


@drawn
def leverage(*found: Leverage, axes: Panels = None) -> Figure:
    """Draw the factors that unmask other positions than the run's mean factor, and those that the run had.

    Across: the step [from 0]; up: the factor. Grey: factors that unmask what the mean factor does; hatched: factors
    that unmask other positions. The band goes from the least to the greatest factor of the run, the line is each step's
    own factor. The reward could matter where the band meets a hatched stretch, which a triangle marks: at other steps
    no factor of the band changes anything.

    found: of `rws_decode.leverage`, one panel for each. The axis ends at a 30th of the greatest factor, or at
    the run's least. ValueError for none, and for a number of axes other than that of panels.
    """
    if not found:
        raise ValueError("found holds nothing: what rws_decode.leverage(trace, predictor) returns is needed")
    figure, panels = panels_of(axes, len(found), 1, (7.6, 1.4 + 3.2 * len(found)))
    for panel, each in zip(panels, found, strict=True):
        least, most, top = float(each.factor.min()), float(each.factor.max()), each.high
        steps, bottom = np.arange(each.steps), max(each.low, min(top / _DEPTH, least / 1.2))
        panel.bar(steps, top - bottom, 0.86, bottom, zorder=1, color=_PALEST, label="same positions")
        look: dict[str, Any] = {
            "facecolor": _WARM,
            "edgecolor": VERMILION,
            "hatch": "////",
            "linewidth": 0.0,
            "zorder": 1.6,
        }
        label = "other positions"
        for step in steps.tolist():
            for lower, upper in each.others(step):
                if upper > bottom:
                    lower = max(lower, bottom)
                    panel.bar(step, upper - lower, 0.86, lower, label=label, **look)
                    label = ""
        panel.axhspan(least, most, facecolor=SKY, alpha=0.45, edgecolor="none", zorder=1.3, label="range of the run")
        for edge in (least, most):
            panel.axhline(edge, color=BLUE, linewidth=1.0)
        panel.plot(steps, each.factor, "o-", color=BLACK, markersize=4, linewidth=1.2, label="factor of the step")
        marks = np.flatnonzero(each.varied)
        panel.plot(marks, np.full(len(marks), top * 1.09), "v", color=VERMILION, markersize=9, clip_on=False)
        scale_axis(panel, bottom, top * 1.2, "factor of all logits", "y")
        panel.set_xlim(-0.6, each.steps - 0.4)
        panel.set_xlabel("step, from 0")
        whole_ticks(panel)
        panel.grid(visible=False)
        panel.set_title(
            f"{each.label}: the reward could matter at {each.varied.sum()} of {count(each.steps, 'step')} (triangle)",
            parse_math=False,
        )
    legend(figure, panels[0], axes)
    return finished(figure, axes, *_sentences(found))


def _sentences(results: tuple[Leverage, ...]) -> list[str]:
    shares = [f"{100 * each.variation:.0f} %" for each in results]
    firsts = ["from no step" if each.first is None else f"from step {each.first}" for each in results]
    return [
        "Grey: at these factors a step unmasks what it does at the run's mean factor; hatched: other positions.",
        f"The factor varied by {joined(shares, len(shares))}; it could matter where its band is hatched.",
        f"With any reward at all, texts could differ {joined(firsts, len(firsts))} on.",
    ]
