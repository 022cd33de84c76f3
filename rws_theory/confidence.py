"""Confidence of one position at any scale r of its logits, and the gaps that decide it.

Let x_t be the largest logit, u_k = x_t - x_k >= 0 the gaps of the other tokens, and F(r) = sum_k exp(-r u_k). The
confidence is P(r) = max softmax(r x) = 1 / (1 + F(r)). Its log-odds -log F(r) stay accurate where 1 - P underflows:
docs/theory.md, eq. (T1), and Appendix D, Step 1, of Gwak et al., "Reward-Weighted Sampling".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rws_theory.show import one_line

__all__ = ["GapStatistics", "gap_statistics", "gaps", "log_odds", "max_probability"]


@dataclass(frozen=True, eq=False)
class GapStatistics:
    """The two gap statistics of Theorem 1 and the multiplicity that it leaves out, each of shape ``logits.shape[:-1]``.

    ``total`` is Sigma, the sum of the finite gaps. ``smallest`` is delta, the top-two margin: ``inf`` where no other
    token is allowed. ``multiplicity`` counts the gaps equal to delta.
    """

    total: Any
    smallest: Any
    multiplicity: Any

    __repr__ = one_line


def real(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return numbers as float64; ValueError for other values, such as texts and truth values."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiu":
        raise ValueError(f"{name} must be real numbers, got dtype {array.dtype}")
    with np.errstate(over="ignore"):  # longdouble values beyond float64 become inf
        return array.astype(np.float64)


def check_logits(logits: ArrayLike, name: str = "logits") -> NDArray[np.float64]:
    """Return `logits` as float64 of shape (..., d), or raise ValueError; -inf marks a forbidden token."""
    x = real(logits, name)
    if x.ndim == 0 or x.shape[-1] == 0:
        raise ValueError(f"{name} must have shape (..., d) with d >= 1, got shape {x.shape}")
    if np.isnan(x).any() or np.isposinf(x).any():
        raise ValueError(
            f"{name} must be finite or -inf (a forbidden token), got {'nan' if np.isnan(x).any() else 'inf'}"
        )
    top = x.max(axis=-1, keepdims=True)
    if np.isneginf(top).any():
        raise ValueError(f"{name} must allow at least one token at every position, got a row of -inf only")
    with np.errstate(over="ignore"):  # an overflow is what this line tests for
        span = (top - np.where(np.isneginf(x), top, x)).max(initial=0.0) * x.shape[-1]
    if not np.isfinite(span):
        raise ValueError(f"{name} must span less than 1.8e308 / d so that their gaps can be summed, got a wider span")
    return x


def check_rows(logits: ArrayLike) -> NDArray[np.float64]:
    """Return `logits` as float64 of shape (positions, d), or raise ValueError."""
    x = check_logits(logits)
    if x.ndim != 2:
        raise ValueError(f"logits must have shape (positions, d), got shape {x.shape}")
    return x


def check_range(c_min: float, c_max: float) -> tuple[float, float]:
    """Return a range of scales, or raise ValueError."""
    if not 0 < c_min <= c_max < math.inf:
        raise ValueError(f"c_min and c_max must satisfy 0 < c_min <= c_max < inf, got {c_min} and {c_max}")
    return float(c_min), float(c_max)


def check_scale(r: ArrayLike, leading: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the scale `r` as float64; ValueError unless it is positive, finite and broadcasts with `leading`."""
    scale = real(r, "r")
    if not (np.isfinite(scale) & (scale > 0)).all():
        bad = scale[~(np.isfinite(scale) & (scale > 0))].flat[0]
        raise ValueError(f"r must be positive and finite, got {bad}")
    try:
        np.broadcast_shapes(scale.shape, leading)
    except ValueError:
        raise ValueError(
            f"r must broadcast with the leading shape {leading} of logits, got shape {scale.shape}"
        ) from None
    return scale


