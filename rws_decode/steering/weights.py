"""Log-weights of copies: how even they are, draws by them, and resampling."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

EVEN = 1 - 1e-12  # from this share of N on, an effective size below N is rounding: the weights count as equal

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def log_mean(log_weights: Floats) -> Floats:
    """Return the logarithm of the mean weight of each row. log_weights: [P, K].

    >>> np.exp(log_mean(np.log([[1.0, 3.0]]))).round(12).tolist()
    [2.0]
    """
    return np.asarray(logsumexp(log_weights, axis=-1) - np.log(log_weights.shape[-1]))


def effective_size(log_weights: Floats) -> Floats:
    """Return the effective number of copies of each row, 1 / sum of squared shares, from 1 to K. log_weights: [P, K].

    >>> effective_size(np.array([[0.0, 0.0], [0.0, -np.inf]])).tolist()
    [2.0, 1.0]
    """
    return np.asarray(1.0 / np.square(softmax(log_weights, axis=-1)).sum(axis=-1))


def draw(log_weights: Floats, rng: np.random.Generator) -> int:
    """Return the number of a copy, drawn by its weight. log_weights: [K], not all -inf.

    >>> draw(np.array([-np.inf, 0.0]), np.random.default_rng(0))
    1
    """
    return int(rng.choice(len(log_weights), p=softmax(log_weights)))


def systematic(log_weights: Floats, rng: np.random.Generator) -> Ints:
    """Return K ancestors by systematic resampling, rising: copy j is taken floor or ceil of K times its share.

    One uniform number places K points at equal distances on the cumulative shares (Carpenter, Clifford and Fearnhead
    1999). log_weights: [K].

    >>> systematic(np.log([0.5, 0.25, 0.25, 1e-9]), np.random.default_rng(0)).tolist()
    [0, 0, 1, 2]
    """
    copies = len(log_weights)
    ends = np.cumsum(softmax(log_weights))
    points = (rng.random() + np.arange(copies)) / copies
    return np.minimum(np.searchsorted(ends, points, side="right"), copies - 1).astype(np.int64)


def tilting(values: Floats, beta: float) -> Floats:
    """Return the log-weights beta R; for an infinite beta 0 where R is largest, -inf elsewhere. values: [..., K].

    >>> tilting(np.array([1.0, 3.0]), 2.0).tolist(), tilting(np.array([1.0, 3.0]), np.inf).tolist()
    ([2.0, 6.0], [-inf, 0.0])
    """
    if np.isfinite(beta):
        return beta * values
    return np.where(values == values.max(axis=-1, keepdims=True), 0.0, -np.inf)
