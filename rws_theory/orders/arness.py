"""Kendall's tau, and the local and global AR-ness of masked diffusion decoding: how left-to-right a commit order is.

AR-ness@k is defined by S. Gong et al., "DiffuCoder: Understanding and Improving Masked Diffusion Models for Code
Generation" (arXiv 2506.20639, Section 4.1 and Appendix A.2), for one token per step. Each function says what it does
with several tokens in a step.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rws_theory.checks import one_of, whole
from rws_theory.orders.deviation import READINGS, Reading, check_commit_step

__all__ = ["global_arness", "global_arness_mean", "kendall_tau", "local_arness", "local_arness_mean"]


def kendall_tau(commit_step: ArrayLike) -> Any:
    """Return Kendall's tau-b between the commit steps and left to right: 1 for left to right, -1 for right to left.

    tau-b = (C - I) / sqrt((C + I) N), with C pairs of positions committed in order, I in reverse order, and N = n (n -
    1) / 2 pairs in all (M. G. Kendall, "The treatment of ties in ranking problems", Biometrika 33, 1945; computed by
    scipy.stats.kendalltau). Pairs committed in one step are ties, in neither C nor I. So with k tokens in each step
    left to right has tau-b = sqrt((n - k) / (n - 1)), which is below 1.

    commit_step: integers, shape (n,) or (batch, n), n >= 2: the step, from 0, at which each position was committed. The
    result is float64 in [-1, 1], within 2^-51 of itself, a scalar for shape (n,) and shape (batch,) for shape (batch,
    n). ValueError as in :func:`rws_theory.generation_order_deviation`, and for a row whose positions are all of one
    step (tau is 0 / 0).

    >>> float(kendall_tau([0, 1, 2, 3])), float(kendall_tau([3, 2, 1, 0])), round(float(kendall_tau([0, 0, 1, 1])), 4)
    (1.0, -1.0, 0.8165)
    """
    steps = check_commit_step(commit_step)
    if (steps.max(axis=-1) == steps.min(axis=-1)).any():
        raise ValueError("commit_step must have two different steps in every row, got a row with one only")
    left_to_right = np.arange(steps.shape[-1])
    rows = np.atleast_2d(steps)
    from scipy.stats import kendalltau  # takes a second to import, and this function alone needs it

    results: list[Any] = [kendalltau(left_to_right, row) for row in rows]
    tau = np.array([result.statistic for result in results])
    return tau.reshape(steps.shape[:-1])[()]


def local_arness(commit_step: ArrayLike, k: int = 1, reading: Reading = "tokens") -> Any:
    """Return local AR-ness@k: how often a committed token continues a run of k next tokens (Gong et al. 2025).

    Let p_1, ..., p_n be the positions in commit order. Token t scores where (p_{t-k}, ..., p_{t-1}, p_t) are k + 1
    consecutive positions in increasing order; at k = 1 that is next-token prediction. Non-increasing in k.

    - ``"tokens"``: the tokens of one step are taken from left to right, and the score is averaged over tokens.
    - ``"steps"``: a step scores where all of its tokens do, and the score is averaged over steps.

    Only tokens with k predecessors are averaged (steps all of whose tokens have them). So left to right has AR-ness 1,
    as the paper says; its formula divides by all T steps, the first k of which cannot score. With one token per step
    the readings agree.

    commit_step: integers, shape (n,) or (batch, n): the step, from 0, at which each position was committed. k: length
    of the run, 1 <= k < n. The result is float64 in [0, 1], the exact share rounded once, a scalar for shape (n,) and
    shape (batch,) for shape (batch, n). ValueError as in :func:`rws_theory.generation_order_deviation`, for k outside
    1..n-1, and in the "steps" reading for a row without a step after the first k tokens.

    >>> [float(local_arness([0, 1, 2, 4, 3, 5], k)) for k in (1, 2)]
    [0.4, 0.25]
    """
    steps = check_commit_step(commit_step)
    one_of("reading", reading, READINGS)
    n = steps.shape[-1]
    if whole("k", k) >= n:
        raise ValueError(f"k must be below the number of positions, {n}, got {k}")
    order = np.argsort(steps, kind="stable")
    follows = np.diff(order) == 1
    scores = np.lib.stride_tricks.sliding_window_view(follows, k, axis=-1).all(axis=-1)
    # Token k (from 0) is the first with k predecessors.
    return _average(scores, np.take_along_axis(steps, order, axis=-1), k, reading)


def global_arness(commit_step: ArrayLike, k: int = 1, reading: Reading = "tokens") -> Any:
    """Return global AR-ness@k: how often a committed token is among the k earliest still masked (Gong et al. 2025).

    Token t scores where its position is one of the k leftmost positions masked just before it. Non-decreasing in k, and
    1 for left to right.

    - ``"tokens"``: the tokens of one step are committed one after the other, from left to right. Each sees the mask
      without those before it. The score is averaged over tokens.
    - ``"steps"``: a step scores where all of its tokens do, and the score is averaged over steps. For m tokens that is
      where they all lie among the k + m - 1 leftmost positions masked before the step.

    Parameters, return value and errors are those of :func:`local_arness`, but k may be as large as one likes.

    >>> [float(global_arness([0, 1, 2, 4, 3, 5], k)) for k in (1, 2)]
    [0.8333333333333334, 1.0]
    """
    steps = check_commit_step(commit_step)
    one_of("reading", reading, READINGS)
    whole("k", k)
    order = np.argsort(steps, kind="stable")
    rank = np.argsort(order)  # when each position is committed, as a token
    # Masked positions to the left of a token as it is committed: those further left that are committed later.
    n = steps.shape[-1]
    to_the_left = np.tril(np.ones((n, n), dtype=bool))
    masked_left = ((rank[..., None, :] > rank[..., :, None]) & to_the_left).sum(axis=-1)
    scores = np.take_along_axis(masked_left, order, axis=-1) < k
    return _average(scores, np.take_along_axis(steps, order, axis=-1), 0, reading)


def local_arness_mean(n: int, k: int = 1) -> float:
    """Return the mean local AR-ness@k of a random order of n positions, one token per step: (n - k)! / n!.

    Proof: docs/theory.md, eq. (T52). Rounded once. ValueError unless 1 <= k < n.

    >>> local_arness_mean(5), local_arness_mean(5, 2)
    (0.2, 0.05)
    """
    whole("n", n)
    if whole("k", k) >= n:
        raise ValueError(f"k must be below the number of positions, {n}, got {k}")
    return 1 / math.perm(n, k)


def global_arness_mean(n: int, k: int = 1) -> float:
    """Return the mean global AR-ness@k of a random order of n positions, one token per step: (1/n) sum_m min(k, m) / m.

    Proof: docs/theory.md, eq. (T52). Relative error at most 1.5 2^-52. ValueError unless n, k >= 1.

    >>> round(global_arness_mean(4), 6), global_arness_mean(4, 4)
    (0.520833, 1.0)
    """
    whole("k", k)
    return math.fsum(min(k, m) / m for m in range(1, whole("n", n) + 1)) / n


def _average(scores: Any, step_of_token: NDArray[np.integer], first: int, reading: str) -> Any:
    """Average the scores of tokens first, first + 1, ... in commit order, or of the steps made of such tokens only."""
    if reading == "tokens":
        return scores.mean(axis=-1)
    means = []
    for row, steps in zip(np.atleast_2d(scores), np.atleast_2d(step_of_token), strict=True):
        starts = np.flatnonzero(np.r_[True, steps[1:] != steps[:-1]])
        starts = starts[starts >= first] - first
        if not starts.size:
            raise ValueError(f"k must leave a step after the first k tokens in the steps reading, got {first}")
        means.append(np.logical_and.reduceat(row, starts).mean())
    return np.array(means).reshape(scores.shape[:-1])[()]
