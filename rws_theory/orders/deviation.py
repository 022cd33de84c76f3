"""How far the order in which positions were committed is from left to right: GOD, and AR-ness.

n GOD is Spearman's footrule (P. Diaconis and R. L. Graham, J. R. Stat. Soc. B 39, 1977). AR-ness@k is of S. Gong et
al., "DiffuCoder" (arXiv 2506.20639, Section 4.1 and Appendix A.2). Proofs: docs/theory.md, section 10.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import comb, perm
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rws_theory.checks import one_of, whole

__all__ = ["footrule_max", "footrule_mean", "generation_order_deviation", "local_arness"]

Reading = Literal["tokens", "steps"]
READINGS = get_args(Reading)


def generation_order_deviation(commit_step: ArrayLike, reading: Reading = "tokens") -> Any:
    """Return GOD = (1/n) sum_i |a_i - o_i| over the n answer positions (Section 5.1 of the paper), 0 for left to right.

    The paper does not say what o_i counts when one step commits several tokens. Both readings are offered:

    - ``"tokens"``: o_i is the rank of position i when positions are sorted by (commit step, position), a_i = i. In
      token positions; n GOD is Spearman's footrule.
    - ``"steps"``: o_i is the step that committed position i. a_i is the step that would have, had as many tokens per
      step been committed strictly from left to right. In steps.

    commit_step: integers, shape (n,) or (batch, n): the step, from 0, at which each answer position was committed. The
    result is float64, a scalar or shape (batch,): the exact value rounded once while n times the largest step is below
    2^53. ValueError for what are no integers, a negative step (a position never committed), n = 0, more than two axes,
    and an unknown reading.

    >>> float(generation_order_deviation([0, 2, 1, 3])), float(generation_order_deviation([3, 2, 1, 0]))
    (0.5, 2.0)
    >>> [float(generation_order_deviation([1, 1, 0, 0], reading)) for reading in ("tokens", "steps")]
    [2.0, 1.0]
    """
    steps = _checked_steps(commit_step)
    one_of("reading", reading, READINGS)
    if reading == "tokens":
        order = np.argsort(steps, kind="stable")  # stable: the tokens of one step from left to right
        # order[o] is the o-th position to be committed: the sum of |o - order[o]| over o is that of |i - o_i| over i.
        moved = np.abs(np.arange(steps.shape[-1]) - order)
    else:
        ranked = np.sort(steps)
        moved = np.maximum(steps, ranked) - np.minimum(steps, ranked)  # unsigned steps cannot wrap around
    return moved.mean(axis=-1)


def footrule_mean(n: int, block: int | None = None, *, per_step: int = 1, reading: Reading = "tokens") -> float:
    """Return the mean GOD of a uniformly random order of n positions: (n^2 - 1) / (3 n) (docs/theory.md, eq. (T47)).

    With `block`, the order is random inside each of the n / block consecutive blocks, committed from left to right: n
    is replaced by the block's length. With `per_step` = k, each step commits k of the open positions at random. In the
    "steps" reading the mean is then that of s = n / k positions. In the "tokens" reading it is less than (n^2 - 1) / (3
    n) and is summed over all orders by dynamic programming (eq. (T49)).

    The exact value, rounded once. ValueError unless n >= 1, block divides n and per_step divides the block (or n).

    >>> footrule_mean(4), round(footrule_mean(256, block=32), 2)
    (1.25, 10.66)
    >>> round(footrule_mean(64, 32, per_step=2), 3), footrule_mean(64, 32, per_step=2, reading="steps")
    (10.484, 5.3125)
    """
    length, k = _checked_shape(n, block, per_step, reading)
    if reading == "steps":
        length, k = length // k, 1
    if k == 1:
        return (length * length - 1) / (3 * length)
    return float(_mean_of_tokens(length // k, k) / length)


def footrule_max(n: int, block: int | None = None, *, per_step: int = 1, reading: Reading = "tokens") -> float:
    """Return the largest GOD of any order, that of right to left: floor(n^2 / 2) / n.

    With `block`, of orders that finish each block of that length before the next. With `per_step` = k tokens in each of
    s steps it is floor(s^2 / 2) / s steps, and k times that many token positions (docs/theory.md, eq. (T50)). The exact
    value, rounded once. ValueError as in :func:`footrule_mean`.

    >>> footrule_max(5), footrule_max(256, block=32), footrule_max(6, per_step=2, reading="steps")
    (2.4, 16.0, 1.3333333333333333)
    """
    length, k = _checked_shape(n, block, per_step, reading)
    s = length // k
    return (s * s // 2) * (1 if reading == "steps" else k) / s


@lru_cache(maxsize=64)
def _mean_of_tokens(steps: int, k: int) -> Fraction:
    """Return the exact mean of n GOD, tokens reading, where each of s steps commits k random open positions.

    A scan over the cuts of docs/theory.md, eq. (T49).
    """
    n = steps * k
    # By filled ranks of earlier steps and of this step: the number of orders, and the sum of n GOD over them.
    states = {(0, 0): (1, 0)}
    for start in range(0, n, k):
        states = _enter(states, start, k)
        for u in range(k):
            after: dict[tuple[int, int], tuple[int, int]] = {}
            for (a, v), (count, total) in states.items():
                for key, ways in (((a + 1, v), start - a), ((a, v + 1), k - v), ((a, v), 1)):
                    if ways:
                        x = 2 * (start - key[0] + max(0, u + 1 - key[1]))
                        known = after.get(key, (0, 0))
                        after[key] = (known[0] + ways * count, known[1] + ways * (total + x * count))
            # A position left for a later step must find a rank there.
            states = {(a, v): w for (a, v), w in after.items() if start + u + 1 - a - v <= n - start - k}
    count, total = (sum(w[m] for w in states.values()) for m in range(2))
    return Fraction(total, count)


def _enter(
    states: dict[tuple[int, int], tuple[int, int]], position: int, k: int
) -> dict[tuple[int, int], tuple[int, int]]:
    """Start the next step, of k ranks: v of the positions that are still open are committed in it."""
    entered: dict[tuple[int, int], tuple[int, int]] = {}
    for (a, v), (count, total) in states.items():
        open_positions = position - a - v
        for new in range(min(k, open_positions) + 1):
            ways = comb(open_positions, new) * perm(k, new)
            known = entered.get((a + v, new), (0, 0))
            entered[a + v, new] = (known[0] + ways * count, known[1] + ways * total)
    return entered


def local_arness(commit_step: ArrayLike, k: int = 1) -> Any:
    """Return local AR-ness@k: how often a committed token continues a run of k next tokens (Gong et al. 2025).

    Let p_1, ..., p_n be the positions in commit order, the tokens of one step from left to right. Token t scores where
    (p_{t-k}, ..., p_t) are consecutive positions in increasing order. Only tokens with k predecessors are averaged, so
    left to right has 1, as the paper says; its formula divides by all T steps.

    commit_step: as of :func:`generation_order_deviation`. k: 1 <= k < n. The result is float64 in [0, 1].

    >>> [float(local_arness([0, 1, 2, 4, 3, 5], k)) for k in (1, 2)]
    [0.4, 0.25]
    """
    steps = _checked_steps(commit_step)
    n = steps.shape[-1]
    if whole("k", k) >= n:
        raise ValueError(f"k must be below the number of positions, {n}, got {k}")
    follows = np.diff(np.argsort(steps, kind="stable")) == 1
    return np.lib.stride_tricks.sliding_window_view(follows, k, axis=-1).all(axis=-1).mean(axis=-1)


def _checked_steps(commit_step: ArrayLike) -> NDArray[np.integer]:
    """Return `commit_step` as integers of shape (n,) or (batch, n), n >= 1, none negative, or raise ValueError."""
    steps = np.asarray(commit_step)
    if steps.dtype.kind not in "iu":
        raise ValueError(f"commit_step must be integers, got dtype {steps.dtype}")
    if steps.ndim not in (1, 2) or steps.shape[-1] == 0:
        raise ValueError(f"commit_step must have shape (n,) or (batch, n) with n >= 1, got shape {steps.shape}")
    if (steps < 0).any():
        raise ValueError(f"commit_step must be 0 or more for every position, got {steps.min()}")
    return steps


def _checked_shape(n: int, block: int | None, per_step: int, reading: str) -> tuple[int, int]:
    """Check the arguments, and return the length of a block and the tokens per step."""
    one_of("reading", reading, READINGS)
    total, length, k = whole("n", n), whole("block", n if block is None else block), per_step
    if total % length:
        raise ValueError(f"block must divide n = {n}, got {block}")
    if length % whole("per_step", k):
        raise ValueError(f"per_step must divide {'n' if block is None else 'block'} = {length}, got {per_step}")
    return length, int(k)
