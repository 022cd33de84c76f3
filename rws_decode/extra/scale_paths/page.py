"""The page of a scale path: a slider over the scale, with the answer proved at each."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from html import escape
from typing import Any

from rws_decode.common.page import Page
from rws_decode.extra.pages.faces import known_columns
from rws_decode.extra.pages.template import WordTable, line_of, page_of, rounded
from rws_decode.extra.scale_paths.marks import stretches
from rws_decode.extra.scale_paths.path import ScalePath, ScalePiece, Unexplored
from rws_decode.view.sentences import count, joined, number
from rws_theory.printed import printed_in

# The scales that the paper tried.
PAPER_GRID: tuple[float, ...] = tuple(row["scale"] for row in printed_in("table8_temperature")["rows"])

_SCRIPTS = ("lines.js", "axis.js", "words.js", "scale_path.js")
_NAMED = 5  # missed answers that are named
_SYMBOLS = {"temperature": "c", "reward-scale": "s_R"}


def scale_path_page(path: ScalePath, grid: Sequence[float] | None = None) -> Page:
    """Return a page on which the scale is dragged along a path: answer, commit order, reward and log-probability.

    The page shows the proved pieces of the path, and that nothing is proved between them. Words are marked that are not
    those of the answer at scale 1, or at the least scale if 1 is not in the range. Rewards and log-probabilities are
    shown if the path has them.

    grid: scales that are marked, by default the paper's; the page says which answers none of them gives. ValueError for
    a scale that is not positive, and for a path without a single piece.

    >>> import torch
    >>> from rws_decode import CallablePredictor, Shape, scale_path
    >>> table = torch.tensor([[0.0, 1.1, 0.6, 0.3], [0.0, 1.0, 0.4, 0.4]], dtype=torch.float64)
    >>> predictor = CallablePredictor(lambda canvas: table.expand(len(canvas), -1, -1), mask_id=0)
    >>> path = scale_path(predictor, [], 0.01, 32.0, Shape(length=2, steps=2, block=2))
    >>> "2 pieces, one answer" in scale_path_page(path).html
    True
    """
    grid = PAPER_GRID if grid is None else tuple(grid)
    if bad := [scale for scale in grid if not (isinstance(scale, int | float) and 0 < scale < math.inf)]:
        raise ValueError(f"grid holds {bad[0]!r}: positive numbers are needed, such as grid=(1, 2, 4, 8)")
    if not path.pieces:
        raise ValueError("path has no piece: nothing was proved in its range, so there is nothing to show")
    answers, table = list(path.answers), WordTable()
    reference = _proved_at(path, 1.0) or path.pieces[0]
    on_grid = {piece.tokens for scale in grid if (piece := _proved_at(path, scale)) is not None}
    parts = sorted([*path.pieces, *path.unexplored], key=lambda part: part.lower)
    data = {
        "symbol": _SYMBOLS[path.over],
        "low": path.scale_min,
        "high": path.scale_max,
        "reference": answers.index(reference.tokens),
        "reference_commit": list(reference.commit_step),
        "row": line_of(path.prompt_text, len(reference.tokens)),
        "answers": [
            _answer(pieces[0], path.spelling, tokens in on_grid, table) for tokens, pieces in path.answers.items()
        ],
        "parts": [_part(part, path, answers, reference, on_grid) for part in parts],
        "grid": [scale for scale in grid if path.scale_min <= scale <= path.scale_max],
        **table.data(),
    }
    named = "any fixed factor c" if path.over == "temperature" else "any reward scale"
    named += "" if path.threshold is None else f" at threshold {number(path.threshold)}"
    title = f"Every answer that {named} gives, from {number(path.scale_min)} to {number(path.scale_max)}"
    found = "one answer" if len(answers) == 1 else f"{len(answers)} different answers"
    proof = "every breakpoint is proved" if path.certified else "not every scale is proved"
    if path.unexplored:
        proof += f", and the budget left {count(len(path.unexplored), 'interval')} unexplored"
    text = f"{count(len(path.pieces), 'piece')}, {found}; {proof}. {_missed(path, grid, on_grid)}"
    prompt = path.prompt_text
    return page_of(
        "scale_path.html",
        title=title,
        plain=text,
        scripts=_SCRIPTS,
        data=data,
        prompt=f'<p class="prompt" role="note" aria-label="the prompt">{escape(prompt)}</p>' if prompt else "",
        symbol=_SYMBOLS[path.over],
    )


def table_of(path: ScalePath) -> str:
    """Return the answers of a path as a table of HTML, with the scales that give each."""
    rows = []
    for row, (tokens, pieces) in enumerate(path.answers.items(), start=1):
        first = pieces[0]
        orders = sorted({round(piece.god_steps, 2) for piece in pieces})
        rows.append(
            [
                str(row),
                ", ".join(f"{piece.lower:.4g} to {piece.upper:.4g}" for piece in pieces),
                "" if first.final_reward is None else f"{first.final_reward.raw:.3g}",
                "" if first.log_prob is None else f"{first.log_prob:.2f}",
                " to ".join(f"{order:g}" for order in dict.fromkeys((orders[0], orders[-1]))),
                str(list(tokens)) if first.text is None else first.text,
            ]
        )
    return known_columns(["", "scales", "reward", "log p", "GOD [steps]", "text"], rows, repr(path))


def _proved_at(path: ScalePath, scale: float) -> ScalePiece | None:
    """Return the piece that is proved at a scale, None where none is."""
    if not path.scale_min <= scale <= path.scale_max:
        return None
    return None if any(point.lower <= scale <= point.upper for point in path.breakpoints) else path.at(scale)


def _answer(piece: ScalePiece, spelling: dict[str, str], on_grid: bool, table: WordTable) -> dict[str, Any]:
    words = [spelling.get(str(token), str(token)) for token in piece.tokens]
    return {
        "words": [table[word] for word in words],
        "text": " ".join(words) if piece.text is None else piece.text,
        "missed": not on_grid,
        "reward": None if piece.final_reward is None else rounded(piece.final_reward.normalised),
        "log_prob": None if piece.log_prob is None else rounded(piece.log_prob),
        "rules": None if piece.rules_broken is None else len(piece.rules_broken),
    }


def _part(
    part: ScalePiece | Unexplored,
    path: ScalePath,
    answers: list[tuple[int, ...]],
    reference: ScalePiece,
    on_grid: set[tuple[int, ...]],
) -> dict[str, Any]:
    # The scales between the breakpoints' intervals at the two ends of the part.
    low = max([part.lower, *(each.upper for each in path.breakpoints if each.lower <= part.lower <= each.upper)])
    high = min([part.upper, *(each.lower for each in path.breakpoints if each.lower <= part.upper <= each.upper)])
    data: dict[str, Any] = {"lower": part.lower, "upper": part.upper, "proved": [low, high]}
    between = f"{_SYMBOLS[path.over]} from {number(low, 6)} to {number(high, 6)}"
    if isinstance(part, Unexplored):
        sentence = f"Unexplored for {between}: the budget left these scales out."
        return data | {"answer": None, "commit": None, "god": None, "sentence": sentence}
    answer = answers.index(part.tokens)
    facts = [f"Answer {answer + 1} of {len(answers)}, proved for {between}"]
    if part.final_reward is not None:
        facts.append(f"normalised reward of the text {number(part.final_reward.normalised, 3)}")
    if part.log_prob is not None:
        facts.append(f"log-probability {number(part.log_prob)} nats")
    if part.rules_broken is not None:
        facts.append(f"rules broken: {len(part.rules_broken)}")
    facts.append(f"generation order deviation (GOD) {number(part.god_steps, 3)} steps")
    sentence = "; ".join(facts) + "."
    unlike = sum(word != other for word, other in zip(part.tokens, reference.tokens, strict=True))
    if unlike:
        verb = "is" if unlike == 1 else "are"
        sentence += f" {count(unlike, 'word')} {verb} not those of answer {answers.index(reference.tokens) + 1}."
    if part.tokens not in on_grid:
        sentence += " No scale of the grid gives it."
    commits = {"answer": answer, "commit": list(part.commit_step), "god": rounded(part.god_steps)}
    return data | commits | {"sentence": sentence}


def _missed(path: ScalePath, grid: Sequence[float], on_grid: Set[tuple[int, ...]]) -> str:
    """Say which answers no scale of the grid gives, and where they lie."""
    scales = [number(scale) for scale in grid if path.scale_min <= scale <= path.scale_max]
    name = "The paper's grid" if grid == PAPER_GRID else "The grid"
    if not scales:
        return f"{name} has no scale in this range."
    subject = f"{name} ({joined(scales, 12)})"
    noun = "known answer" if path.unexplored else "answer"
    missed = []
    for place, (tokens, pieces) in enumerate(path.answers.items(), start=1):
        if tokens not in on_grid:
            spans = stretches((piece.lower, piece.upper) for piece in pieces)
            between = joined([f"{number(low)} to {number(high)}" for low, high in spans], 3)
            missed.append(f"answer {place}, at {_SYMBOLS[path.over]} from {between}")
    if not missed:
        return f"{subject} gives every {noun}."
    more = [f"and {len(missed) - _NAMED} more"] if len(missed) > _NAMED else []
    named = "; ".join([*missed[:_NAMED], *more])
    return f"{subject} misses {len(missed)} of {count(len(path.answers), noun)}: {named}."
