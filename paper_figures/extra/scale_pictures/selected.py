"""What is selected at each scale: the k most confident positions, those above a threshold, and how stable they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from rws_decode.common.palette import BLACK, BLUE, GREY, LOOKS, PALE
from rws_decode.extra.scale_paths.marks import VISIBLE, hatched_span, stretches
from rws_decode.view.plots.axes import scale_axis, shown_word, whole_ticks
from rws_decode.view.plots.sheet import Panels, drawn, finished, legend, panels_of
from rws_decode.view.sentences import count, joined, number
from rws_theory import SelectionPath, StabilityRadius, ThresholdPath

_WIDEST = 1e3  # scales beyond it, or below its inverse, are shown at the edge
_NARROWEST = 2.0
_ARROW = 12  # points of the marks of ends that lie beyond the edge


@drawn
def selection(
    path: SelectionPath,
    words: Sequence[str] | None = None,
    positions: Sequence[int] | NDArray[np.int64] | None = None,
    *,
    axes: Panels = None,
) -> Figure:
    """Draw which positions are among the k most confident at each scale: a row for each that ever is.

    Across: the factor of all logits; a bar where the position is selected. Bars of positions that are selected
    at some scales only are blue, the others grey. Lines are the proved breakpoints, at which the set changes; scales
    for which no set is proved are hatched.

    words, positions: of every row that the path was made from: the word of its candidate, and its place in the answer.

    ValueError where these are too few, and for more than one of axes.
    """
    rows = sorted({row for piece in path.pieces for row in piece.selected})
    for name, given in (("words", words), ("positions", positions)):
        if given is not None and rows and len(given) <= rows[-1]:
            raise ValueError(
                f"{name} has {len(given)} entries: the path selects row {rows[-1]}, one for each row is needed"
            )
    low, high = path.pieces[0].lower, path.pieces[-1].upper
    figure, (panel,) = panels_of(axes, 1, 1, (8.0, 1.9 + 0.26 * max(len(rows), 2)))
    always = set(rows).intersection(*(piece.selected for piece in path.pieces))
    for lane, row in enumerate(rows):
        look: dict[str, Any] = {"facecolor": BLUE, "edgecolor": BLACK, "hatch": "////", "linewidth": 0.6}
        look = {"facecolor": PALE, "edgecolor": GREY, "linewidth": 0.6} if row in always else look
        for begin, end in stretches((piece.lower, piece.upper) for piece in path.pieces if row in piece.selected):
            panel.barh(lane, end - begin, 0.66, begin, **look)
    for bracket in path.brackets:
        if not bracket.breakpoint or bracket.relative_width > VISIBLE:
            hatched_span(panel, bracket.lower, bracket.upper, zorder=3)
        if bracket.breakpoint:
            panel.axvline(bracket.upper, color=BLACK, linewidth=0.8)
    panel.set_yticks(range(len(rows)), [_label(row, words, positions) for row in rows], parse_math=False)
    panel.set_ylim(max(len(rows), 1) - 0.4, -0.6)
    panel.tick_params(axis="y", length=0)
    panel.grid(visible=False, axis="y")
    panel.set_ylabel("position" if words is None else "candidate and position")
    scale_axis(panel, low, high, "factor of all logits")
    return finished(figure, axes, *_selection_sentences(path, positions if words is None else words, low, high))


def _label(row: int, words: Sequence[str] | None, positions: Any) -> str:
    place = str(row if positions is None else positions[row])
    return place if words is None else f"{shown_word(words[row])}  {place}"


def _selection_sentences(path: SelectionPath, rows: Any, low: float, high: float) -> list[str]:
    total = "" if rows is None else f" of {len(rows)} positions"
    who, are = (f"The {path.k} most confident{total}", "are") if path.k > 1 else (f"The most confident{total}", "is")
    sets = len({piece.selected for piece in path.pieces})
    points = [number(bracket.upper) for bracket in path.brackets if bracket.breakpoint]
    same = "the same" if sets == 1 else f"one of {sets} sets"
    changes = f"The set changes at {joined(points, 6)}" if points else "The set does not change"
    proof = "this is proved" if path.certified else "what is hatched is not proved"
    return [f"{who} {are} {same} at every factor from {number(low)} to {number(high)}.", f"{changes}; {proof}."]


@drawn
def threshold_counts(*paths: ThresholdPath, axes: Panels = None) -> Figure:
    """Draw how many positions reach a threshold at each scale: a rising line of steps for each path.

    Across: the factor of all logits; up: the number of positions. Scales at which a number is not proved are
    hatched, where they are wide enough to be seen.

    paths : of `rws_theory.threshold_path`, one for each threshold, over one range. ValueError for none, and for ranges
    that differ.

    >>> from rws_decode import plots
    >>> from rws_theory import threshold_path
    >>> plots.caption(plots.threshold_counts(threshold_path([[3.0, 1.0, 0.0], [2.0, 1.5, 0.0]], 0.9, 0.1, 32.0)))
    'Threshold 0.9: from 0 to 2 positions, 0 of them at factor 1. No number falls as the factor grows: proved.'
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
        line: dict[str, Any] = {"color": look.color, "linestyle": look.dash, "label": f"tau = {path.tau:g}"}
        panel.stairs(counts, edges, baseline=None, linewidth=1.8, **line)
        for bracket in path.brackets:
            if bracket.relative_width > VISIBLE:
                hatched_span(panel, bracket.lower, bracket.upper)
    scale_axis(panel, low, high, "factor of all logits")
    panel.axvline(1, color="black", linewidth=0.8)
    panel.set_ylim(0, None)
    panel.margins(y=0.08)
    whole_ticks(panel, "y")
    panel.set_ylabel("positions at or above the threshold")
    panel.legend(loc="best")
    return finished(figure, axes, *_threshold_sentences(paths))


