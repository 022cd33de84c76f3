"""The exact confidence of positions at every scale, who of two is ahead, and the proved crossings of their curves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isnan
from typing import Any, Literal, get_args

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from rws_decode.common.palette import BLACK, BLUE, GREY, LOOKS, VERMILION
from rws_decode.extra.scale_paths.marks import hatched_span, names_at_ends
from rws_decode.replay.step_logits import StepLogits
from rws_decode.view.plots.axes import scale_axis, shown_word
from rws_decode.view.plots.decode_steps import foremost
from rws_decode.view.plots.sheet import Panels, drawn, finished, panels_of
from rws_decode.view.sentences import at_position, count, joined, number
from rws_theory import Crossings, crossings, log_odds, max_probability, selection_path
from rws_theory.checks import one_of, whole

Unit = Literal["log-odds", "probability"]
_MOST = len(LOOKS)
_STEEP = 20.0  # nats
_TICKS = [sign * size * 10.0**power for power in range(7) for size in (1, 2, 5) for sign in (-1, 1)] + [0.0]
_POINTS = 400
_TERMS = 1 << 24  # exponentials computed at once
_SHORT = 2  # letters of names that can be indices
_FLAT = 0.1  # of the tallest stretch: a lower one is hard to see on an even axis


@dataclass(frozen=True, eq=False)
class _Rows:
    """The positions at hand: a name and a label for each, their logits, and those that are plotted (indices)."""

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
    logits. Dots are the crossings of each plotted pair, certified by `rws_theory.crossings`: full where the
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
    'The curves of a and b cross once, at 4.812. It is proved that they cross nowhere else. The dotted line is at 1.'
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
        _mark(panels[0], pair, lambda point, row=a: _curve(rows.logits[row], np.array([point]), unit)[0], low, high)
    _heights(panels[0], curves.values(), unit)
    scale_axis(panels[0], low, high, "factor of all logits")
    names_at_ends(panels[0], {rows.labels[row]: curve for row, curve in curves.items()}, scale[-1])
    if ahead:
        (a, b), (pair,) = drawn_rows, pairs.values()
        odds = [_curve(rows.logits[row], scale, "log-odds") for row in (a, b)]
        draw_ahead(panels[1], pair, scale, (odds[0] - odds[1]) / scale, (rows.names[a], rows.names[b]))
        scale_axis(panels[1], low, high, "factor of all logits")
    for panel in panels:
        panel.axvline(1, color=GREY, linewidth=0.8, linestyle=":")
        if rows.factor is not None and low <= rows.factor <= high:
            panel.axvline(rows.factor, color=GREY, linewidth=1.2, linestyle=(0, (6, 2)))
    certain = [rows.names[row] for row, curve in curves.items() if np.isinf(curve).all()]
    sentences = [
        "" if len(drawn_rows) == len(rows.logits) else f"{len(drawn_rows)} of {len(rows.logits)} positions are drawn.",
        of_selected(rows.k, len(rows.logits)),
        f"Certain at every factor, as no other token is possible, and not drawn: {joined(certain, 6)}."
        if certain
        else "",
        *of_pairs({(rows.names[a], rows.names[b]): pair for (a, b), pair in pairs.items()}, low, high),
        "The dotted line is at 1"
        + (f", the dashed one the factor of the step, {number(rows.factor)}." if rows.factor else "."),
    ]
    return finished(figure, axes, *sentences)


def _rows(logits: Any, k: int | None) -> _Rows:
    if isinstance(logits, StepLogits):
        words, place = logits.words, logits.positions.tolist()
        names = [at_position(shown_word(word), position) for word, position in zip(words, place, strict=True)]
        labels = [f"{shown_word(word)} ({position})" for word, position in zip(words, place, strict=True)]
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
        if absent := [position for position in positions if position not in there]:
            known = f"{there[0]} to {there[-1]}" if len(there) > 12 else ", ".join(map(str, there))
            raise ValueError(f"positions holds {absent[0]}, which is not among those of logits: {known}")
        return [there.index(position) for position in dict.fromkeys(positions)]
    if len(there) <= _MOST:
        return list(range(len(there)))
    scales = (0.1, 1.0, 10.0) if rows.factor is None else (0.1, 1.0, rows.factor)
    values = [np.array([float(log_odds(np.asarray(row, float), scale)) for row in rows.logits]) for scale in scales]
    return foremost(*values, most=_MOST).tolist()


def _curve(row: Any, scale: NDArray[np.float64], unit: Unit) -> NDArray[np.float64]:
    """Return the confidence of one position at many scales, some at a time: a vocabulary is large."""
    logits, curve = np.asarray(row, float), log_odds if unit == "log-odds" else max_probability
    parts = np.array_split(scale, max(1, min(scale.size, scale.size * logits.size // _TERMS)))
    return np.concatenate([np.atleast_1d(curve(logits, part)) for part in parts])


def _range(
    scale_min: float | None, scale_max: float | None, roots: Sequence[float], factor: float | None
) -> tuple[float, float]:
    """Return the range of scales, wide enough for all crossings unless it was given."""
    scales = [*roots, *([factor] if factor else [])]
    low = min([0.1, *(scale / 3 for scale in scales)]) if scale_min is None else scale_min
    high = max([5.0, *(scale * 3 for scale in scales)]) if scale_max is None else scale_max
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
    """Label the axis of confidences; log-odds grow with the scale, and are set closer where they are large."""
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


def draw_ahead(
    axes: Axes, pair: Crossings, scale: NDArray[np.float64], ahead: NDArray[np.float64], names: tuple[str, str]
) -> None:
    """Draw the lead of the first position over the second, [m] at the factors [m]: log-odds per unit of factor [nats].

    The crossings are marked where the lead is 0. The limits at scale 0 and infinity are dotted, where every token of
    both positions is possible.
    """
    axes.axhline(0, color=BLACK, linewidth=0.8)
    axes.set_title(f"crossings: {', '.join(map(number, pair.roots)) or 'none'}")
    if not np.isfinite(ahead).any():  # one of them has one possible token
        axes.set_yticks([])
        axes.set_ylabel("no finite difference of log-odds")
        return
    axes.plot(scale, ahead, color=GREY)
    axes.fill_between(scale, ahead, 0, where=ahead > 0, color=BLUE, alpha=0.3, linewidth=0, label=f"{names[0]} ahead")
    second = {"facecolor": VERMILION, "alpha": 0.3, "hatch": "//", "linewidth": 0}
    axes.fill_between(scale, ahead, 0, where=ahead < 0, label=f"{names[1]} ahead", **second)
    axes.margins(y=0.15)
    short = names if all(name.isalnum() and len(name) <= _SHORT for name in names) else ("1", "2")
    less = f"log-odds of {short[0]} less those of {short[1]},\nper unit of the factor [nats"
    unit = less if short is names else "log-odds of the first less those\nof the second, per unit of the factor [nats"
    lobes = [np.abs(part).max() for part in np.split(ahead, np.searchsorted(scale, pair.roots)) if part.size]
    if 0 < min(lobes) < _FLAT * max(lobes):
        _stretch(axes, min(lobes), max(lobes))
        unit += ";\nstretched near 0"
    _limits(axes, pair, short)
    axes.set_ylabel(f"{unit}]")
    for crossing in pair.crossings:
        if scale[0] <= crossing.root <= scale[-1]:
            face = BLACK if (crossing.multiplicity or 0) % 2 else "white"
            axes.plot(crossing.root, 0, "o", color=face, markeredgecolor=BLACK, markersize=6, zorder=5)
    axes.legend(loc="best")


def _stretch(axes: Axes, least: float, most: float) -> None:
    axes.set_yscale("asinh", linear_width=max(least, 1e-3 * most))
    ticks = [sign * size for sign in (-1, 1) for size in (least, most)]
    axes.set_yticks([0, *ticks], ["0", *(f"{tick:.2g}".replace("-", "\u2212") for tick in ticks)])
    axes.set_yticks([], minor=True)


def _limits(axes: Axes, pair: Crossings, names: tuple[str, str]) -> None:
    """Dot the differences of the mean gaps and of the smallest gaps, from which and to which the lead goes."""
    if not np.isfinite([*pair.sigma, *pair.delta]).all() or pair.dimension < 2:
        return
    first, second = names
    mean, least = (pair.sigma[0] - pair.sigma[1]) / (pair.dimension - 1), pair.delta[0] - pair.delta[1]
    ends = (
        (mean, rf"$(\Sigma_{{{first}}} - \Sigma_{{{second}}})/n$", "left", (0, 0.3)),
        (least, rf"$\delta_{{{first}}} - \delta_{{{second}}}$", "right", (0.7, 1)),
    )
    for height, name, side, span in ends:
        axes.axhline(height, *span, color=GREY, linestyle=":")
        look = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "ha": side}
        ground = {"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 0.5}
        axes.annotate(name, (0.01 if side == "left" else 0.99, height), (0, 3), bbox=ground, **look)


def of_selected(k: int | None, positions: int) -> str:
    """Say what a thick curve means, "" where none is.

    >>> of_selected(2, 9), of_selected(None, 9)
    ('A curve is thick where it is among the 2 highest of all 9.', '')
    """
    if k is None or not 0 < k < positions:
        return ""
    return f"A curve is thick where it is {f'among the {k} highest' if k > 1 else 'the highest'} of all {positions}."


def of_pairs(pairs: Mapping[tuple[str, str], Crossings], low: float, high: float) -> list[str]:
    """Say where the curves of pairs, by their names, cross at scales from low to high, and what of it is proved."""
    if len(pairs) == 1:
        (((first, second), pair),) = pairs.items()
        return _of_pair(first, second, pair)
    if not pairs:
        return []
    crossed = sum(low <= root <= high for pair in pairs.values() for root in pair.roots)
    between = f"between {number(low)} and {number(high)}"
    proved = all(pair.complete for pair in pairs.values())
    return [
        f"The {len(pairs)} pairs of curves have {count(crossed, 'crossing')} {between}.",
        "It is proved that there are no others." if proved else "Others are not excluded (hatched).",
    ]


def _of_pair(first: str, second: str, pair: Crossings) -> list[str]:
    both = f"The curves of {first} and {second}"
    if pair.identical:
        return [f"{both} are the same at every factor: their gaps are equal."]
    if not pair.count:
        return [f"{both} never cross: proved." if pair.complete else f"No crossing of {both.lower()} is known."]
    times = {1: "once", 2: "twice"}.get(pair.count, f"{pair.count} times")
    touching = " (hollow: they touch)" if any(crossing.multiplicity == 2 for crossing in pair.crossings) else ""
    return [
        f"{both} cross {times}, at {joined([number(root) for root in pair.roots], 6)}{touching}.",
        "It is proved that they cross nowhere else." if pair.complete else "Others are not excluded (hatched).",
    ]
