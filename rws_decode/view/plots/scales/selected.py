"""Which positions are among the k most confident at each scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rws_decode.common.palette import BLACK, BLUE, GREY, PALE
from rws_decode.view.plots.axes import VISIBLE, hatched_span, scale_axis, shown_word, stretches
from rws_decode.view.plots.sheet import Panels, drawn, finished, panels_of
from rws_decode.view.sentences import joined, number
from rws_theory import SelectionPath

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["selection"]


@drawn
def selection(
    path: SelectionPath,
    words: Sequence[str] | None = None,
    positions: Sequence[int] | NDArray[np.int64] | None = None,
    *,
    axes: Panels = None,
) -> Figure:
    """Draw which positions are among the k most confident at each scale: a row for each that ever is.

    Across: the scale, a factor of all logits; a bar where the position is selected. Bars of positions that are selected
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
    scale_axis(panel, low, high, "scale: factor of all logits")
    return finished(figure, axes, *_sentences(path, positions if words is None else words, low, high))


def _label(row: int, words: Sequence[str] | None, positions: Any) -> str:
    place = str(row if positions is None else positions[row])
    return place if words is None else f"{shown_word(words[row])}  {place}"


def _sentences(path: SelectionPath, rows: Any, low: float, high: float) -> list[str]:
    of = "" if rows is None else f" of {len(rows)} positions"
    who, are = (f"The {path.k} most confident{of}", "are") if path.k > 1 else (f"The most confident{of}", "is")
    sets = len({piece.selected for piece in path.pieces})
    points = [number(bracket.upper) for bracket in path.brackets if bracket.breakpoint]
    same = "the same" if sets == 1 else f"one of {sets} sets"
    changes = f"The set changes at {joined(points, 6)}" if points else "The set does not change"
    proof = "this is proved" if path.certified else "what is hatched is not proved"
    return [f"{who} {are} {same} at every scale from {number(low)} to {number(high)}.", f"{changes}; {proof}."]
