"""Generation Order Deviation: how far the order in which positions were committed is from left to right.

GOD is Spearman's footrule divided by the number of positions (P. Diaconis and R. L. Graham, "Spearman's footrule as a
measure of disarray", J. R. Stat. Soc. B 39, 1977), so its mean under a random order and its maximum are known.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["footrule_max", "footrule_mean", "generation_order_deviation"]


def generation_order_deviation(commit_step: ArrayLike, reading: Literal["tokens", "steps"] = "tokens") -> Any:
    """GOD = (1/n) sum_i |a_i - o_i| over the n answer positions (Section 5.1 of the paper), 0 for left to right.

    The paper does not say what o_i counts when one step commits several tokens; both readings are here:

    - ``"tokens"``: o_i is the rank of position i when positions are sorted by (commit step, position), that is with the
      tokens of one step taken from left to right, and a_i = i. In token positions. n GOD is Spearman's footrule.
    - ``"steps"``: o_i is the step that committed position i, and a_i the step that would have committed it had the same
      number of tokens per step been committed strictly from left to right (the commit steps, sorted). In steps.

    With one token in every step from 0 on the readings agree. With k tokens a step they have different units, a step
    being worth k tokens, and must not be compared with each other.

    Parameters
    ----------
    commit_step : integers, shape (n,) or (batch, n): the step, from 0, at which each answer position was committed.
    reading : ``"tokens"`` or ``"steps"``.

    Returns
    -------
    float64, a scalar for shape (n,) and shape (batch,) for shape (batch, n).

    Raises
    ------
    ValueError : not integers, a negative step (a position never committed), n = 0, more than two axes, unknown reading.

    Examples
    --------
    >>> float(generation_order_deviation([0, 2, 1, 3])), float(generation_order_deviation([3, 2, 1, 0]))
    (0.5, 2.0)
    >>> [float(generation_order_deviation([1, 1, 0, 0], reading)) for reading in ("tokens", "steps")]
    [2.0, 1.0]
    """
    steps = np.asarray(commit_step)
    if steps.dtype.kind not in "iu":
        raise ValueError(f"commit_step must be integers, got dtype {steps.dtype}")
    if steps.ndim not in (1, 2) or steps.shape[-1] == 0:
        raise ValueError(f"commit_step must have shape (n,) or (batch, n) with n >= 1, got shape {steps.shape}")
    if (steps < 0).any():
        raise ValueError(f"commit_step must be 0 or more for every position, got {steps.min()}")
    if reading == "tokens":
        order = np.argsort(steps, axis=-1, kind="stable")  # stable: the tokens of one step from left to right
        # order[o] is the o-th position to be committed: the sum of |o - order[o]| over o is that of |i - o_i| over i.
        moved = np.abs(np.arange(steps.shape[-1]) - order)
    elif reading == "steps":
        ranked = np.sort(steps, axis=-1)
        moved = np.maximum(steps, ranked) - np.minimum(steps, ranked)  # unsigned steps cannot wrap around
    else:
        raise ValueError(f"reading must be 'tokens' or 'steps', got {reading!r}")
    return moved.mean(axis=-1)


def footrule_mean(n: int, block: int | None = None) -> float:
    """Mean GOD of a uniformly random order of n positions: (n^2 - 1) / (3 n) (Diaconis and Graham 1977, Theorem 1).

    With `block`, the order is uniformly random inside each of the n / block consecutive blocks and the blocks are
    committed from left to right: (block^2 - 1) / (3 block), whatever n. In token positions, one token per step. For k
    tokens in each of s steps the "steps" reading has mean ``footrule_mean(s)``, in steps. ValueError unless n >= 1
    and block divides n.

    >>> footrule_mean(4), round(footrule_mean(256, block=32), 2)
    (1.25, 10.66)
    """
    length = _block_length(n, block)
    return (length * length - 1) / (3 * length)


def footrule_max(n: int, block: int | None = None) -> float:
    """Largest GOD of any order of n positions: floor(n^2 / 2) / n, that of right to left (Diaconis and Graham 1977).

    With `block`, the largest over orders that finish each block of that length before the next: floor(block^2 / 2) /
    block. In token positions; for k tokens in each of s steps the "steps" reading is at most ``footrule_max(s)``
    steps. ValueError unless n >= 1 and block divides n.

    >>> footrule_max(4), footrule_max(5), footrule_max(256, block=32)
    (2.0, 2.4, 16.0)
    """
    length = _block_length(n, block)
    return (length * length // 2) / length


def _block_length(n: int, block: int | None) -> int:
    for name, value in (("n", n), ("block", n if block is None else block)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise ValueError(f"{name} must be an integer of at least 1, got {value!r}")
    if block is None:
        return int(n)
    if n % block:
        raise ValueError(f"block must divide n = {n}, got {block}")
    return int(block)
