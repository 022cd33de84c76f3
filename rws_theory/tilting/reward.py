"""Tilting a distribution by a reward: p_r = p e^{rR} / Z, its log-partition function, cumulants and gain."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rws_theory.checks import whole
from rws_theory.tilting.weights import Floats, Weights

__all__ = ["MAX_ORDER", "log_partition", "tilt", "tilted_cumulants", "tilted_gain"]

MAX_ORDER = 8


def tilt(log_p: ArrayLike, reward: ArrayLike, r: ArrayLike) -> Floats:
    """Return the log-probabilities of p_r(x) = p(x) e^{rR(x)} / Z (Theorem 2's distribution): nats, shape (...,
    states).

    No weight is formed before the largest is divided out, so the error of each is at most eps (n + 2 m(x) + 2
    E_{p_r}[m]). A log-probability beyond float64 is -inf. ValueError for NaN, infinite rewards of possible states, r R
    beyond float64, or no possible state.

    >>> tilt([-700.0, 0.0], [1.0, 0.0], 700.0).round(6).tolist()
    [-0.693147, -0.693147]
    """
    state = Weights(log_p, reward, r)
    return state.log_weights - state.log_total[..., None]


def log_partition(log_p: ArrayLike, reward: ArrayLike, r: ArrayLike) -> Any:
    """Return A(r) = log sum_x p(x) e^{rR(x)} in nats, with p normalised so that A(0) = 0 (Appendix E, up to its
    constant).

    Error at most 3 eps (n + E_p[m] + E_{p_r}[m] + max |r R|). Where all |r (R - E_p[R])| <= 1 it is also at most 3 eps
    (n + M) max |r R|, M that of p: a small r loses no digits. Domain and errors as in :func:`tilt`.

    >>> round(float(log_partition([0.0, 0.0], [0.0, 1e6], 1.0)), 6)  # 1e6 - log 2
    999999.306853
    """
    state, base = Weights(log_p, reward, r), Weights(log_p, reward, r, "base")
    mean, deviation = base.centred()
    rest = (state.start - base.start) + (state.log_total - base.log_total)
    with np.errstate(over="ignore", invalid="ignore"):  # where this is so, `near` is False
        small = base.r[..., None] * deviation
        # E_p[e^{r (R - E R)}] - 1 >= 0 by Jensen's inequality: the logarithm of a small tilt loses nothing either.
        grown = np.log1p((base.probabilities * np.expm1(small)).sum(axis=-1))
        close = base.r * (base.origin + mean) + grown
        near = np.abs(small).max(axis=-1) <= 1
    return np.where(near, close, base.r * state.origin + rest)[()]


def tilted_cumulants(log_p: ArrayLike, reward: ArrayLike, r: ArrayLike, order: int = 2) -> Floats:
    """Return the derivatives A'(r), A''(r), ..., which are the cumulants of R under p_r: shape (..., order).

    kappa_1 = E_{p_r}[R], kappa_2 = Var_{p_r}[R], kappa_3 is the third central moment, in powers of R's unit; the rest
    follow by a recursion of central moments (docs/theory.md, eq. (T41)).

    Rewards are measured from the one of the likeliest state of p_r and divided by their spread. So a large offset of R
    costs no accuracy beyond its own rounding, and a nearly certain p_r keeps its small variance to full relative
    accuracy: kappa_n is within 3 n! eps (n_states + M) E|R - kappa_1|^n + eps |kappa_n|. order: 1 to 8. ValueError for
    another order, for a cumulant beyond float64, and as in :func:`tilt`.

    >>> tilted_cumulants([0.0, 0.0], [0.0, 1.0], 0.0, order=4).tolist()
    [0.5, 0.25, 0.0, -0.125]
    >>> tilted_cumulants([0.0, 0.0], [1e6, 1e6 + 1], 0.0).tolist()
    [1000000.5, 0.25]
    """
    whole("order", order, 1, MAX_ORDER)
    state = Weights(log_p, reward, r)
    mean, deviation = state.centred()
    spread = np.abs(deviation).max(axis=-1)
    unit = np.where(spread > 0, spread, 1.0)
    scaled = deviation / unit[..., None]
    moments = [(state.probabilities * scaled**n).sum(axis=-1) for n in range(order + 1)]
    kappa: dict[int, Floats] = {}
    for n in range(2, order + 1):
        kappa[n] = moments[n] - sum(comb(n - 1, j - 1) * kappa[j] * moments[n - j] for j in range(2, n - 1))
    with np.errstate(over="ignore"):  # an overflow here is exactly what is being asked about
        result = np.stack([state.origin + mean, *(kappa[n] * unit**n for n in range(2, order + 1))], axis=-1)
    if not np.isfinite(result).all():
        raise ValueError(f"reward spans {spread.max()}: its cumulants of order {order} are beyond float64")
    return result


def tilted_gain(log_p: ArrayLike, reward: ArrayLike, r: ArrayLike) -> Any:
    """Return the gain E_{p_r}[R] - E_p[R] of tilting by r, in R's unit; Theorem 2 says that it is >= 0 for r > 0.

    Theorem 2: let p be a distribution on finitely many states and r > 0. Then E_{p_r}[R] >= E_p[R], with equality
    exactly where Var_{p_r}[R] = 0 (docs/theory.md, eq. (T39)). See :func:`variance_identity` for the paper's own proof.

    What is computed is a sum of terms of one sign (eq. (T40)), so a small r loses no digits and the result never has
    the wrong sign. Relative error at most 2 eps (n + M), M the sum of those of p and p_r. Negative r gives the
    (non-positive) gain of that direction. Errors as in :func:`tilt`.

    >>> round(float(tilted_gain([0.0, 0.0], [0.0, 1.0], 2.0)), 4)
    0.3808
    >>> float(tilted_gain([0.0, 0.0], [0.0, 1.0], 1e-300))
    2.5e-301
    """
    base = Weights(log_p, reward, r, "base")
    _, x = base.centred()
    scale = base.r[..., None]
    log_q = base.log_weights - base.log_total[..., None]
    with np.errstate(over="ignore"):
        rx = scale * x
    top = (log_q + rx).max(axis=-1, keepdims=True)  # sum p e^{rx} >= 1, so e^{log_q - top} <= number of states
    grown = np.exp(log_q + np.maximum(rx, 0.0) - top) * -np.expm1(-np.abs(rx))
    terms = x * np.where(rx >= 0, grown, -grown)
    total = np.exp(log_q + rx - top).sum(axis=-1)
    return (terms.sum(axis=-1) / total)[()]
