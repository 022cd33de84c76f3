"""What goes along with the answers of a scale path, and the sentences about it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rws_decode.scales.path import ScalePath, ScalePiece
from rws_decode.view.plots.scales.answers import Answer, Value, on_grid
from rws_decode.view.sentences import count, joined, number
from rws_decode.view.spans import stretches

_NAMED = 12  # answers that a sentence names


def lines_of(
    paths: Sequence[ScalePath],
    *,
    reward: bool | None,
    log_prob: bool | None,
    others: Mapping[str, Value] | None = None,
    god: bool = False,
) -> dict[str, Value]:
    """Return what is drawn against the scale, by the label of its axis.

    reward, log_prob: whether that of the answers is; None for where it is known. An answer that one path knows it of is
    known of in the other. ValueError for a reward that is asked for and not known, and where None leaves nothing.
    """
    pieces = [piece for path in paths for piece in path.pieces]
    rewards = {piece.tokens: piece.final_reward.normalised for piece in pieces if piece.final_reward is not None}
    known = {piece.tokens: piece.log_prob for piece in pieces if piece.log_prob is not None}
    lines: dict[str, Value] = {}
    if reward or (reward is None and rewards):
        lines["reward\n[deviations]"] = lambda piece: rewards.get(piece.tokens, math.nan)
    if log_prob or (log_prob is None and known):
        lines["log-probability\n[nats]"] = lambda piece: known.get(piece.tokens, math.nan)
    lines |= dict(others or {})
    lines |= {"GOD [steps]": _god} if god else {}
    if (reward and not rewards) or (reward is None and not lines):
        raise ValueError("paths hold no rewards: make them by scale_path(..., reward=...), with a reward model")
    return lines


def _god(piece: ScalePiece) -> float:
    return piece.god_steps


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
