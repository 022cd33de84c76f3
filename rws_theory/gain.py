"""The factor by which Reward-Weighted Sampling multiplies the logits, and its range (Step 3, Section 3.2 of the paper).

L' = L * s_R * sqrt(sigmoid(r) + eps), with r the normalised reward (docs/theory.md, eq. (T37)).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rws_theory.confidence import real, sigmoid

__all__ = ["factor_range", "normalise", "reward_factor"]


def normalise(raw: ArrayLike, mean: float, std: float) -> Any:
    """Return the normalised reward r = (raw - mean) / std (Step 2, Section 3.2): dimensionless, of the shape of `raw`.

    Relative error at most 2^-52 (or the nearest subnormal). A quotient beyond float64 becomes an infinity of its sign.
    ValueError unless raw and mean are finite and std is positive and finite.

    >>> float(normalise(6.23, mean=-4.95, std=11.18))
    1.0
    """
    if not math.isfinite(mean):
        raise ValueError(f"mean must be finite, got {mean}")
    if not 0 < std < math.inf:
        raise ValueError(f"std must be positive and finite, got {std}")
    values = real(raw, "raw")
    if not np.isfinite(values).all():
        raise ValueError(f"raw must be finite, got {values[~np.isfinite(values)].flat[0]}")
    with np.errstate(over="ignore"):
        difference = values - mean
        halved = (values / 2 - mean / 2) / std * 2  # where the difference alone is beyond float64
        return np.where(np.isfinite(difference), difference / std, halved)[()]


def reward_factor(reward: ArrayLike, reward_scale: float, eps: float = 1e-5) -> Any:
    """Return the factor s_R sqrt(sigmoid(r) + eps) at normalised reward r (Step 3), in the shape of `reward`.

    It does not decrease with r and stays within :func:`factor_range`. Relative error at most 2^-51 at any r; r = -inf
    and inf give the ends. ValueError for NaN rewards and unless reward_scale (s_R) and eps are positive and finite and
    keep the factor within float64.

    >>> [round(float(f), 4) for f in reward_factor([-2.0, 0.0, 1e308], reward_scale=8.0)]
    [2.7622, 5.6569, 8.0]
    """
    factor_range(reward_scale, eps)
    values = real(reward, "reward")
    if np.isnan(values).any():
        raise ValueError("reward must be a number, got nan")
    return (reward_scale * np.sqrt(sigmoid(values) + eps))[()]


def factor_range(reward_scale: float, eps: float = 1e-5) -> tuple[float, float]:
    """Return the least and greatest factor of any reward, (s_R sqrt(eps), s_R sqrt(1 + eps)), within 1.5 2^-52.

    For finite r the factor lies strictly between; in float64 it may round to an end. ValueError as in
    :func:`reward_factor`.

    >>> [round(f, 6) for f in factor_range(8.0)]
    [0.025298, 8.00004]
    """
    for name, value in (("reward_scale", reward_scale), ("eps", eps)):
        if not 0 < value < math.inf:
            raise ValueError(f"{name} must be positive and finite, got {value}")
    low, high = reward_scale * math.sqrt(eps), reward_scale * math.sqrt(1 + eps)
    if low < np.finfo(np.float64).tiny or high == math.inf:
        raise ValueError(f"reward_scale must keep the factor within float64, got {reward_scale} with eps {eps}")
    return low, high
