"""The answers of one or two scale paths: a number for each, what its text is, and who reaches it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from rws_decode.scales.path import Over, ScalePath, ScalePiece

Value = Callable[[ScalePiece], float]

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
