"""Hypothesis strategies of laws and rewards that tilt them."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from rws_theory.testing.numbers import log_uniform

__all__ = ["tilted_inputs", "wide_tilts"]


@st.composite
def tilted_inputs(
    draw: st.DrawFn, bound: float = 5.0, reward_bound: float = 5.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log-probabilities of up to six states, unnormalised, some -inf, and their rewards, some equal; float64 [n] each.

    >>> from hypothesis import given, settings
    >>> from rws_theory.tilting import tilt
    >>> @settings(derandomize=True, deadline=None)
    ... @given(tilted_inputs())
    ... def a_tilt_is_a_distribution(law):
    ...     assert abs(np.exp(tilt(*law, 2.0)).sum() - 1) < 1e-12
    >>> a_tilt_is_a_distribution()
    """
    size = draw(st.integers(1, 6))
    log_p = np.array(draw(st.lists(st.floats(-bound, bound), min_size=size, max_size=size)))
    closed = np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    closed[draw(st.integers(0, size - 1))] = False
    entry = st.one_of(st.integers(-3, 3).map(float), st.floats(-reward_bound, reward_bound, allow_subnormal=False))
    reward = np.array(draw(st.lists(entry, min_size=size, max_size=size)))
    return np.where(closed, -np.inf, log_p), reward


@st.composite
def wide_tilts(draw: st.DrawFn) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Log-probabilities, rewards and a factor of either sign, each tiny, ordinary or huge, and large constants added.

    r R stays below 1e200.
    """
    size = draw(st.integers(1, 5))
    log_p, reward = (
        np.array(draw(st.lists(st.floats(-5, 5) | st.integers(-3, 3).map(float), min_size=size, max_size=size)))
        * draw(st.sampled_from([1.0, 1.0, 30.0, 1e-6, 1e6, 1e-150, scale]))
        + draw(st.sampled_from([0.0, 0.0, 1.0, -1e6, shift]))
        for scale, shift in ((1e150, 1e150), (1e60, 1e100))
    )
    log_p[np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size))) & (np.arange(size) > 0)] = -np.inf
    r = draw(st.just(0.0) | st.floats(-4, 4) | log_uniform(1e-6, 1e6) | log_uniform(1e-300, 1e90))
    return log_p, reward, r * draw(st.sampled_from([1.0, -1.0]))
