"""The identity in the paper's proof of Theorem 2, and the two true ones in its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rws_theory.show import one_line
from rws_theory.tilting.reward import tilted_cumulants, tilted_gain

__all__ = ["VarianceIdentity", "variance_identity"]


@dataclass(frozen=True)
class VarianceIdentity:
    """The two sides of the paper's A'(r) = A'(0) + r Var_{p_r}[R], and what replaces it; all in R's unit.

    `gain`: A'(r) - A'(0). `printed`: r Var_{p_r}[R]. `integral`: the integral of Var_{p_s}[R] over s from 0 to r;
    `integral_error`: its difference to half as many points. `scale`: an s between 0 and r with r Var_{p_s}[R] = gain;
    `corrected`: r Var_{p_s}[R] there.
    """

    gain: float
    printed: float
    integral: float
    integral_error: float
    scale: float
    corrected: float

    def __repr__(self) -> str:
        return one_line(self)


def variance_identity(log_p: ArrayLike, reward: ArrayLike, r: float) -> VarianceIdentity:
    """Compare A'(r) - A'(0) with r Var_{p_r}[R], as Appendix E has it, and with the two statements that are true.

    The proof of Theorem 2 in Appendix E concludes A'(r) = A'(0) + r Var_{p_r}[R], which is false. Instead, for r != 0,
    the gain is the integral of Var_{p_s}[R] over s from 0 to r, and it is r Var_{p_s}[R] for some s strictly between
    (docs/theory.md, eq. (T42)). The conclusion, gain >= 0, follows from either.

    log_p, reward: shape (states,); r: one finite number other than 0. `gain` is as accurate as :func:`tilted_gain`,
    `printed` to 6 eps (n + M) of itself, `corrected` within 1e-14 of the gain, relatively, and what the rounding of
    `scale` makes of it. `integral` is quadrature on panels that halve toward `scale`, the independent check of `gain`.
    Trust it as far as `integral_error` says, unless the variance has several peaks far narrower than r (many states
    with rewards of thousands / r). ValueError for another shape or r, and as in :func:`tilt`.

    >>> sides = variance_identity([0.0, 0.0], [0.0, 1.0], 2.0)
    >>> round(sides.gain, 4), round(sides.printed, 4), round(sides.integral, 4), round(sides.corrected, 4)
    (0.3808, 0.21, 0.3808, 0.3808)
    >>> 0 < sides.scale < 2
    True
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
