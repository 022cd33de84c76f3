"""A strategy against its reward-blind twins: one interval each, and the margin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from rws_decode.common.palette import BLACK, BLUE, RULE, VERMILION
from rws_decode.view.plots.sheet import Panels, drawn, finished, panels_of

if TYPE_CHECKING:
    from rws_decode.ablation.result import Ablation


@drawn
def ablation(result: Ablation, *, axes: Panels = None) -> Figure:
    """Draw the difference of the reward between a strategy and each of its twins, with its interval and the margin.

    Intervals in the shaded band are equivalence; those to the right of it say that the strategy has more of the reward.
    A filled mark is decided, an open one is not.
    """
    shown = result.comparisons[::-1]
    figure, (panel,) = panels_of(axes, 1, 1, (8.0, 0.9 + 0.34 * len(shown)))
    panel.axvspan(-result.margin, result.margin, color=RULE, alpha=0.6, linewidth=0)
    panel.axvline(0.0, color=BLACK, linewidth=0.8)
    for place, each in enumerate(shown):
        look = {"better": BLUE, "undecided": BLACK}.get(each.verdict, VERMILION)
        panel.plot([each.low, each.high], [place, place], color=look)
        face = "white" if each.verdict == "undecided" else look
        panel.plot(each.difference, place, marker="o", color=look, markerfacecolor=face)
    panel.set_yticks(range(len(shown)), [f"- {each.twin}" for each in shown])
    panel.set_ylim(-0.6, len(shown) - 0.4)
    panel.grid(False, axis="y")
    panel.set_xlabel("difference of the reward [SD]")
    title = f"{result.strategy}, minus a twin" if axes is None else ""
    panel.set_title(title)
    return finished(figure, axes, result.line(), f"Band: margin {result.margin:g}. {result.stopped_after} prompts.")
