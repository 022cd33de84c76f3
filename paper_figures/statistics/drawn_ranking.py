"""Bound the probability of a text under a sampler that ranks the tokens that it drew."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rws_theory.worlds.joint_table import MASK


def drawn_ranking_log_prob(
    conditionals: Callable[[list[NDArray[np.int64]]], list[NDArray[np.float64]]],
    tokens: NDArray[np.int64],
    commit_step: NDArray[np.int64],
    scale: float = 1.0,
) -> float:
    r"""Return sum_t log P(step t commits only words of the text), nats, along the path that a decode took.

    Each step samples a word for every mask, ranks all by their probability under softmax(c z), c the scale; it commits
    the first, the leftmost of equals. Its q sums over the paths that lead to a text. The mean over decodes of this
    number minus log p is at least KL(q || p) (docs/theory.md, T89).

    conditionals: canvases with -1 where masked -> log-probabilities [n, V] each. tokens, commit_step: [n], of a decode.

    >>> fair = lambda canvases: [np.log(np.full((2, 2), 0.5)) for _ in canvases]
    >>> round(float(np.exp(drawn_ranking_log_prob(fair, np.array([0, 1]), np.array([0, 1])))), 6)
    0.25
    """
    steps = np.unique(commit_step)
    canvases = [np.where(commit_step < step, tokens, MASK) for step in steps]
    total = 0.0
    for step, canvas, log_p in zip(steps, canvases, conditionals(canvases), strict=True):
        masked = np.flatnonzero(canvas == MASK)
        total += float(np.log(_all_of_text(log_p[masked], tokens[masked], int((commit_step == step).sum()), scale)))
    return total


def _all_of_text(log_p: NDArray[np.float64], words: NDArray[np.int64], count: int, scale: float) -> float:
    """Return the probability that the `count` best ranked of m sampled words all are the text's. log_p: [m, V]."""
    value = scale * log_p
    value -= np.logaddexp.reduce(value, axis=1, keepdims=True)
    own = np.take_along_axis(value, words[:, None], 1)[:, 0]
    drawn = np.exp(np.take_along_axis(log_p, words[:, None], 1)[:, 0])
    # below[j, i]: the probability that the word sampled at j ranks behind the text's word at i.
    below = np.empty((len(words), len(words)))
    for j, row in enumerate(value):
        order = np.argsort(row)
        mass = np.concatenate([[0.0], np.cumsum(np.exp(log_p[j, order]))])
        before, upto = (mass[np.searchsorted(row[order], own, side)] for side in ("left", "right"))
        below[j] = np.where(j > np.arange(len(words)), upto, before)
    ranked = np.lexsort((np.arange(len(words)), -own))
    total = 0.0
    for rank in range(count - 1, len(words)):  # of the last one that is committed
        last = ranked[rank]
        # The power of z counts those ahead of it that are committed; the others drew what ranks behind.
        ways = np.ones(1)
        for j in ranked[:rank]:
            ways = np.convolve(ways, [float(below[j, last]), float(drawn[j])])
        total += ways[count - 1] * drawn[last] * np.prod(below[ranked[rank + 1 :], last])
    return min(total, 1.0)