def _threshold_sentences(paths: tuple[ThresholdPath, ...]) -> list[str]:
    sentences = []
    for path in paths:
        first, last = (len(piece.positions) for piece in (path.pieces[0], path.pieces[-1]))
        at_one = [len(piece.positions) for piece in path.pieces if piece.lower <= 1 <= piece.upper]
        one = f", {at_one[0]} of them at factor 1" if at_one else ""
        sentences.append(f"Threshold {path.tau:g}: from {first} to {count(last, 'position')}{one}.")
    open_ = [number(path.tau) for path in paths if not path.certified]
    proof = f"not all is proved at {joined(open_, 4)} (hatched)" if open_ else "proved"
    return [*sentences, f"No number falls as the factor grows: {proof}."]


@drawn
def stability(radii: Sequence[StabilityRadius], *, axes: Panels = None) -> Figure:
    """Draw the scales at which each step chooses the same positions, and what one evaluation proves of them.

    Across: the step [from 0]; up: the factor of all logits. A wide bar covers the proved scales, a narrow one
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
    for step, radius in enumerate(radii):
        wide = {"facecolor": PALE, "edgecolor": GREY, "linewidth": 0.6, "hatch": None if radius.certified else "xx"}
        narrow: dict[str, Any] = {"facecolor": BLUE, "edgecolor": "none"}
        for (lower, upper), width, look in (((radius.lower, radius.upper), 0.8, wide), (radius.cheap, 0.4, narrow)):
            low, high = max(lower, 1 / reach), min(upper, reach)
            panel.bar(step, high - low, width, low, **look)
        for beyond, edge, mark in ((radius.upper > reach, reach, "^"), (radius.lower < 1 / reach, 1 / reach, "v")):
            if beyond:
                panel.plot(step, edge, mark, color=BLACK, markersize=_ARROW / 2, clip_on=False)
    for name, look in {"the same set, proved": (PALE, GREY), "proved by one evaluation": (BLUE, "none")}.items():
        panel.fill_between([], [], color=look[0], edgecolor=look[1], label=name)
    panel.plot([], [], "^", color=BLACK, linestyle="none", label="beyond the edge")
    panel.axhline(1, color=BLACK, linewidth=0.8)
    scale_axis(panel, 1 / reach, reach, "factor of all logits", "y")
    panel.set_xlim(-0.6, len(radii) - 0.4)
    panel.set_xlabel("step, from 0")
    panel.grid(visible=False, axis="x")
    whole_ticks(panel)
    legend(figure, panel, axes)
    return finished(figure, axes, *_stability_sentences(radii))


def _stability_sentences(radii: Sequence[StabilityRadius]) -> list[str]:
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
