"""Null distribution of the Generation Order Deviation, and tests of an observed commit order against it.

The null hypothesis is a random order with the observed schedule: every arrangement of the commit steps over the
positions (of a block) is equally likely. So the number of tokens in each step stays as it was.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, ndtr

from rws_theory.orders.deviation import (
    Reading,
    check_commit_step,
    check_count,
    check_reading,
    generation_order_deviation,
    token_moments,
)

__all__ = ["FootruleDistribution", "OrderTest", "footrule_distribution", "order_test"]

Alternative = Literal["two-sided", "less", "greater"]
Method = Literal["auto", "exact", "normal", "monte-carlo"]
_EXACT_LENGTH = 128  # positions in a block; with the two limits below, a few seconds and 100 MB
_EXACT_TOKENS = 8_000_000  # length^3 (1 + most tokens in a step), several tokens a step, tokens reading
_EXACT_VALUES = 1 << 20  # values of n GOD, steps reading: the steps may be numbered with wide gaps
_LIMITS = f"blocks of at most {_EXACT_LENGTH} positions, length^3 (1 + tokens per step) at most {_EXACT_TOKENS:,}"


@dataclass(frozen=True, eq=False)
class FootruleDistribution:
    """Every GOD that a random order can have, ascending, and its probability: see :func:`footrule_distribution`."""

    values: NDArray[np.float64]
    probabilities: NDArray[np.float64]


@dataclass(frozen=True)
class OrderTest:
    """An observed GOD against random orders of the same schedule: see :func:`order_test`.

    ``god``, ``mean``, ``deviation`` are in token positions or in steps, as ``reading`` says; ``mean`` and ``deviation``
    (standard deviation) are exact. ``z`` = (god - mean) / deviation, 0 where only one GOD is possible. ``p_value``
    belongs to ``alternative`` and was obtained by ``method``. ``samples`` is how many orders were drawn (0 unless Monte
    Carlo).
    """

    god: float
    mean: float
    deviation: float
    z: float
    p_value: float
    alternative: str
    method: str
    reading: str
    samples: int


def footrule_distribution(
    n: int, block: int | None = None, *, per_step: int = 1, reading: Reading = "tokens"
) -> FootruleDistribution:
    """Return the exact distribution of the GOD of a random order, for the random orders of
    :func:`rws_theory.footrule_mean`.

    By dynamic programming over the cuts of docs/theory.md, eq. (T49); blocks are independent and are convolved.
    Probabilities are float64 sums of positive terms: b blocks of L positions give a relative error of at most b (4 +
    L^2 / 8) 2^-52 (5e-13 for L = 128), unless they are below 1e-307.

    Returns the possible values in token positions or in steps. Left out are impossible ones and those whose probability
    is below the smallest float, 5e-324. ValueError as in :func:`rws_theory.footrule_mean`, and for a block of more than
    128 positions, or with several tokens a step in the tokens reading where block^3 (1 + per_step) exceeds 8 million.

    >>> null = footrule_distribution(3)
    >>> (null.values * 3).tolist(), (null.probabilities * 6).round(12).tolist()
    ([0.0, 2.0, 4.0], [1.0, 2.0, 3.0])
    """
    check_reading(reading)
    check_count("n", n)
    length = check_count("block", n if block is None else block)
    k = check_count("per_step", per_step)
    if n % length or length % k:
        raise ValueError(f"block and per_step must divide n and block, got n = {n}, block = {length}, per_step = {k}")
    blocks = [np.repeat(np.arange(length // k), k)] * (n // length)
    if not _affordable(blocks, reading):
        raise ValueError(
            f"block and per_step must be smaller for the exact distribution ({_LIMITS}), got {length} and {k}"
        )
    probabilities = _convolved(blocks, reading)
    possible = np.flatnonzero(probabilities)
    return FootruleDistribution(2.0 * possible / n, probabilities[possible])


def order_test(
    commit_step: ArrayLike,
    reading: Reading = "tokens",
    *,
    block: int | None = None,
    alternative: Alternative = "two-sided",
    method: Method = "auto",
    samples: int = 9999,
    rng: np.random.Generator | None = None,
) -> OrderTest:
    """Test the GOD of one commit order against random orders with as many tokens in every step.

    ``alternative``: "less" is closer to left to right than chance, P(GOD <= observed). "greater" is P(GOD >= observed).
    "two-sided" is P(|GOD - mean| >= |observed - mean|). The result names the method used:

    - ``"exact"``: the whole distribution by dynamic programming (:func:`footrule_distribution`).
    - ``"normal"``: the normal approximation with the exact mean and variance (Hoeffding 1951 proves the limit for the
      "steps" reading and for one token per step), corrected for continuity by 1, half the spacing of n GOD.
    - ``"monte-carlo"``: `samples` random orders from `rng`; p = (1 + hits) / (1 + samples), which is a valid p-value
      for every number of samples.
    - ``"auto"``: exact where :func:`footrule_distribution` is (and n GOD stays below 2^21 steps), else normal.

    Rounding: mean and deviation are within n 2^-52 of themselves, z within as much of |z| + mean / deviation. An exact
    p has the relative error of :func:`footrule_distribution`, a normal one what the error of z makes of it.

    Parameters
    ----------
    commit_step : integers, shape (n,): the step, from 0, at which each position was committed.
    reading : which GOD, see :func:`rws_theory.generation_order_deviation`.
    block : orders are random inside consecutive blocks of this length only; a block's steps must not come after those
        of the next one. Default: one block.

    Raises
    ------
    ValueError : commit_step as for GOD and not of shape (n,); block does not divide n, or blocks out of order; unknown
        reading, alternative or method; "exact" beyond its limits; "monte-carlo" without `rng`.

    Examples
    --------
    >>> test = order_test([1, 0, 2, 3, 5, 4, 6, 7], alternative="less")
    >>> test.god, test.mean, test.method, round(test.p_value * 40320)
    (0.5, 2.625, 'exact', 41)
    """
    steps = check_commit_step(commit_step)
    if steps.ndim != 1:
        raise ValueError(f"commit_step must have shape (n,) for a test, got shape {steps.shape}")
    check_reading(reading)
    for name, value, choices in (
        ("alternative", alternative, ("two-sided", "less", "greater")),
        ("method", method, ("auto", "exact", "normal", "monte-carlo")),
    ):
        if value not in choices:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
    n = steps.size
    length = check_count("block", n if block is None else block)
    if n % length:
        raise ValueError(f"block must divide n = {n}, got {block}")
    if int(steps.max()) >= 2**63:
        raise ValueError(f"commit_step must be below 2^63 for a test, got {steps.max()}")
    blocks = np.split(steps.astype(np.int64), n // length)
    if any(earlier.max() > later.min() for earlier, later in pairwise(blocks)):
        raise ValueError(f"block must split commit_step into blocks committed from left to right, got {length}")

    if method == "auto":
        method = "exact" if _affordable(blocks, reading) else "normal"
    elif method == "exact" and not _affordable(blocks, reading):
        raise ValueError(f"method must be 'normal' or 'monte-carlo' for an order of this size ({_LIMITS}), got 'exact'")
    moments = [_moments(b, reading) for b in blocks]
    mean, deviation = sum(m for m, _ in moments), math.sqrt(sum(v for _, v in moments))
    observed = round(n * float(generation_order_deviation(steps, reading)))
    drawn = 0
    if method == "exact":
        probabilities = _convolved(blocks, reading)
        p = float(probabilities[_extreme(2.0 * np.arange(probabilities.size), observed, mean, alternative)].sum())
    elif method == "monte-carlo":
        if rng is None:
            raise ValueError("rng must be a numpy Generator for method 'monte-carlo', got None")
        drawn = check_count("samples", samples)
        shuffled = np.concatenate([rng.permuted(np.tile(b, (drawn, 1)), axis=1) for b in blocks], axis=1)
        footrules = n * generation_order_deviation(shuffled, reading)
        p = (1 + int(_extreme(footrules, observed, mean, alternative).sum())) / (1 + drawn)
    else:
        p = _normal_p(observed, mean, deviation, alternative)
    return OrderTest(
        god=observed / n,
        mean=mean / n,
        deviation=deviation / n,
        z=(observed - mean) / deviation if deviation else 0.0,
        p_value=min(p, 1.0),
        alternative=alternative,
        method=method,
        reading=reading,
        samples=drawn,
    )


def _affordable(blocks: list[NDArray[np.int64]], reading: str) -> bool:
    for steps in blocks:
        most = int(_counts(steps)[1].max())  # one token a step stays below the second limit where it meets the first
        if steps.size > _EXACT_LENGTH or (reading == "tokens" and steps.size**3 * (1 + most) > _EXACT_TOKENS):
            return False
    return sum(_largest(steps, reading) for steps in blocks) < 2 * _EXACT_VALUES


def _extreme(values: Any, observed: int, mean: float, alternative: str) -> NDArray[np.bool_]:
    slack = 1e-9 * (1 + mean)  # the mean is rounded; equal distances from it must count
    if alternative == "less":
        return values <= observed + slack
    if alternative == "greater":
        return values >= observed - slack
    return np.abs(values - mean) >= abs(observed - mean) - slack


def _normal_p(observed: int, mean: float, deviation: float, alternative: str) -> float:
    if deviation == 0:
        return 1.0
    if alternative == "less":
        return float(ndtr((observed + 1 - mean) / deviation))
    if alternative == "greater":
        return float(ndtr(-(observed - 1 - mean) / deviation))
    return float(2 * ndtr(-max(abs(observed - mean) - 1, 0.0) / deviation))


def _counts(steps: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return np.unique(steps, return_counts=True)


def _largest(steps: NDArray[np.int64], reading: str) -> int:
    """Return an upper bound on the footrule of any arrangement."""
    ranked = np.sort(steps) if reading == "steps" else np.arange(steps.size)
    return sum(abs(int(x) - int(y)) for x, y in zip(ranked, ranked[::-1], strict=True))


def _moments(steps: NDArray[np.int64], reading: str) -> tuple[float, float]:
    """Return the mean and variance of n GOD over the arrangements of one block's steps (docs/theory.md, eq. (T48),
    (T49)).
    """
    labels, counts = _counts(steps)
    if reading == "tokens":
        mean, variance = token_moments(tuple(counts.tolist()))
        return float(mean), float(variance)
    n = steps.size
    cost = np.abs(labels[:, None] - labels[None, :]).astype(np.float64)
    by_row = cost @ counts / n
    overall = float(by_row @ counts) / n
    centred = cost - by_row[:, None] - by_row[None, :] + overall
    return n * overall, float(counts @ centred**2 @ counts) / max(n - 1, 1)


def _convolved(blocks: list[NDArray[np.int64]], reading: str) -> NDArray[np.float64]:
    """Return the probability of n GOD = 2 j at index j, for independent blocks."""
    by_schedule: dict[tuple[bytes, ...], NDArray[np.float64]] = {}
    total = np.ones(1)
    for steps in blocks:
        labels, counts = _counts(steps)
        key = ((labels - labels[0]).tobytes(), counts.tobytes())
        if key not in by_schedule:
            if reading == "tokens" and counts.max() > 1:
                by_schedule[key] = _by_tokens(counts)
            else:  # with one token in every step the readings are one, and steps count from 0 without gaps
                by_schedule[key] = _by_steps(labels if reading == "steps" else np.arange(labels.size), counts)
        sparse, dense = sorted((total, by_schedule[key]), key=np.count_nonzero)
        total = np.zeros(sparse.size + dense.size - 1)
        for shift in np.flatnonzero(sparse):  # where steps have wide gaps nearly all values are impossible
            total[shift : shift + dense.size] += sparse[shift] * dense
    return total


def _shifted(rows: NDArray[np.float64], by: int) -> NDArray[np.float64]:
    moved = np.zeros_like(rows)
    if by < rows.shape[-1]:
        moved[..., by:] = rows[..., : rows.shape[-1] - by]
    return moved


def _by_steps(labels: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the distribution of sum_i |a_i - o_i| / 2 for the steps reading, o a random arrangement of the steps.

    A scan over the steps: row h counts the arrangements in which h positions are due before and committed after, as in
    docs/theory.md, eq. (T51).
    """
    n = int(counts.sum())
    half = n // 2
    size = _largest(np.repeat(labels, counts), "steps") // 2 + 1
    rows = np.zeros((half + 1, size))
    rows[0, 0] = 1.0
    for index, c in enumerate(counts.tolist()):
        rows = _step_transition(c, half) @ rows
        rows /= rows.max()
        if index + 1 < labels.size:
            gap = int(labels[index + 1] - labels[index])
            rows = np.stack([_shifted(row, h * gap) for h, row in enumerate(rows)])
    return rows[0] / rows[0].sum()


