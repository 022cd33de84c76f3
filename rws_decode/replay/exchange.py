"""How far a model's predictions are from those of one joint law: two positions drawn in either order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rws_decode.predictors.base import MaskPredictor
from rws_decode.replay.path_diagnostics import canvas_with_masks, log_probabilities
from rws_theory.checks import finite

__all__ = ["exchange_distance"]

_CANVASES = 64  # of one forward


def exchange_distance(
    predictor: MaskPredictor, canvas: Sequence[int], first: int, second: int, left_out: float = 0.0
) -> tuple[float, float]:
    r"""Bound the total variation between drawing one masked position before another and after it, between 0 and 1.

    A token of each position is drawn: q_i(u) q_j(v | u) in one order, q_j(v) q_i(u | v) in the other. The distance of
    the two laws is 0 on every canvas exactly if the model's conditionals are those of one joint law (docs/theory.md,
    eq. (T67)). One that is positive beyond rounding proves that none has them.

    Every token that is drawn first costs a canvas of a forward. With `left_out` above 0 the least likely tokens of each
    position, of at most that probability together, are not asked for. The result is (lower, upper). They differ by at
    most twice what is left out, and without `left_out` by rounding only. `circulation` asks the same of one token each.

    canvas : ids of prompt and answer, masks where nothing stands. first, second : columns that are masked, from 0.
    left_out : a probability below 1/2. ValueError for other values.

    >>> from rws_decode.testing import exact_predictor
    >>> from rws_theory.worlds.joint_table import JointTable
    >>> predictor = exact_predictor(JointTable(np.log([[3.0, 1.0], [1.0, 5.0]])))
    >>> max(exchange_distance(predictor, [2, 2], 0, 1)) < 1e-12
    True
    """
    row = canvas_with_masks(predictor, canvas, {"first": first, "second": second})
    finite("left_out", left_out, least=0, below=0.5)
    one, other = np.exp(log_probabilities(predictor, [row], [(0, first), (0, second)]).numpy())
    ours, theirs = _likely(one, left_out), _likely(other, left_out)
    ahead = one[ours, None] * _after(predictor, row, first, second, ours)
    behind = other[theirs, None] * _after(predictor, row, second, first, theirs)
    inside = float(np.abs(ahead[:, theirs] - behind[:, ours].T).sum())
    # Of each law: what is known outside the pairs asked for in both orders, and what is not known at all. The latter
    # may lie where the other law is known, or where neither is: the lower bound takes the nearest place.
    known = [float(np.delete(law, asked, axis=1).sum()) for law, asked in ((ahead, theirs), (behind, ours))]
    unknown = [float(np.delete(law, asked).sum()) for law, asked in ((one, ours), (other, theirs))]
    apart = [max(0.0, known[0] - unknown[1]), max(0.0, known[1] - unknown[0])]
    lower = max(sum(apart), abs(known[0] + unknown[0] - known[1] - unknown[1]))
    return (inside + lower) / 2, (inside + sum(known) + sum(unknown)) / 2


def _likely(law: NDArray[np.float64], left_out: float) -> NDArray[np.int64]:
    """Return the tokens of positive probability without the least likely, of at most `left_out` together."""
    order = np.argsort(law, kind="stable")
    rest = int(np.searchsorted(np.cumsum(law[order]), left_out, side="right")) if left_out else 0
    return np.array([token for token in order[rest:] if law[token] > 0])


def _after(
    predictor: MaskPredictor, canvas: Sequence[int], shown: int, asked: int, tokens: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the probabilities of one column, [tokens, vocabulary], after each of these tokens in another."""
    rows = []
    for some in np.array_split(tokens, -(-len(tokens) // _CANVASES)):
        canvases = [[*canvas[:shown], int(token), *canvas[shown + 1 :]] for token in some]
        at = [(index, asked) for index in range(len(some))]
        rows.append(np.exp(log_probabilities(predictor, canvases, at).numpy()))
    return np.concatenate(rows)
