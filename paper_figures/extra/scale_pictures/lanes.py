"""A scale path as lanes, one for each answer, what goes with the answers along the axis, and what is said of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rws_decode.common.palette import BLACK, GREY, LOOKS
from rws_decode.extra.scale_paths.marks import VISIBLE, hatched_span, stretches
from rws_decode.extra.scale_paths.path import Over, ScalePath, ScalePiece
from rws_decode.extra.scale_paths.reach import compare_reach
from rws_decode.view.plots.axes import scale_axis, shown_word
from rws_decode.view.plots.sheet import Panels, drawn, finished, legend, panels_of
from rws_decode.view.sentences import count, joined, number

__all__ = ["reward_against_scale", "scale_path"]

_MOST_LANES = 24
_LABEL = 40  # characters of an answer's text
_LANE = 0.36  # inches
_NAMED = 12  # answers that a sentence names
Value = Callable[[ScalePiece], float]

# What a scale is called on an axis, and in a sentence.
OVER: Mapping[Over, str] = {"temperature": "fixed factor of all logits", "reward-scale": "RWS: reward scale s_R"}
SHORT: Mapping[Over, str] = {"temperature": "temperature", "reward-scale": "RWS"}
AXIS: Mapping[Over, str] = {"temperature": "factor", "reward-scale": "reward scale"}


@drawn
def scale_path(
    paths: ScalePath | Sequence[ScalePath],
    grid: Sequence[float] | None = None,
    *,
    axes: Panels = None,
) -> Figure:
    """Draw at which scales each answer is given: a lane for each answer, and a bar where those scales give it.

    Across: the scale, a factor c of all logits or the reward scale s_R, logarithmic. Lanes are numbered in the order of
    their scales, and have the answer's text beside them, from where it differs from others. Two paths, over the
    temperature and over the reward scale, are shown together, with a note where only one of them gives an answer.
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
    """Draw what the answer at each scale is worth: level over each proved segment of the axis.

    Across: the temperature's factor c, or the reward scale s_R, or both where two paths are given, logarithmic. A line
    is broken where its path is unexplored. The dotted line is at 1, where a temperature is confidence decoding. The
    panels, from above: the reward [SD] and the log-probability [nats] of the answers, where a path knows them.

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
    return finished(figure, axes, *of_line(both, *next(iter(lines.items()))), "The dotted line is at 1.")


def _check(paths: Sequence[ScalePath], grid: Sequence[float] | None) -> None:
    low, high = min(path.scale_min for path in paths), max(path.scale_max for path in paths)
    if outside := [scale for scale in grid or () if not low <= scale <= high]:
        raise ValueError(f"grid holds {outside[0]:g}, outside of {low:g} to {high:g}, the scales of the paths")


@dataclass(frozen=True)
class Answer:
    """An answer of one or more paths: its number, from 1, tokens and text, and its share of each path in log scale."""

    number: int
    tokens: tuple[int, ...]
    text: str
    shares: tuple[float, ...]


def as_paths(paths: ScalePath | Sequence[ScalePath]) -> tuple[ScalePath, ...]:
    """Return one path or two over different axes; ValueError for others."""
    several = (paths,) if isinstance(paths, ScalePath) else tuple(paths)
    if len(several) not in (1, 2) or len({path.over for path in several}) < len(several):
        over = " and ".join(path.over for path in several) or "nothing"
        raise ValueError(f"paths are over {over}: one path is needed, or one over each of {' and '.join(OVER)}")
    return several


def answers_of(paths: Sequence[ScalePath]) -> list[Answer]:
    """Return every answer of the paths, by its tokens, in the order of their scales, those of the first path first."""
    answers: list[Answer] = []
    for tokens in dict.fromkeys(tokens for path in paths for tokens in path.answers):
        pieces = [path.answers.get(tokens, []) for path in paths]
        text = next(piece.text for of_path in pieces for piece in of_path)
        shares = tuple(_share(path, of_path) for path, of_path in zip(paths, pieces, strict=True))
        answers.append(Answer(len(answers) + 1, tokens, " ".join(map(str, tokens)) if text is None else text, shares))
    return answers


def _share(path: ScalePath, pieces: Sequence[ScalePiece]) -> float:
    whole = math.log(path.scale_max / path.scale_min)
    return sum(math.log(piece.upper / piece.lower) for piece in pieces) / whole if whole else float(bool(pieces))


def on_grid(path: ScalePath, grid: Sequence[float]) -> dict[float, tuple[int, ...] | None]:
    """Return the answer's tokens at each point of a grid that the path covers, None where it is unexplored."""
    found = {scale: path.at(scale) for scale in grid if path.scale_min <= scale <= path.scale_max}
    return {scale: None if piece is None else piece.tokens for scale, piece in found.items()}


def along(spans: Iterable[tuple[float, float]], heights: Iterable[float]) -> tuple[list[float], list[float]]:
    """Return scales and heights of a line that is level over each span, broken where a span begins after the last.

    >>> along([(1.0, 2.0), (2.0, 4.0)], [5.0, 6.0])
    ([1.0, 2.0, 2.0, 4.0], [5.0, 5.0, 6.0, 6.0])
    """
    scales: list[float] = []
    line: list[float] = []
    for (low, high), height in zip(spans, heights, strict=True):
        if scales and scales[-1] != low:
            scales, line = [*scales, math.nan], [*line, math.nan]
        scales, line = [*scales, low, high], [*line, height, height]
    return scales, line


