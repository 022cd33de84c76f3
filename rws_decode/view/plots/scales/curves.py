"""The exact confidence of positions at every scale, and the proved crossings of their curves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isnan
from typing import Any, Literal, get_args

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from rws_decode.common.palette import BLACK, GREY, LOOKS
from rws_decode.replay.step_logits import StepLogits
from rws_decode.view.plots.axes import hatched_span, names_at_ends, scale_axis, shown_word
from rws_decode.view.plots.decode_steps import foremost
from rws_decode.view.plots.scales.ahead import draw_ahead, of_pairs, of_selected
from rws_decode.view.plots.sheet import Panels, drawn, finished, panels_of
from rws_decode.view.sentences import at_position, joined, number
from rws_theory import Crossings, crossings, log_odds, max_probability, selection_path
from rws_theory.checks import one_of, whole

Unit = Literal["log-odds", "probability"]
_MOST = len(LOOKS)
_STEEP = 20.0  # nats
_TICKS = [sign * size * 10.0**power for power in range(7) for size in (1, 2, 5) for sign in (-1, 1)] + [0.0]
_POINTS = 400
_TERMS = 1 << 24  # exponentials computed at once


@dataclass(frozen=True, eq=False)
class _Rows:
    """The positions at hand: a name and a label for each, their logits, and those that are to be drawn (indices)."""

    names: list[str]
    labels: list[str]
    logits: list[Any]
    k: int | None
    factor: float | None


@drawn
def confidence_curves(
    logits: StepLogits | ArrayLike | Sequence[Sequence[Any]],
    positions: Sequence[int] | None = None,
    *,
    scale_min: float | None = None,
    scale_max: float | None = None,
    k: int | None = None,
    unit: Unit = "log-odds",
    names: Sequence[str] | None = None,
    axes: Panels = None,
) -> Figure:
    """Draw the exact confidence of positions against the scale of their logits, with every crossing of their curves.

    A curve is the confidence of a position's best token, as log-odds [nats] or as a probability, at each factor of all
    logits. Dots are the crossings of each pair that is drawn, as `rws_theory.crossings` encloses them: full where the
    curves change order, hollow where they only touch. What could not be told apart is hatched. A curve is thick where
    its position is among the k highest of all positions given (`rws_theory.selection_path`): where it is committed.

    Two curves have a second panel, who is ahead: the difference of their log-odds per unit of scale, above 0 where the
    first is ahead. It begins at the difference of the mean gaps, and ends at that of the smallest gaps (dotted). Its
    axis is stretched near 0 where a stretch of the curve would else be too flat to be seen.

    logits: `step_logits` of a trace, or [m, d], rows of numbers, Fractions taken as exact (`rws_theory.crossings`).
    positions: those to draw, positions of the answer, or rows; all where they are few, else the six that come first at
    a small scale, at 1, or at the step's factor. scale_min, scale_max: by the crossings if None. k: by default what
    the step committed; no curve is thick where it is not known. names: of the curves, instead of word and position.
    axes: one, or two for a pair and who is ahead.

    ValueError for a position that is not there, a range that is none, an unknown unit, a k that cannot be, and other
    numbers of names or axes.

    >>> from rws_decode import plots
    >>> figure = plots.confidence_curves([[1.1, 0.6, 0.3], [1.0, 0.4, 0.4]], names=["a", "b"])
    >>> plots.caption(figure)
    'The curves of a and b cross once, at 4.812. It is proved that they cross nowhere else. The dotted line is scale 1.'
    """
    one_of("unit", unit, get_args(Unit))
    rows = _rows(logits, k)
    if rows.k is not None:
        whole("k", rows.k, 0, len(rows.logits))
    drawn_rows = _drawn(rows, logits, positions)
    if names is not None:
        if len(names) != len(drawn_rows):
            raise ValueError(f"names holds {len(names)} names: one for each of the {len(drawn_rows)} curves is needed")
        for row, name in zip(drawn_rows, names, strict=True):
            rows.names[row] = rows.labels[row] = name
    pairs = {pair: crossings(*(rows.logits[row] for row in pair)) for pair in combinations(drawn_rows, 2)}
    roots = [root for pair in pairs.values() for root in pair.roots if 0 < root < np.inf]
    low, high = _range(scale_min, scale_max, roots, rows.factor)
    ahead = len(drawn_rows) == 2 and (axes is None or np.size(np.asarray(axes, dtype=object)) != 1)
    figure, panels = panels_of(axes, 1, 2 if ahead else 1, (10.0, 4.2) if ahead else (8.0, 4.6))
    scale = np.geomspace(low, high, _POINTS)
    curves = {row: _curve(rows.logits[row], scale, unit) for row in drawn_rows}
    _draw_curves(panels[0], rows, curves, scale)
    for (a, _), pair in pairs.items():
        _mark(panels[0], pair, lambda at, row=a: _curve(rows.logits[row], np.array([at]), unit)[0], low, high)
    _heights(panels[0], curves.values(), unit)
    scale_axis(panels[0], low, high, "scale: factor of all logits")
    names_at_ends(panels[0], {rows.labels[row]: curve for row, curve in curves.items()}, scale[-1])
    if ahead:
        (a, b), (pair,) = drawn_rows, pairs.values()
        odds = [_curve(rows.logits[row], scale, "log-odds") for row in (a, b)]
        draw_ahead(panels[1], pair, scale, (odds[0] - odds[1]) / scale, (rows.names[a], rows.names[b]))
        scale_axis(panels[1], low, high, "scale: factor of all logits")
    for panel in panels:
        panel.axvline(1, color=GREY, linewidth=0.8, linestyle=":")
        if rows.factor is not None and low <= rows.factor <= high:
            panel.axvline(rows.factor, color=GREY, linewidth=1.2, linestyle=(0, (6, 2)))
    certain = [rows.names[row] for row, curve in curves.items() if np.isinf(curve).all()]
    sentences = [
        "" if len(drawn_rows) == len(rows.logits) else f"{len(drawn_rows)} of {len(rows.logits)} positions are drawn.",
        of_selected(rows.k, len(rows.logits)),
        f"Certain at every scale, as no other token is possible, and not drawn: {joined(certain, 6)}."
        if certain
        else "",
        *of_pairs({(rows.names[a], rows.names[b]): pair for (a, b), pair in pairs.items()}, low, high),
        "The dotted line is scale 1"
        + (f", the dashed one the factor of the step, {number(rows.factor)}." if rows.factor else "."),
    ]
    return finished(figure, axes, *sentences)


def _rows(logits: Any, k: int | None) -> _Rows:
    if isinstance(logits, StepLogits):
        words, place = logits.words, logits.positions.tolist()
        names = [at_position(shown_word(word), at) for word, at in zip(words, place, strict=True)]
        labels = [f"{shown_word(word)} ({at})" for word, at in zip(words, place, strict=True)]
        committed = int(logits.chosen.sum()) if k is None else k
        return _Rows(names, labels, list(logits.logits), committed, None if isnan(logits.factor) else logits.factor)
    rows = list(logits)
    if len(rows) == 0 or np.ndim(rows[0]) != 1:
        raise ValueError("logits must have shape [m, d], a row for each position, or be step_logits of a trace")
    names = [f"position {row}" for row in range(len(rows))]
    return _Rows(names, list(names), rows, k, None)


def _drawn(rows: _Rows, logits: Any, positions: Sequence[int] | None) -> list[int]:
    there = logits.positions.tolist() if isinstance(logits, StepLogits) else list(range(len(rows.logits)))
    if positions is not None:
        if absent := [at for at in positions if at not in there]:
            known = f"{there[0]} to {there[-1]}" if len(there) > 12 else ", ".join(map(str, there))
            raise ValueError(f"positions holds {absent[0]}, which is not among those of logits: {known}")
        return [there.index(at) for at in dict.fromkeys(positions)]
    if len(there) <= _MOST:
        return list(range(len(there)))
    scales = (0.1, 1.0, 10.0) if rows.factor is None else (0.1, 1.0, rows.factor)
    values = [np.array([float(log_odds(np.asarray(row, float), scale)) for row in rows.logits]) for scale in scales]
    return foremost(0, *values, most=_MOST).tolist()


def _curve(row: Any, scale: NDArray[np.float64], unit: Unit) -> NDArray[np.float64]:
    """Return the confidence of one position at many scales, some at a time: a vocabulary is large."""
    logits, curve = np.asarray(row, float), log_odds if unit == "log-odds" else max_probability
    parts = np.array_split(scale, max(1, min(scale.size, scale.size * logits.size // _TERMS)))
    return np.concatenate([np.atleast_1d(curve(logits, part)) for part in parts])


def _range(
    scale_min: float | None, scale_max: float | None, roots: Sequence[float], factor: float | None
) -> tuple[float, float]:
    """Return the range of scales, wide enough for all crossings unless it was given."""
    seen = [*roots, *([factor] if factor else [])]
    low = min([0.1, *(scale / 3 for scale in seen)]) if scale_min is None else scale_min
    high = max([5.0, *(scale * 3 for scale in seen)]) if scale_max is None else scale_max
    if not 0 < low < high < np.inf:
        raise ValueError(f"scale_min and scale_max are {low:g} and {high:g}: 0 < scale_min < scale_max is needed")
    return float(low), float(high)


def _draw_curves(axes: Axes, rows: _Rows, curves: dict[int, NDArray[np.float64]], scale: NDArray[np.float64]) -> None:
    selected = np.zeros((len(rows.logits), scale.size), dtype=bool)
    if rows.k is not None:
        path = selection_path(np.array(rows.logits, float), rows.k, scale[0], scale[-1])
        for piece in path.pieces:
            selected[list(piece.selected)] |= (piece.lower <= scale) & (scale <= piece.upper)
    for (row, curve), look in zip(curves.items(), LOOKS * (1 + len(curves) // len(LOOKS)), strict=False):
        axes.plot(scale, curve, color=look.color, linestyle=look.dash, label=rows.labels[row])
        if selected[row].any() and len(rows.logits) > (rows.k or 0):
            axes.plot(scale, np.where(selected[row], curve, np.nan), color=look.color, linewidth=6, alpha=0.3)


def _heights(axes: Axes, curves: Iterable[NDArray[np.float64]], unit: Unit) -> None:
    """Label the axis of confidences; log-odds grow with the scale, and are drawn closer where they are large."""
    if unit == "probability":
        axes.set_ylabel("confidence of the best token [probability]")
        return
    axes.set_ylabel("log-odds of the best token [nats]")
    finite = np.concatenate([curve[np.isfinite(curve)] for curve in curves])
    if np.abs(finite).max(initial=0.0) > _STEEP:
        ticks = [tick for tick in _TICKS if finite.min() <= tick <= finite.max()]
        axes.set_yscale("asinh", linear_width=4)
        axes.set_yticks(ticks, [number(tick) for tick in ticks])
        axes.set_yticks([], minor=True)
        axes.set_ylabel("log-odds of the best token\n[nats, drawn closer far from 0]")


def _mark(axes: Axes, pair: Crossings, height: Any, low: float, high: float) -> None:
    for crossing in pair.crossings:
        if not low <= crossing.root <= high:
            continue
        if crossing.multiplicity is None:
            hatched_span(axes, crossing.lower, crossing.upper, alpha=0.6)
        else:
            face = BLACK if crossing.multiplicity % 2 else "white"
            axes.plot(
                crossing.root, height(crossing.root), "o", color=face, markeredgecolor=BLACK, markersize=6, zorder=5
            )
