"""Scaling all logits by c, which gives p^c / Z: what it does to the expected reward."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rws_theory.tilting.weights import Weights

__all__ = ["rises_with_log_p", "scaled_reward_mean", "scaled_reward_slope"]


def scaled_reward_mean(log_p: ArrayLike, reward: ArrayLike, c: ArrayLike) -> Any:
    """Return E_{p^c}[R], the mean reward after all logits are multiplied by c, in R's unit.

    The distribution is p^c / Z on the support of p, for any finite c (c > 0 is an inverse temperature). Error at most 2
    eps (n + M) E|R - E[R]| + eps |E[R]|, expectations under p^c and M from m(x) = |c (log p(x) - log p(x*))|. Errors as
    in :func:`tilt`.

    >>> [round(float(scaled_reward_mean(np.log([8, 4, 1]), [0, 1, 0], c)), 4) for c in (0, 1 / 3, 1)]
    [0.3333, 0.346, 0.3077]
    """
    state = Weights(log_p, reward, c, "scaled")
    return (state.origin + state.centred()[0])[()]


def scaled_reward_slope(log_p: ArrayLike, reward: ArrayLike, c: ArrayLike) -> Any:
    """Return d/dc E_{p^c}[R] = Cov_{p^c}(log p, R), of either sign: what scaling the logits does to the reward.

    Proof: docs/theory.md, eq. (T43). It is >= 0 for every c if R is a non-decreasing function of log p on the support,
    and > 0 unless R is constant there (eq. (T44)). Otherwise the sign is free: for p = (8, 4, 1)/13 and R = (0, 1, 0)
    it is positive for c < 1/3 and negative beyond. So no monotonicity of the reward in the factor, hence none for RWS,
    follows from Theorem 2.

    Error at most 2 eps (n + M) times the product of the standard deviations of log p and R under p^c, M as in
    :func:`scaled_reward_mean`. Unnormalised input is fine.

    >>> [round(float(scaled_reward_slope(np.log([8, 4, 1]), [0, 1, 0], c)), 4) for c in (0, 1 / 3, 1)]
    [0.077, 0.0, -0.0984]
    """
    state = Weights(log_p, reward, c, "scaled")
    _, deviation = state.centred()
    levels = np.where(np.isneginf(state.log_p), 0.0, state.log_p)
    mean = (state.probabilities * levels).sum(axis=-1, keepdims=True)
    return (state.probabilities * (levels - mean) * deviation).sum(axis=-1)[()]


def rises_with_log_p(log_p: ArrayLike, reward: ArrayLike) -> bool:
    """Say whether R is a non-decreasing function of log p on the support, so that :func:`scaled_reward_slope` is >= 0.

    log_p, reward: shape (states,); states of equal log p must have equal rewards. Compared exactly; errors as in
    :func:`tilt`.

    >>> rises_with_log_p([0.0, -1.0, -np.inf], [3.0, 2.0, 9.0]), rises_with_log_p(np.log([8, 4, 1]), [0, 1, 0])
    (True, False)
    """
    state = Weights(log_p, reward, 0.0)
    if state.log_p.ndim != 1:
        raise ValueError(f"log_p must have shape (states,), got {state.log_p.shape}")
    possible = ~np.isneginf(state.log_p)
    levels, values = state.log_p[possible], state.reward[possible]
    order = np.lexsort((values, levels))
    values, levels = values[order], levels[order]
    level = (levels[1:] != levels[:-1]) | (values[1:] == values[:-1])
    return bool((values[1:] >= values[:-1]).all() and level.all())
