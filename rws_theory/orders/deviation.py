"""Generation Order Deviation: how far the order in which positions were committed is from left to right.

GOD is Spearman's footrule divided by the number of positions (P. Diaconis and R. L. Graham, "Spearman's footrule as a
measure of disarray", J. R. Stat. Soc. B 39, 1977). So its mean and variance under a random order and its maximum are
known. Its whole null distribution is in :mod:`~rws_theory.orders.null`, a test against it in
:mod:`~rws_theory.orders.significance`.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import comb, perm
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rws_theory.checks import one_of, whole

__all__ = ["footrule_max", "footrule_mean", "footrule_variance", "generation_order_deviation"]

Reading = Literal["tokens", "steps"]
READINGS = get_args(Reading)


def generation_order_deviation(commit_step: ArrayLike, reading: Reading = "tokens") -> Any:
    """Return GOD = (1/n) sum_i |a_i - o_i| over the n answer positions (Section 5.1 of the paper), 0 for left to right.

    The paper does not say what o_i counts when one step commits several tokens. Both readings are offered:

    - ``"tokens"``: o_i is the rank of position i when positions are sorted by (commit step, position): the tokens of
      one step are taken from left to right. a_i = i. In token positions. n GOD is Spearman's footrule.
    - ``"steps"``: o_i is the step that committed position i. a_i is the step that would have committed it had the same
      number of tokens per step been committed strictly from left to right (the commit steps, sorted). In steps.

    With one token in every step from 0 on the readings agree. With k tokens a step they have different units, a step
    being worth k tokens, and must not be compared with each other.

    commit_step: integers, shape (n,) or (batch, n): the step, from 0, at which each answer position was committed. The
    result is float64, a scalar for shape (n,) and shape (batch,) for shape (batch, n): the exact value rounded once
    while n times the largest step is below 2^53, beyond that within n 2^-53 of itself. ValueError for what are no
    integers, a negative step (a position never committed), n = 0, more than two axes, and an unknown reading.

    >>> float(generation_order_deviation([0, 2, 1, 3])), float(generation_order_deviation([3, 2, 1, 0]))
    (0.5, 2.0)
    >>> [float(generation_order_deviation([1, 1, 0, 0], reading)) for reading in ("tokens", "steps")]
    [2.0, 1.0]
    """
    steps = check_commit_step(commit_step)
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

    With `block`, the order is uniformly random inside each of the n / block consecutive blocks, and the blocks are
    committed from left to right: n is replaced by the block's length.

    With `per_step` = k tokens in every step, each step commits k of the positions still open, uniformly at random. In
    the "steps" reading the mean is that of an order of s = n / k positions, (s^2 - 1) / (3 s) steps. In the "tokens"
    reading the tokens of a step go from left to right, which removes disorder: the mean is less than (n^2 - 1) / (3 n)
    for k >= 2, and is summed exactly over all orders by dynamic programming (eq. (T49)).

    Returns a float, in token positions or in steps: the exact value, rounded once. ValueError unless n >= 1, block
    divides n and per_step divides the block (or n).

    >>> footrule_mean(4), round(footrule_mean(256, block=32), 2)
    (1.25, 10.66)
    >>> round(footrule_mean(64, 32, per_step=2), 3), footrule_mean(64, 32, per_step=2, reading="steps")
    (10.484, 5.3125)
    """
    length, k = check_shape(n, block, per_step, reading)
    if reading == "steps":
        length, k = length // k, 1
    if k == 1:
        return (length * length - 1) / (3 * length)
    return float(token_moments((k,) * (length // k))[0] / length)


def footrule_variance(n: int, block: int | None = None, *, per_step: int = 1, reading: Reading = "tokens") -> float:
    """Return the variance of the GOD of a random order, for the same random orders as :func:`footrule_mean`.

    For one token per step, Var(n GOD) = (n + 1) (2 n^2 + 7) / 45 for n >= 2 (docs/theory.md, eq. (T47)), and 0 for n =
    1, where that formula does not hold. The n / block blocks are independent, so their variances add up. With k tokens
    in each of s steps the "steps" reading has Var(GOD) = (s^2 - 1) (2 s^2 + 7) / (45 s^2 (k s - 1)) (eq. (T48)). In the
    "tokens" reading the variance is counted in integers over all orders, in O(n^2 k) steps (eq. (T49)).

    Returns a float, in squared token positions or squared steps: the exact value, rounded once. Errors are those of
    :func:`footrule_mean`.

    >>> footrule_variance(4), round(footrule_variance(256, block=32) ** 0.5, 3)
    (0.2708333333333333, 0.429)
    >>> round(footrule_variance(64, 32, per_step=2, reading="steps"), 4)
    0.1853
    """
    length, k = check_shape(n, block, per_step, reading)
    blocks = n // length
    if length == k:
        return 0.0  # one step: one order
    if reading == "steps":
        s = length // k
        return (s * s - 1) * (2 * s * s + 7) / (45 * s * s * (length - 1) * blocks)
    if k == 1:
        return (length + 1) * (2 * length * length + 7) / (45 * length * length * blocks)
    return float(token_moments((k,) * (length // k))[1] / (length * length * blocks))


def footrule_max(n: int, block: int | None = None, *, per_step: int = 1, reading: Reading = "tokens") -> float:
    """Return the largest GOD of any order of n positions: floor(n^2 / 2) / n, that of right to left.

    With `block`, it is the largest over orders that finish each block of that length before the next: floor(block^2 /
    2) / block. With `per_step` = k tokens in each of s steps it is floor(s^2 / 2) / s steps in the "steps" reading, and
    k times that many token positions in the "tokens" reading. Right to left reaches both (docs/theory.md, eq. (T50)).

    The exact value, rounded once. ValueError unless n >= 1, block divides n and per_step divides the block (or n).

    >>> footrule_max(4), footrule_max(5), footrule_max(256, block=32)
    (2.0, 2.4, 16.0)
    >>> footrule_max(6, per_step=2), footrule_max(6, per_step=2, reading="steps")
    (2.6666666666666665, 1.3333333333333333)
    """
    length, k = check_shape(n, block, per_step, reading)
    s = length // k
    return (s * s // 2) * (1 if reading == "steps" else k) / s


@lru_cache(maxsize=64)
def token_moments(counts: tuple[int, ...]) -> tuple[Fraction, Fraction]:
    """Return the exact mean and variance of n GOD, tokens reading, when step g commits counts[g] random open positions.

    A scan over the cuts of docs/theory.md, eq. (T49).
    """
    n = sum(counts)
    states = {(0, 0): (1, 0, 0)}  # (filled ranks of earlier steps, of this step): orders, sum of D, sum of D^2
    start = 0
    for c in counts:
        states = _enter(states, start, c)
        for u in range(c):
            after: dict[tuple[int, int], tuple[int, int, int]] = {}
            for (a, v), (count, first, second) in states.items():
                for key, ways in (((a + 1, v), start - a), ((a, v + 1), c - v), ((a, v), 1)):
                    if ways:
                        x = 2 * (start - key[0] + max(0, u + 1 - key[1]))
                        m0, m1, m2 = after.get(key, (0, 0, 0))
                        after[key] = (
                            m0 + ways * count,
                            m1 + ways * (first + x * count),
                            m2 + ways * (second + 2 * x * first + x * x * count),
                        )
            # A position left for a later step must find a rank there.
            states = {(a, v): w for (a, v), w in after.items() if start + u + 1 - a - v <= n - start - c}
        start += c
    count, first, second = (sum(w[m] for w in states.values()) for m in range(3))
    mean = Fraction(first, count)
    return mean, Fraction(second, count) - mean * mean


def _enter(
    states: dict[tuple[int, int], tuple[int, int, int]], position: int, c: int
) -> dict[tuple[int, int], tuple[int, int, int]]:
    """Start the next step, of c ranks: v of the positions that are still open are committed in it."""
    entered: dict[tuple[int, int], tuple[int, int, int]] = {}
    for (a, v), weights in states.items():
        open_positions = position - a - v
        for new in range(min(c, open_positions) + 1):
            ways = comb(open_positions, new) * perm(c, new)
            m0, m1, m2 = entered.get((a + v, new), (0, 0, 0))
            w0, w1, w2 = weights
            entered[a + v, new] = m0 + ways * w0, m1 + ways * w1, m2 + ways * w2
    return entered


def check_commit_step(commit_step: ArrayLike) -> NDArray[np.integer]:
    """Return `commit_step` as integers of shape (n,) or (batch, n), n >= 1, none negative, or raise ValueError."""
    steps = np.asarray(commit_step)
    if steps.dtype.kind not in "iu":
        raise ValueError(f"commit_step must be integers, got dtype {steps.dtype}")
    if steps.ndim not in (1, 2) or steps.shape[-1] == 0:
        raise ValueError(f"commit_step must have shape (n,) or (batch, n) with n >= 1, got shape {steps.shape}")
    if (steps < 0).any():
        raise ValueError(f"commit_step must be 0 or more for every position, got {steps.min()}")
    return steps


def check_shape(n: int, block: int | None, per_step: int, reading: str) -> tuple[int, int]:
    """Check the arguments, and return the length of a block and the tokens per step."""
    one_of("reading", reading, READINGS)
    total, length, k = whole("n", n), whole("block", n if block is None else block), per_step
    if total % length:
        raise ValueError(f"block must divide n = {n}, got {block}")
    if length % whole("per_step", k):
        raise ValueError(f"per_step must divide {'n' if block is None else 'block'} = {length}, got {per_step}")
    return length, int(k)
