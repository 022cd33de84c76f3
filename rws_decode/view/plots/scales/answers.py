"""The answers of one or two scale paths: a number for each, what its text is, what goes along, and what is said."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from rws_decode.scales.path import Over, ScalePath, ScalePiece
from rws_decode.view.sentences import count, joined, number, stretches

Value = Callable[[ScalePiece], float]
_NAMED = 12  # answers that a sentence names

# What a scale is called on an axis, and in a sentence.
OVER: Mapping[Over, str] = {"temperature": "temperature: factor c", "reward-scale": "RWS: reward scale s_R"}
SHORT: Mapping[Over, str] = {"temperature": "temperature", "reward-scale": "RWS"}


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
    """Return texts short enough for labels, each from a word before it parts with the most similar other one.

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
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def lines_of(paths: Sequence[ScalePath], others: Mapping[str, Value] | None, god: bool) -> dict[str, Value]:
    """Return what is drawn against the scale, by the label of its axis: what is known, the others, the order.

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
    """Say how many answers each path gives, what is proved, and what a grid misses; so many answers are drawn."""
    sentences = []
    for path in paths:
        axis, given = path.over.replace("-", " "), path.answers
        ends = f"from {number(path.scale_min)} to {number(path.scale_max)}"
        gives = "the same answer" if len(given) == 1 else f"one of {len(given)} answers"
        pieces = f"in {count(len(path.pieces), 'piece')}"
        sentences.append(
            f"Every {axis} {ends} gives {gives}, {pieces}; this is proved."
            if path.certified
            else f"The {axis} {ends} gives {count(len(given), 'answer')} or more, {pieces}; what is hatched is open."
        )
        if grid:
            at = on_grid(path, grid)
            missed = [str(answer.number) for answer in answers if answer.tokens in given.keys() - set(at.values())]
            named = f"misses answer{'s' if len(missed) > 1 else ''} {joined(missed, _NAMED)}"
            sentences.append(f"The grid of {count(len(at), 'scale')} {named if missed else 'gives all of these'}.")
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
        over = f"Over the {path.over.replace('-', ' ')}, the {name} lies {spread}{known}"
        sentences.append(f"{over}; it is highest at scales from {where}.")
    return sentences
