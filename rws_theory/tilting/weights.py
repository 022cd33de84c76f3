"""Weights of a distribution tilted by a reward or scaled by a factor, formed so that nothing overflows or cancels."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rws_theory.confidence import real

Floats = NDArray[np.float64]
Kind = Literal["tilted", "base", "scaled"]


class Weights:
    """Checked input and the weights e^{log_p + r R - shift}, their total and the reward's origin, on a common shape."""

    def __init__(self, log_p: ArrayLike, reward: ArrayLike, r: ArrayLike, kind: Kind = "tilted") -> None:
        """Check the input and form the weights of a `kind`.

        "tilted": p e^{rR}; "base": p, where r is only checked; "scaled": p^r.
        """
        raw = real(log_p, "log_p")
        if raw.ndim == 0 or raw.shape[-1] == 0:
            raise ValueError(f"log_p must have shape (..., states) with states >= 1, got shape {raw.shape}")
        if np.isnan(raw).any() or np.isposinf(raw).any():
            raise ValueError("log_p must be finite or -inf (an impossible state), got nan or inf")
        if np.isneginf(raw).all(axis=-1).any():
            raise ValueError("log_p must leave at least one state possible, got only -inf")
        scale, values = real(r, "r"), real(reward, "reward")
        if not np.isfinite(scale).all():
            raise ValueError(f"r must be finite, got {scale[~np.isfinite(scale)].flat[0]}")
        try:
            shape = np.broadcast_shapes(raw.shape, values.shape, (*scale.shape, 1))
        except ValueError:
            shapes = f"{raw.shape}, {values.shape} and {scale.shape}"
            raise ValueError(f"log_p, reward and r (one axis less) must broadcast, got shapes {shapes}") from None
        self.log_p = np.broadcast_to(raw, shape)
        self.r = np.broadcast_to(scale, shape[:-1])
        impossible = np.isneginf(self.log_p)
        self.reward = np.where(impossible, 0.0, np.broadcast_to(values, shape))
        if not np.isfinite(self.reward).all():
            raise ValueError(f"reward must be finite, got {self.reward[~np.isfinite(self.reward)].flat[0]}")
        # One of log p and r R is measured from its value at the likeliest state, so that their rounding there is none.
        driver = np.where(impossible, 0.0, self.log_p) if kind == "scaled" else self.reward
        base = np.where(impossible, -np.inf, 0.0) if kind == "scaled" else self.log_p
        factor = self.r if kind != "base" else np.zeros_like(self.r)
        with np.errstate(over="ignore", invalid="ignore"):
            rough = base + factor[..., None] * driver
            best = rough.argmax(axis=-1)[..., None]
            for _ in range(2):  # measured from a state, constants of log p and R no longer hide which is the likeliest
                start, driver_at = (np.take_along_axis(part, best, axis=-1) for part in (base, driver))
                relative = (base - start) + factor[..., None] * (driver - driver_at)
                best = relative.argmax(axis=-1)[..., None]  # NaN only where r R overflows, which is refused below
            driver_at = np.take_along_axis(driver, best, axis=-1)
            shift = (np.take_along_axis(base, best, axis=-1) + factor[..., None] * driver_at)[..., 0]
            self.origin = np.take_along_axis(self.reward, best, axis=-1)[..., 0]
            span = np.abs(self.r)[..., None] * np.abs(driver - driver_at)
            offsets = self.reward - self.origin[..., None]
        if not (np.isfinite(shift).all() and np.isfinite(span).all() and np.isfinite(offsets).all()):
            raise ValueError(f"reward times r must stay within float64, got a span of {span.max()}")
        self.offsets = np.where(impossible, 0.0, offsets)
        start = np.take_along_axis(base, best, axis=-1)
        self.start = start[..., 0]
        with np.errstate(over="ignore"):  # a difference beyond float64 is a weight of 0
            self.log_weights = (base - start) + factor[..., None] * (driver - driver_at)
            top = self.log_weights.max(axis=-1)  # 0 up to rounding, which is large where log p and r R cancel
            weights = np.exp(self.log_weights - top[..., None])
            total = weights.sum(axis=-1)
            self.probabilities = weights / total[..., None]
        self.log_total = top + np.log(total)

    def centred(self) -> tuple[Floats, Floats]:
        """Return E[R] - origin, (...), and R - E[R] on the support (0 elsewhere), (..., states)."""
        mean = (self.probabilities * self.offsets).sum(axis=-1)
        deviation = self.offsets - mean[..., None]
        correction = (self.probabilities * deviation).sum(axis=-1)  # the rounding of `mean`, to first order
        deviation = np.where(np.isneginf(self.log_p), 0.0, deviation - correction[..., None])
        return mean + correction, deviation
