"""A scale path as lanes, one for each answer, and what goes with the answers along the axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rws_decode.common.palette import BLACK, GREY, LOOKS
from rws_decode.scales.path import ScalePath
from rws_decode.scales.reach import compare_reach
from rws_decode.view.plots.axes import VISIBLE, hatched_span, scale_axis, shown_word
from rws_decode.view.plots.scales.answers import (
    OVER,
    SHORT,
    Answer,
    Value,
    along,
    answers_of,
    as_paths,
    lines_of,
    of_answers,
    of_line,
    on_grid,
    told_apart,
)
from rws_decode.view.plots.sheet import Panels, drawn, finished, legend, panels_of
from rws_decode.view.sentences import number

__all__ = ["reward_against_scale", "scale_path"]

_MOST_LANES = 24
_LABEL = 40  # characters of an answer's text
_LANE = 0.36  # inches


@drawn
def scale_path(
    paths: ScalePath | Sequence[ScalePath],
    grid: Sequence[float] | None = None,
    *,
    axes: Panels = None,
) -> Figure:
    """Draw at which scales each answer is given: a lane for each answer, and a bar where those scales give it.

    Across: the scale, a factor c of all logits or the reward scale s_R, logarithmic. Lanes are numbered in the order of
    their scales, and have the answer's text beside them, from where it parts with others. Two paths, over the
    temperature and over the reward scale, are drawn together, with a note where only one of them gives an answer.
    Scales that are unexplored, or at which nothing is proved, are hatched; every other border is proved.

    grid: scales, as of a study; a mark shows which answer each gives, and the caption says which answers the grid
    misses. ValueError for paths over the same axis, a grid beyond their scales, and more than one of axes.
    """
    both, answers = as_paths(paths), answers_of(as_paths(paths))
    _check(both, grid)
    widest = sorted(answers, key=lambda answer: -max(answer.shares))[:_MOST_LANES]
    shown = [answer for answer in answers if answer in widest]
    figure, panels = panels_of(axes, 1, 1, (10.0, _LANE * max(len(shown), 2) + 2.0))
    _lanes(panels[0], both, shown, grid or ())
    _scales(panels, both, grid)
    if len(both) > 1 or grid:
        legend(figure, panels[0], axes, "upper left")
    return finished(figure, axes, *of_answers(both, answers, len(shown), grid))


@drawn
def reward_against_scale(
    paths: ScalePath | Sequence[ScalePath],
    others: Mapping[str, Value] | None = None,
    *,
    god: bool = False,
    grid: Sequence[float] | None = None,
    axes: Panels = None,
) -> Figure:
    """Draw what the answer at each scale is worth: level over each proved piece of the axis.

    Across: the temperature's factor c, or the reward scale s_R, or both where two paths are given, logarithmic. A line
    is broken where its path is unexplored. The dotted line is scale 1, where a temperature is confidence decoding. The
    panels, from above: the reward [deviations] and the log-probability [nats] of the answers, where a path knows them.

    others: further panels, by the label of their axis, functions of a `ScalePiece`. god: whether a panel has the
    generation order deviation [steps]. grid: scales to name on the axis.

    ValueError where there is nothing to draw, for paths over the same axis, a grid beyond their scales, and other
    numbers of axes than panels.
    """
    both = as_paths(paths)
    lines = lines_of(both, others, god)
    _check(both, grid)
    figure, panels = panels_of(axes, len(lines), 1, (8.0, 1.6 + 1.8 * len(lines)), sharex=True)
    for panel, (label, value) in zip(panels, lines.items(), strict=True):
        _line(panel, both, label, value)
    _scales(panels, both, grid)
    if len(both) > 1:
        legend(figure, panels[0], axes, "upper left")
    return finished(figure, axes, *of_line(both, *next(iter(lines.items()))), "The dotted line is scale 1.")


def _check(paths: Sequence[ScalePath], grid: Sequence[float] | None) -> None:
    low, high = min(path.scale_min for path in paths), max(path.scale_max for path in paths)
    if outside := [scale for scale in grid or () if not low <= scale <= high]:
        raise ValueError(f"grid holds {outside[0]:g}, outside of {low:g} to {high:g}, the scales of the paths")


def _lanes(axes: Axes, paths: Sequence[ScalePath], answers: Sequence[Answer], grid: Sequence[float]) -> None:
    lane = {answer.tokens: place for place, answer in enumerate(answers)}
    height = 0.66 if len(paths) == 1 else 0.36
    shifts = (0.0,) if len(paths) == 1 else (-0.2, 0.2)
    for path, look, shift in zip(paths, LOOKS, shifts, strict=False):
        pieces = [piece for piece in path.pieces if piece.tokens in lane]
        axes.barh(
            [lane[piece.tokens] + shift for piece in pieces],
            [piece.upper - piece.lower for piece in pieces],
            height,
            [piece.lower for piece in pieces],
            **{"color": look.color, "alpha": 0.55, "edgecolor": look.color, "linewidth": 0.8, "hatch": look.hatch},
            label=OVER[path.over],
        )
        at = {scale: lane[tokens] + shift for scale, tokens in on_grid(path, grid).items() if tokens in lane}
        mark = {"color": "white", "markeredgecolor": BLACK, "markersize": 5.5, "clip_on": False, "zorder": 4}
        if at:
            label = f"grid, {SHORT[path.over]}"
            axes.plot([*at], [*at.values()], look.marker, linestyle="none", label=label, **mark)
        for low, high in _open(path):
            hatched_span(axes, low, high, zorder=3, alpha=0.8)
    texts = told_apart([answer.text for answer in answers], _LABEL)
    notes = {} if len(paths) == 1 else _only(paths)
    for answer, text in zip(answers, texts, strict=True):
        note = notes.get(answer.tokens, "")
        shown = shown_word(text, _LABEL + 4) + (f"  ({note})" if note else "")
        beside: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center"}
        axes.annotate(shown, (1, lane[answer.tokens]), (8, 0), parse_math=False, **beside)
    axes.set_yticks(range(len(answers)), [str(answer.number) for answer in answers])
    axes.set_ylim(max(len(answers), 1) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    axes.set_ylabel("answer")


def _open(path: ScalePath) -> list[tuple[float, float]]:
    """Return the scales of a path at which nothing is known, where they are wide enough to be seen."""
    wide = [point for point in path.breakpoints if point.relative_width > VISIBLE]
    return [(part.lower, part.upper) for part in (*path.unexplored, *wide)]


def _only(paths: Sequence[ScalePath]) -> dict[tuple[int, ...], str]:
    """Return which answers one path alone gives, where that is proved."""
    by_over = {path.over: path for path in paths}
    reach = compare_reach(by_over["temperature"], by_over["reward-scale"])
    only = {output.tokens: "RWS only" for output in reach.only_reward_scale}
    return only | {output.tokens: "temperature only" for output in reach.only_temperature}


def _line(axes: Axes, paths: Sequence[ScalePath], label: str, value: Value) -> None:
    for path, look in zip(paths, LOOKS, strict=False):
        spans = [(piece.lower, piece.upper) for piece in path.pieces]
        axes.plot(*along(spans, map(value, path.pieces)), color=look.color, linestyle=look.dash, label=OVER[path.over])
        for low, high in _open(path):
            hatched_span(axes, low, high, zorder=0)
    axes.axvline(1, color=GREY, linewidth=0.8, linestyle=":")
    axes.margins(y=0.12)
    axes.set_ylabel(label)


def _scales(panels: Sequence[Axes], paths: Sequence[ScalePath], grid: Sequence[float] | None) -> None:
    low, high = min(path.scale_min for path in paths), max(path.scale_max for path in paths)
    label = OVER[paths[0].over] if len(paths) == 1 else "scale: factor c of temperature, reward scale s_R of RWS"
    scale_axis(panels[-1], low, high, label)
    for panel in panels[:-1]:
        scale_axis(panel, low, high, "")
        panel.tick_params(labelbottom=False)
    if grid:
        points = sorted(scale for scale in grid if low <= scale <= high)
        for panel in panels:
            panel.set_xticks(points, [number(scale) for scale in points])
