"""Runs that mask committed tokens again: which commits last, and what stands on the canvas meanwhile."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def last_commits(chosen: NDArray[np.bool_], again: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return a run's commit steps, int64 [n], the last of each position, and which commits a later step undid.

    chosen, again: bool [R, n], the positions that each step committed and masked again. The first is -1 where a
    position is masked at the end; the second, bool [R, n], is true after each step where such a token stands.

    >>> chosen = np.array([[True, False], [False, True], [True, False]])
    >>> last_commits(chosen, np.array([[False, False], [True, False], [False, False]]))
    (array([2, 1]), array([[ True, False],
           [False, False],
           [False, False]]))
    """
    step = np.arange(len(chosen))[:, None]
    stands = (chosen.astype(np.int64) - again).cumsum(axis=0) > 0
    commit_step = np.where(stands[-1:].any(axis=0), np.where(chosen, step, -1).max(axis=0, initial=-1), -1)
    return commit_step, stands & ((commit_step < 0) | (step < commit_step))


def standing(
    candidate: NDArray[np.int64], chosen: NDArray[np.bool_], masked: NDArray[np.bool_], mask_id: int
) -> NDArray[np.int64]:
    """Return the answer before each step of a run, int64 [R, n]: the token of the latest commit, or the mask.

    All arguments but the mask id: [R, n], of the steps; masked: before each step.

    >>> chosen = np.array([[True, False], [False, True], [True, False]])
    >>> standing(np.array([[5, 6], [5, 6], [7, 6]]), chosen, np.array([[1, 1], [0, 1], [1, 0]], dtype=bool), 9).tolist()
    [[9, 9], [5, 9], [9, 6]]
    """
    latest = np.maximum.accumulate(np.where(chosen, np.arange(len(chosen))[:, None], 0), axis=0)
    tokens = np.take_along_axis(candidate, latest, axis=0)
    return np.where(masked, mask_id, tokens)
