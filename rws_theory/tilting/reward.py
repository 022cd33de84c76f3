"""The effect on the mean reward of tilting by a reward, p_r = p e^{rR} / Z, and of scaling all logits, p^c / Z."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import comb
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rws_theory.checks import whole
from rws_theory.confidence import real
from rws_theory.show import one_line

MAX_ORDER = 8
Floats = NDArray[np.float64]


def tilt(log_p: ArrayLike, reward: ArrayLike, r: ArrayLike) -> Floats:
    """Return the log-probabilities of p_r(x) = p(x) e^{rR(x)} / Z (Theorem 2): nats, shape (..., states).

    The error of each is at most eps (n + 2 m(x) + 2 E_{p_r}[m]). ValueError for NaN, infinite rewards of possible
    states, r R beyond float64, or no possible state.

    >>> tilt([-700.0, 0.0], [1.0, 0.0], 700.0).round(6).tolist()
    [-0.693147, -0.693147]
    """
    state = _Weights(log_p, reward, r)
    return state.log_weights - state.log_total[..., None]


def tilted_cumulants(log_p: ArrayLike, reward: ArrayLike, r: ArrayLike, order: int = 2) -> Floats:
    """Return the derivatives A'(r), A''(r), ..., which are the cumulants of R under p_r: shape (..., order).

    kappa_1 = E_{p_r}[R], kappa_2 = Var_{p_r}[R]; the rest follow by a recursion of central moments (docs/theory.md, eq.
    (T41)). Rewards are measured from the likeliest state's, in units of their spread: a large offset of R costs no
    accuracy, and a nearly certain p_r keeps its small variance. kappa_n is within 3 n! eps (n_states + M) E|R -
    kappa_1|^n + eps |kappa_n|. order: 1 to 8. ValueError for another order, a cumulant beyond float64, and as in
    :func:`tilt`.

    >>> tilted_cumulants([0.0, 0.0], [0.0, 1.0], 0.0, order=4).tolist()
    [0.5, 0.25, 0.0, -0.125]
    >>> tilted_cumulants([0.0, 0.0], [1e6, 1e6 + 1], 0.0).tolist()
    [1000000.5, 0.25]
    """
    whole("order", order, 1, MAX_ORDER)
    state = _Weights(log_p, reward, r)
    mean, deviation = state.centred()
    spread = np.abs(deviation).max(axis=-1)
    unit = np.where(spread > 0, spread, 1.0)
    scaled = deviation / unit[..., None]
    moments = [(state.probabilities * scaled**n).sum(axis=-1) for n in range(order + 1)]
    kappa: dict[int, Floats] = {}
    for n in range(2, order + 1):
        kappa[n] = moments[n] - sum(comb(n - 1, j - 1) * kappa[j] * moments[n - j] for j in range(2, n - 1))
    with np.errstate(over="ignore"):  # an overflow is what this line tests for
        result = np.stack([state.origin + mean, *(kappa[n] * unit**n for n in range(2, order + 1))], axis=-1)
    if not np.isfinite(result).all():
        raise ValueError(f"reward spans {spread.max()}: its cumulants of order {order} are beyond float64")
    return result


def tilted_gain(log_p: ArrayLike, reward: ArrayLike, r: ArrayLike) -> Any:
    """Return the gain E_{p_r}[R] - E_p[R] of tilting by r, in R's unit.

    Theorem 2 says that it is >= 0 for r > 0, with equality exactly where Var_{p_r}[R] = 0 (docs/theory.md, eq. (T39)).
    It is computed as a sum of terms of one sign (eq. (T40)), so a small r loses no digits and the sign is right.
    Relative error at most 2 eps (n + M), M the sum of those of p and p_r. Errors as in :func:`tilt`.

    >>> round(float(tilted_gain([0.0, 0.0], [0.0, 1.0], 2.0)), 4), float(tilted_gain([0.0, 0.0], [0.0, 1.0], 1e-300))
    (0.3808, 2.5e-301)
    """
    base = _Weights(log_p, reward, r, "base")
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


def scaled_reward_mean(log_p: ArrayLike, reward: ArrayLike, c: ArrayLike) -> Any:
    """Return E_{p^c}[R], the mean reward after all logits are multiplied by c, in R's unit.

    The distribution is p^c / Z on the support of p, for any finite c. Error at most 2 eps (n + M) E|R - E[R]| + eps
    |E[R]|, M from m(x) = |c (log p(x) - log p(x*))|. Errors as in :func:`tilt`.

    >>> [round(float(scaled_reward_mean(np.log([8, 4, 1]), [0, 1, 0], c)), 4) for c in (0, 1 / 3, 1)]
    [0.3333, 0.346, 0.3077]
    """
    state = _Weights(log_p, reward, c, "scaled")
    return (state.origin + state.centred()[0])[()]


def scaled_reward_slope(log_p: ArrayLike, reward: ArrayLike, c: ArrayLike) -> Any:
    """Return d/dc E_{p^c}[R] = Cov_{p^c}(log p, R), of either sign: what scaling the logits does to the reward.

    It is >= 0 for every c if R is a non-decreasing function of log p on the support (docs/theory.md, eq. (T43), (T44)).
    Error at most 2 eps (n + M) times the product of the standard deviations of log p and R, M as in
    :func:`scaled_reward_mean`.

    >>> [round(float(scaled_reward_slope(np.log([8, 4, 1]), [0, 1, 0], c)), 4) for c in (0, 1 / 3, 1)]
    [0.077, 0.0, -0.0984]
    """
    state = _Weights(log_p, reward, c, "scaled")
    _, deviation = state.centred()
    levels = np.where(np.isneginf(state.log_p), 0.0, state.log_p)
    mean = (state.probabilities * levels).sum(axis=-1, keepdims=True)
    return (state.probabilities * (levels - mean) * deviation).sum(axis=-1)[()]


@dataclass(frozen=True)
class VarianceIdentity:
    """The two sides of the paper's A'(r) = A'(0) + r Var_{p_r}[R], and what replaces it; all in R's unit.

    `gain`: A'(r) - A'(0). `printed`: r Var_{p_r}[R]. `integral`: that of Var_{p_s}[R] over s from 0 to r;
    `integral_error`: its difference to half as many points. `corrected`: r Var_{p_s}[R] at s = `scale`, which is the
    gain.
    """

    gain: float
    printed: float
    integral: float
    integral_error: float
    scale: float
    corrected: float

    __repr__ = one_line


def variance_identity(log_p: ArrayLike, reward: ArrayLike, r: float) -> VarianceIdentity:
    """Compare A'(r) - A'(0) with r Var_{p_r}[R], as Appendix E has it, and with the two statements that are true.

    Instead of the printed identity, the gain is the integral of Var_{p_s}[R] over s from 0 to r, and r Var_{p_s}[R] for
    some s strictly between (docs/theory.md, eq. (T42)). Either gives gain >= 0.

    log_p, reward: shape (states,); r: one finite number other than 0. `corrected` is within 1e-14 of the gain,
    relatively, and what the rounding of `scale` makes of it. `integral` is quadrature on panels that halve toward
    `scale`, an independent check; trust it as far as `integral_error` says. ValueError for another shape or r, and as
    in :func:`tilt`.

    >>> sides = variance_identity([0.0, 0.0], [0.0, 1.0], 2.0)
    >>> round(sides.gain, 4), round(sides.printed, 4), round(sides.integral, 4), round(sides.corrected, 4)
    (0.3808, 0.21, 0.3808, 0.3808)
    """
    from scipy.integrate import fixed_quad  # here, so that the exact models do not wait for it

    if np.ndim(log_p) != 1 or np.ndim(r) != 0 or not np.isfinite(r) or r == 0:
        raise ValueError(f"log_p must have shape (states,) and r be finite and not 0, got {np.shape(log_p)} and {r}")

    def variance(s: ArrayLike) -> Any:
        return tilted_cumulants(log_p, reward, s)[..., 1]

    r, gain = float(r), float(tilted_gain(log_p, reward, r))
    scale = _mean_value(variance, gain / r, r)
    # Where the variance is a narrow peak, the scale of its mean lies on a flank of it.
    halved = 2.0 ** -np.arange(41)
    panels = list(pairwise([*(scale - scale * halved), scale, *(scale + (r - scale) * halved[::-1])]))
    fine, coarse = (float(sum(fixed_quad(variance, *panel, n=n)[0] for panel in panels)) for n in (20, 10))
    return VarianceIdentity(gain, r * float(variance(r)), fine, abs(fine - coarse), scale, r * float(variance(scale)))


def _mean_value(function: Callable[[float], float], average: float, r: float) -> float:
    """Return s between 0 and r where a continuous function takes its average over (0, r), or comes closest to it."""
    from scipy.optimize import brentq

    for halvings in range(3, 10):
        grid = np.linspace(0.0, r, 2**halvings + 1)
        values = np.array([function(s) - average for s in grid])
        change = np.flatnonzero(values[:-1] * values[1:] < 0)
        if change.size:
            bracket = grid[change[0]], grid[change[0] + 1]
            root: Any = brentq(lambda s: function(s) - average, *bracket, xtol=1e-300)
            return float(root)
    # The function is its average up to rounding: no sign is left to change.
    return float(min(np.linspace(0.0, r, 513)[1:-1], key=lambda s: abs(function(s) - average)))


class _Weights:
    """Checked input and the weights e^{log_p + r R - shift}, their total and the reward's origin, on a common shape."""

    def __init__(
        self, log_p: ArrayLike, reward: ArrayLike, r: ArrayLike, kind: Literal["tilted", "base", "scaled"] = "tilted"
    ) -> None:
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
