"""The exact distribution of the Generation Order Deviation of a random order with a given schedule."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rws_theory.orders.deviation import Reading, check_shape, token_moments
from rws_theory.show import figures

__all__ = ["LIMITS", "FootruleDistribution", "affordable", "convolved", "footrule_distribution", "moments"]

_EXACT_LENGTH = 128  # positions in a block; with the two limits below, a few seconds and 100 MB
_EXACT_TOKENS = 8_000_000  # length^3 (1 + most tokens in a step), several tokens a step, tokens reading
_EXACT_VALUES = 1 << 20  # values of n GOD, steps reading: the steps may be numbered with wide gaps
LIMITS = f"blocks of at most {_EXACT_LENGTH} positions, length^3 (1 + tokens per step) at most {_EXACT_TOKENS:,}"


@dataclass(frozen=True, eq=False)
class FootruleDistribution:
    """Every GOD that a random order can have, ascending, and its probability: see :func:`footrule_distribution`."""

    values: NDArray[np.float64]
    probabilities: NDArray[np.float64]

    def __repr__(self) -> str:
        low, high = figures(float(self.values[0])), figures(float(self.values[-1]))
        mean = figures(float(self.values @ self.probabilities))
        return f"FootruleDistribution({self.values.size:,} values, {low} to {high}, mean {mean})"


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
    >>> null
    FootruleDistribution(3 values, 0 to 1.3333, mean 0.88889)
    >>> (null.values * 3).tolist(), (null.probabilities * 6).round(12).tolist()
    ([0.0, 2.0, 4.0], [1.0, 2.0, 3.0])
    """
    length, k = check_shape(n, block, per_step, reading)
    blocks = [np.repeat(np.arange(length // k), k)] * (n // length)
    if not affordable(blocks, reading):
        raise ValueError(
            f"block and per_step must be smaller for the exact distribution ({LIMITS}), got {length} and {k}"
        )
    probabilities = convolved(blocks, reading)
    possible = np.flatnonzero(probabilities)
    return FootruleDistribution(2.0 * possible / n, probabilities[possible])


def affordable(blocks: list[NDArray[np.int64]], reading: str) -> bool:
    """Say whether the exact distribution takes seconds only: blocks and tables within LIMITS."""
    for steps in blocks:
        most = int(_counts(steps)[1].max())  # one token a step stays below the second limit where it meets the first
        if steps.size > _EXACT_LENGTH or (reading == "tokens" and steps.size**3 * (1 + most) > _EXACT_TOKENS):
            return False
    return sum(_largest(steps, reading) for steps in blocks) < 2 * _EXACT_VALUES


def _counts(steps: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return np.unique(steps, return_counts=True)


def _largest(steps: NDArray[np.int64], reading: str) -> int:
    """Return an upper bound on the footrule of any arrangement."""
    ranked = np.sort(steps) if reading == "steps" else np.arange(steps.size)
    return sum(abs(int(x) - int(y)) for x, y in zip(ranked, ranked[::-1], strict=True))


def moments(steps: NDArray[np.int64], reading: str) -> tuple[float, float]:
    """Return mean and variance of n GOD over the arrangements of a block's steps (docs/theory.md, eq. (T48), (T49))."""
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


def convolved(blocks: list[NDArray[np.int64]], reading: str) -> NDArray[np.float64]:
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
    from scipy.special import gammaln  # here, so that measuring an order does not wait for SciPy

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