@lru_cache(maxsize=16)
def _step_transition(c: int, half: int) -> NDArray[np.float64]:
    """Count, up to a common factor, the ways in which h becomes h' at a step of c tokens: shape (h', h); eq. (T51)."""
    log_factorial = gammaln(np.arange(half + 2 * c + 1) + 1.0)

    def log_matchings(m: Any, n: Any, size: Any) -> Any:  # log(C(m, size) C(n, size) size!)
        left = log_factorial[m - size] + log_factorial[n - size] + log_factorial[size]
        return log_factorial[m] + log_factorial[n] - left

    log_ways = np.full((half + 1, half + 1), -np.inf)
    for h in range(half + 1):
        p, q, w = np.ogrid[: min(h, c) + 1, : min(h, c) + 1, : c + 1]
        after = h + c - p - q - w
        keep = (w <= c - np.maximum(p, q)) & (after >= 0) & (after <= half)
        p, q, w, after = (np.broadcast_to(x, keep.shape)[keep] for x in (p, q, w, after))
        ways = log_matchings(h, c, p) + log_matchings(h, c, q) + log_matchings(c - p, c - q, w)
        np.logaddexp.at(log_ways[:, h], after, ways)
    return np.exp(log_ways - log_ways.max())


def _by_tokens(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the distribution of n GOD / 2, tokens reading, by the scan of docs/theory.md, eq. (T49)."""
    n, start = int(counts.sum()), 0
    size = (n * n // 2) // 2 + 1
    rows = np.zeros((1, 1, size))  # filled ranks of earlier steps, of this step, n GOD / 2
    rows[0, 0, 0] = 1.0
    for c in counts.tolist():
        entered = np.zeros((n + 1, c + 1, size))
        for v in range(rows.shape[1]):
            for a in range(start + 1):
                open_positions = start - a - v
                for new in range(min(c, open_positions) + 1):
                    entered[a + v, new] += math.comb(open_positions, new) * math.perm(c, new) * rows[a, v]
        rows = entered / entered.max()
        for u in range(c):
            after = rows.copy()
            after[1:] += (start - np.arange(n))[:, None, None] * rows[:-1]
            after[:, 1:] += (c - np.arange(c))[:, None] * rows[:, :-1]
            for a in range(start + 1):
                for v in range(c + 1):
                    after[a, v] = _shifted(after[a, v], start - a + max(0, u + 1 - v))
            rows = after / after.max()
        start += c
    done = rows[n - int(counts[-1]), int(counts[-1])]
    return done / done.sum()
