"""The page of a step's confidence curves: the scale dragged, ranks that reverse, the chosen set that changes.

Needs: diff pages
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rws_decode.common.page import Page
from rws_decode.extra.pages.template import page_of, rounded
from rws_decode.replay.step_logits import StepLogits
from rws_decode.view.sentences import at_position, count, joined, number
from rws_theory.confidence import log_odds
from rws_theory.crossings import crossings
from rws_theory.selection import SelectionPath, selection_path

_SCRIPTS = ("lines.js", "axis.js", "curves.js")
_NAMED = 6  # positions that a sentence names

# How fine the curves are plotted, and how many crossings are certified: fewer where the vocabulary is large.
_SCALES, _PAIRS, _EXPONENTIALS, _GAPS = (61, 241), (8, 120), 2**28, 2**22


def curves_page(step: StepLogits, k: int | None = None, scale_min: float = 0.1, scale_max: float = 32.0) -> Page:
    """Return a page of the log-odds of each position that a step ranked, as functions of the factor of all logits.

    k: positions that are chosen, by default as many as the step chose. The chosen set at each scale is that of the
    segments that :func:`rws_theory.selection_path` proves; curves are plotted on a fine grid. Where two of them change
    places on that grid, :func:`rws_theory.crossings` gives a certified interval, first for changes of the set; the
    page says how many pairs were left out. ValueError as in `selection_path`.

    >>> step = StepLogits(0, np.array([0, 1]), np.array([[1.1, 0.6, 0.3], [1.0, 0.4, 0.4]]), np.array([0, 0]),
    ...                   ("a", "b"), np.array([True, False]), 1.0)
    >>> "4.81212" in curves_page(step).html
    True
    """
    k = int(step.chosen.sum()) if k is None else k
    path = selection_path(step.logits, k, scale_min, scale_max)
    ordered = np.sort(step.logits, axis=1)
    fineness = int(np.clip(_EXPONENTIALS / ordered.size, *_SCALES))
    scales = np.geomspace(scale_min, scale_max, fineness)
    curves = np.stack([log_odds(ordered, float(scale)) for scale in scales], axis=1)
    swaps, left_out = _swaps(step, curves, path)
    title = f"The confidence curves of step {step.step}, counted from 0"
    summary = _summary(step, path, len(swaps), left_out)
    data = {
        "step": step.step,
        "k": k,
        "low": scale_min,
        "high": scale_max,
        "factor": rounded(step.factor) if scale_min <= step.factor <= scale_max else None,
        "positions": step.positions.tolist(),
        "words": list(step.words),
        "scales": scales.tolist(),
        "curves": [[rounded(value, 5) for value in row] for row in curves.tolist()],
        "pieces": _pieces(step, path),
        "crossings": swaps,
    }
    return page_of("curves.html", title=title, plain=summary, scripts=_SCRIPTS, data=data, last=str(fineness - 1))


def _pieces(step: StepLogits, path: SelectionPath) -> list[dict[str, Any]]:
    """Return the proved segments, each with its ends outside all brackets and what it says in words."""
    pieces = []
    for piece in path.pieces:
        low = max([piece.lower, *(b.upper for b in path.brackets if b.lower <= piece.lower <= b.upper)])
        high = min([piece.upper, *(b.lower for b in path.brackets if b.lower <= piece.upper <= b.upper)])
        named = joined([_placed(step, place) for place in piece.selected], _NAMED)
        most = "most confident" if path.k == 1 else f"{path.k} most confident"
        sentence = (
            f"Proved for c from {number(low, 6)} to {number(high, 6)}: the {most} of "
            f"{count(len(step.positions), 'position')} {'is' if path.k == 1 else 'are'} {named or 'none'}."
        )
        pieces.append(
            {"proved": [low, high], "chosen": list(piece.selected), "sentence": sentence, "upper": piece.upper}
        )
    return pieces


def _swaps(step: StepLogits, curves: NDArray[np.float64], path: SelectionPath) -> tuple[list[dict[str, Any]], int]:
    """Return the certified crossings of pairs that change places, by scale, and how many pairs were left out.

    Each with the log-odds there, and whether the chosen set changes (`cut`).
    """
    changing = set(_at_the_cut(path))
    pairs = list(dict.fromkeys([*_at_the_cut(path), *_changing_places(curves, path.k)]))
    most = int(np.clip(_GAPS / step.logits.shape[1], *_PAIRS))
    swaps = []
    for pair in pairs[:most]:
        first, second = step.logits[list(pair)]
        for crossing in crossings(first, second).crossings:
            lower, upper = crossing.lower, crossing.upper
            if path.pieces[0].lower < upper and lower < path.pieces[-1].upper:
                height = rounded(float(log_odds(first, crossing.root)), 5)
                cut = pair in changing and any(b.lower <= upper and lower <= b.upper for b in path.brackets)
                ends = {"lower": lower, "upper": upper, "height": height}
                swaps.append({"pair": list(pair), **ends, "cut": cut, "said": _between(step, pair, lower, upper)})
    return sorted(swaps, key=lambda swap: swap["lower"]), max(0, len(pairs) - most)


def _at_the_cut(path: SelectionPath) -> Iterator[tuple[int, int]]:
    """Yield the pairs of which one leaves the chosen set at a breakpoint and the other enters it."""
    for pieces in pairwise(path.pieces):
        before, after = (set(piece.selected) for piece in pieces)
        yield from ((min(pair), max(pair)) for pair in product(sorted(before - after), sorted(after - before)))


def _changing_places(curves: NDArray[np.float64], k: int) -> Iterator[tuple[int, int]]:
    """Yield the pairs that do not stand in the same order at all scales plotted, those nearest to the cut first."""
    rank = (-curves).argsort(axis=0, kind="stable").argsort(axis=0)
    nearest = np.abs(rank + 0.5 - k).min(axis=1)
    above = rank[:, None, :] < rank[None, :, :]
    first, second = np.nonzero(np.triu(above.any(axis=2) & ~above.all(axis=2), 1))
    for index in np.argsort(nearest[first] + nearest[second], kind="stable"):
        yield int(first[index]), int(second[index])


def _summary(step: StepLogits, path: SelectionPath, swaps: int, left_out: int) -> str:
    changes = sum(bracket.breakpoint for bracket in path.brackets)
    changed = f"changes {count(changes, 'time')}" if changes else "stays the same"
    factor = "" if math.isnan(step.factor) else f", whose factor was {number(step.factor)}"
    proof = "" if path.certified else " Not every scale is proved."
    rest = f"; {count(left_out, 'more pair')} changed places and {'was' if left_out == 1 else 'were'} not enclosed"
    return (
        f"Step {step.step}{factor}, ranked {count(len(step.positions), 'position')}. As the factor c goes from "
        f"{number(path.pieces[0].lower)} to {number(path.pieces[-1].upper)}, the chosen set {changed}."
        f"{proof} {count(swaps, 'crossing')} of two curves {'is' if swaps == 1 else 'are'} "
        f"enclosed{rest if left_out else ''}."
    )


def _between(step: StepLogits, pair: tuple[int, int], lower: float, upper: float) -> str:
    where = f"between {number(lower, 6)} and {number(upper, 6)}"
    if f"{lower:.6g}" == f"{upper:.6g}":
        where = f"at {number(lower, 6)}, enclosed to a relative width of {number((upper - lower) / upper, 1)}"
    return f"{_placed(step, pair[0])} and {_placed(step, pair[1])} cross {where}"


def _placed(step: StepLogits, place: int) -> str:
    return at_position(step.words[place], step.positions[place])
