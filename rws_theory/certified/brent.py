"""Brent's root finder, for estimates that other modules certify; importing SciPy's would take half a second."""

from __future__ import annotations

import math
from collections.abc import Callable

_RTOL = 2.0**-50  # four times the distance from 1 to the next float
_MOST = 100


def brent_root(function: Callable[[float], float], a: float, b: float, xtol: float) -> float:
    """Return an estimate of a zero of a continuous function between a and b, at which its signs differ.

    The estimate is within xtol + 2^-50 |zero| of a change of sign of the computed values (Brent, "Algorithms for
    Minimization without Derivatives", 1973, chapter 4). The steps are those of scipy.optimize.brentq. The last estimate
    is returned after 100 steps. ValueError where the signs are the same.
    """
    before, value_before, x, value = a, function(a), b, function(b)
    if value_before == 0:
        return before
    if value == 0:
        return x
    if (value_before < 0) == (value < 0):
        raise ValueError(f"function has the same sign at {a} and {b}: a zero between them needs different ones")
    across, value_across = before, value_before  # where the sign is not that of `value`
    step = last_step = x - before
    for _ in range(_MOST):
        if (value_before < 0) != (value < 0):
            across, value_across = before, value_before
            step = last_step = x - before
        if abs(value_across) < abs(value):
            before, x, across = x, across, x
            value_before, value, value_across = value, value_across, value
        near = (xtol + _RTOL * abs(x)) / 2
        half = (across - x) / 2
        if value == 0 or abs(half) < near:
            break
        tried = math.inf
        if abs(last_step) > near and abs(value) < abs(value_before):
            if before == across:
                tried = -value * (x - before) / (value - value_before)
            else:
                slope = (value_before - value) / (before - x)
                slope_across = (value_across - value) / (across - x)
                # Tiny values may underflow here, and the interval is halved.
                bottom = slope_across * slope * (value_across - value_before)
                if bottom:
                    tried = -value * (value_across * slope_across - value_before * slope) / bottom
        if 2 * abs(tried) < min(abs(last_step), 3 * abs(half) - near):
            last_step, step = step, tried
        else:
            last_step = step = half
        before, value_before = x, value
        x += step if abs(step) > near else math.copysign(near, half)
        value = function(x)
    return float(x)