def told_apart(texts: Sequence[str], longest: int) -> list[str]:
    """Return texts short enough for labels, each from a word before it differs from the most similar other one.

    >>> told_apart(["the cat sat there", "the cat ran away", "a dog"], 12)
    ['… cat sat…', '… cat ran…', 'a dog']
    """
    words = [text.split() for text in texts]
    begins = []
    for place, row in enumerate(words):
        others = (other for index, other in enumerate(words) if index != place)
        begins.append(max(0, max((_shared(row, other) for other in others), default=0) - 1))
    while True:
        labels = [_label(row, begin, longest) for row, begin in zip(words, begins, strict=True)]
        alike = [place for place, label in enumerate(labels) if labels.count(label) > 1 and begins[place]]
        if not alike:
            return labels
        for place in alike:
            begins[place] -= 1


def _label(words: Sequence[str], begin: int, longest: int) -> str:
    label = ("… " if begin else "") + " ".join(words[begin:])
    return label if len(label) <= longest else label[: longest - 1].rsplit(" ", 1)[0].rstrip(" .,;") + "…"


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """Return with how many equal words two texts begin."""
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def lines_of(paths: Sequence[ScalePath], others: Mapping[str, Value] | None, god: bool) -> dict[str, Value]:
    """Return what is plotted against the scale, by the label of its axis: what is known, the others, the order.

    An answer whose reward or log-probability one path knows is known in the other. ValueError where nothing is left.
    """
    pieces = [piece for path in paths for piece in path.pieces]
    rewards = {piece.tokens: piece.final_reward.normalised for piece in pieces if piece.final_reward is not None}
    known = {piece.tokens: piece.log_prob for piece in pieces if piece.log_prob is not None}
    lines: dict[str, Value] = {}
    if rewards:
        lines["reward\n[deviations]"] = lambda piece: rewards.get(piece.tokens, math.nan)
    if known:
        lines["log-probability\n[nats]"] = lambda piece: known.get(piece.tokens, math.nan)
    lines |= dict(others or {})
    lines |= {"GOD [steps]": lambda piece: piece.god_steps} if god else {}
    if not lines:
        raise ValueError("paths hold no rewards: make them by scale_path(..., reward=...), with a reward model")
    return lines


def of_answers(
    paths: Sequence[ScalePath], answers: Sequence[Answer], shown: int, grid: Sequence[float] | None
) -> list[str]:
    """Say how many answers each path gives, what is proved, and what a grid misses. shown: how many have a lane."""
    sentences = []
    for path in paths:
        axis, given = AXIS[path.over], path.answers
        ends = f"from {number(path.scale_min)} to {number(path.scale_max)}"
        gives = "the same answer" if len(given) == 1 else f"one of {len(given)} answers"
        pieces = f"in {count(len(path.pieces), 'piece')}"
        sentences.append(
            f"Every {axis} {ends} gives {gives}, {pieces}; this is proved."
            if path.certified
            else f"The {axis} {ends} gives {count(len(given), 'answer')} or more, {pieces}; what is hatched is open."
        )
        if grid:
            lanes = on_grid(path, grid)
            missed = [str(answer.number) for answer in answers if answer.tokens in given.keys() - set(lanes.values())]
            named = f"misses answer{'s' if len(missed) > 1 else ''} {joined(missed, _NAMED)}"
            sentences.append(f"The grid of {count(len(lanes), 'scale')} {named if missed else 'gives all of these'}.")
    if shown < len(answers):
        sentences.append(f"The {shown} answers with the largest shares of the axis are drawn.")
    return sentences


def of_line(paths: Sequence[ScalePath], label: str, value: Value) -> list[str]:
    """Say between what a value lies along each path, and at which scales it is highest."""
    sentences = []
    for path in paths:
        heights = [float(value(piece)) for piece in path.pieces]
        finite = [height for height in heights if math.isfinite(height)]
        if not finite:
            continue
        best = [piece for piece, height in zip(path.pieces, heights, strict=True) if height == max(finite)]
        highest = stretches((piece.lower, piece.upper) for piece in best)
        known = "" if len(finite) == len(heights) else ", where it is known"
        where = joined([f"{number(low)} to {number(high)}" for low, high in highest], 4)
        spread = f"from {min(finite):.2f} to {max(finite):.2f}".replace("-", "\u2212")
        name = label.split("[")[0].strip()
        over = f"Over the {AXIS[path.over]}, the {name} lies {spread}{known}"
        sentences.append(f"{over}; it is highest from {where}.")
    return sentences


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
        heights = {scale: lane[tokens] + shift for scale, tokens in on_grid(path, grid).items() if tokens in lane}
        mark = {"color": "white", "markeredgecolor": BLACK, "markersize": 5.5, "clip_on": False, "zorder": 4}
        if heights:
            label = f"grid, {SHORT[path.over]}"
            axes.plot([*heights], [*heights.values()], look.marker, linestyle="none", label=label, **mark)
        for low, high in _open(path):
            hatched_span(axes, low, high, zorder=3, alpha=0.8)
    texts = told_apart([answer.text for answer in answers], _LABEL)
    notes = {} if len(paths) == 1 else _only(paths)
    for answer, text in zip(answers, texts, strict=True):
        note = notes.get(answer.tokens, "")
        shown = shown_word(text, _LABEL + 4) + (f"  ({note})" if note else "")
        style: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center"}
        axes.annotate(shown, (1, lane[answer.tokens]), (8, 0), parse_math=False, **style)
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
    label = OVER[paths[0].over] if len(paths) == 1 else "fixed factor of all logits, or reward scale s_R of RWS"
    scale_axis(panels[-1], low, high, label)
    for panel in panels[:-1]:
        scale_axis(panel, low, high, "")
        panel.tick_params(labelbottom=False)
    if grid:
        points = sorted(scale for scale in grid if low <= scale <= high)
        for panel in panels:
            panel.set_xticks(points, [number(scale) for scale in points])