def sigmoid(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 / (1 + exp(-x)); importing SciPy's expit alone takes longer than all else that a factor needs."""
    with np.errstate(over="ignore", under="ignore"):
        return 1 / (1 + np.exp(-x))


def log_odds(logits: ArrayLike, r: ArrayLike) -> Any:
    """Return the log-odds of the most probable token at scale r, log(P / (1 - P)) = -log F(r), in nats.

    The form that is computed neither overflows early nor saturates (docs/theory.md, eq. (T2)), where a softmax in
    float64 is exactly 1.0 beyond log-odds of about 37.

    logits: shape (..., d). -inf is a forbidden token. r: positive and finite; broadcasts with ``logits.shape[:-1]``.
    The result is ``inf`` where only one token is allowed, and where r delta itself exceeds the float64 range.
    ValueError for NaN or +inf logits, a row without an allowed token, r outside (0, inf), and shapes that do not
    broadcast.

    Guarantee: the result depends only on the multiset of logits. It is within 4 eps (r delta + log d) of the exact one,
    eps = 2^-52 (eq. (T3)). Positions closer than that may compare either way; :func:`rws_theory.crossings` decides such
    pairs.

    >>> round(float(log_odds([1.1, 0.6, 0.3], 1.0)), 6)
    -0.054355
    >>> log_odds([[40.0, 0.0], [41.0, 0.0]], 1.0).tolist(), max_probability([[40.0, 0.0], [41.0, 0.0]], 1.0).tolist()
    ([40.0, 41.0], [1.0, 1.0])
    """
    # Sorted, equal multisets add up in the same order and give equal bits, and small terms are added first.
    x = np.sort(check_logits(logits))
    scale = check_scale(r, x.shape[:-1])
    shape = np.broadcast_shapes(scale.shape, x.shape[:-1])
    if x.shape[-1] == 1:
        return np.full(shape, np.inf)[()]
    top, second, rest = x[..., -1], x[..., -2], x[..., :-2]
    anchor = np.where(np.isneginf(second), 0.0, second)  # -inf - -inf would be NaN; the sum is empty there anyway
    with np.errstate(over="ignore", under="ignore"):  # r u beyond float64 means exp(-r u) = 0, or a result of inf
        others = np.exp(scale[..., None] * (rest - anchor[..., None])).sum(axis=-1)
        return np.asarray(scale * (top - second) - np.log1p(others))[()]


def max_probability(logits: ArrayLike, r: ArrayLike) -> Any:
    """Return the confidence P(r) = max softmax(r x) = 1 / (1 + F(r)), in [1/d, 1] (Section 4.1 of the paper).

    Domain and errors are those of :func:`log_odds`. Relative error at most 4 eps (1 + log d), eps = 2^-52. It is
    exactly 1.0 once the log-odds exceed about 37: rank by :func:`log_odds`, report P.

    >>> [round(float(max_probability([1.1, 0.6, 0.3], r)), 4) for r in (1, 2)]
    [0.4864, 0.637]
    """
    return sigmoid(log_odds(logits, r))


def gaps(logits: ArrayLike) -> NDArray[np.float64]:
    """Return the gaps u_k = x_t - x_k of the other tokens, ascending: shape (..., d) -> (..., d - 1), in logits.

    A tied maximum gives gaps of 0, a forbidden token (-inf) a gap of inf. ValueError for NaN or +inf, or a row of -inf.

    >>> gaps([0.5, 3.0, 2.0, 3.0])
    array([0. , 1. , 2.5])
    """
    x = np.sort(check_logits(logits))[..., ::-1]
    return x[..., :1] - x[..., 1:]


def gap_statistics(logits: ArrayLike) -> GapStatistics:
    """Return the total gap Sigma, the smallest gap delta and delta's multiplicity of each position (the paper's eq. 2).

    For equally many allowed tokens Sigma decides the order of two positions as r -> 0; delta, then its multiplicity, as
    r -> inf (docs/theory.md, eq. (T4)). ``smallest`` is rounded once, ``multiplicity`` is exact, ``total`` is within d
    eps / 2 of itself, eps = 2^-52. Domain and errors are those of :func:`gaps`.

    >>> gap_statistics([3.0, 2.0, 2.0, -float("inf"), 0.0])
    GapStatistics(total=np.float64(5.0), smallest=np.float64(1.0), multiplicity=np.int64(2))
    """
    u = gaps(logits)
    if u.shape[-1] == 0:
        empty = np.zeros(u.shape[:-1])
        return GapStatistics(empty[()], (empty + np.inf)[()], empty.astype(np.int64)[()])
    x = np.sort(check_logits(logits))
    second = x[..., -2]
    # Equal logits, not equal rounded gaps, make equal gaps.
    copies = (x[..., :-1] == second[..., None]).sum(axis=-1) * np.isfinite(second)
    return GapStatistics(np.where(np.isinf(u), 0.0, u).sum(axis=-1)[()], u[..., 0][()], copies[()])
