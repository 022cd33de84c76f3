"""How many positions reach a threshold at each scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rws_decode.common.palette import LOOKS
from rws_decode.view.plots.axes import VISIBLE, hatched_span, scale_axis, whole_ticks
from rws_decode.view.plots.sheet import Panels, drawn, finished, panels_of
from rws_decode.view.sentences import count, joined, number
from rws_theory import ThresholdPath

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["threshold_counts"]


@drawn
def threshold_counts(*paths: ThresholdPath, axes: Panels = None) -> Figure:
    """Draw how many positions reach a threshold at each scale: a rising line of steps for each path.

    Across: the scale, a factor of all logits; up: the number of positions. Scales at which a number is not proved are
    hatched, where they are wide enough to be seen.

    paths : of `rws_theory.threshold_path`, one for each threshold, over one range. ValueError for none, and for ranges
    that differ.

    >>> from rws_decode import plots
    >>> from rws_theory import threshold_path
    >>> plots.caption(plots.threshold_counts(threshold_path([[3.0, 1.0, 0.0], [2.0, 1.5, 0.0]], 0.9, 0.1, 32.0)))
    'Threshold 0.9: from 0 to 2 positions, 0 of them at scale 1. No number falls as the scale grows: proved.'
    """
    ranges = {(path.pieces[0].lower, path.pieces[-1].upper) for path in paths}
    if len(ranges) != 1:
        raise ValueError(
            f"paths cover {len(ranges)} ranges: one range is needed, of threshold_path(logits, tau, low, high)"
        )
    ((low, high),) = ranges
    figure, (panel,) = panels_of(axes, 1, 1, (8.0, 4.2))
    for place, path in enumerate(paths):
        look = LOOKS[place % len(LOOKS)]
        edges = [low, *(piece.upper for piece in path.pieces)]
        counts = [len(piece.positions) for piece in path.pieces]
        panel.stairs(
            counts,
            edges,
            baseline=None,
            color=look.color,
            linestyle=look.dash,
            linewidth=1.8,
            label=f"tau = {path.tau:g}",
        )
        for bracket in path.brackets:
            if bracket.relative_width > VISIBLE:
                hatched_span(panel, bracket.lower, bracket.upper)
    scale_axis(panel, low, high, "scale: factor of all logits")
    panel.axvline(1, color="black", linewidth=0.8)
    panel.set_ylim(0, None)
    panel.margins(y=0.08)
    whole_ticks(panel, "y")
    panel.set_ylabel("positions at or above the threshold")
    panel.legend(loc="best")
    return finished(figure, axes, *_sentences(paths))


def _sentences(paths: tuple[ThresholdPath, ...]) -> list[str]:
    told = []
    for path in paths:
        first, last = (len(piece.positions) for piece in (path.pieces[0], path.pieces[-1]))
        at_one = [len(piece.positions) for piece in path.pieces if piece.lower <= 1 <= piece.upper]
        one = f", {at_one[0]} of them at scale 1" if at_one else ""
        told.append(f"Threshold {path.tau:g}: from {first} to {count(last, 'position')}{one}.")
    open_ = [number(path.tau) for path in paths if not path.certified]
    proof = f"not all is proved at {joined(open_, 4)} (hatched)" if open_ else "proved"
    return [*told, f"No number falls as the scale grows: {proof}."]
