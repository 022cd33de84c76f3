"""Tilting where floats are hard, Theorem 2, what scaling does instead; the reward factor's range."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from rws_theory import factor_range, reward_factor, testing, tilting

Floats = NDArray[np.float64]


@pytest.mark.parametrize(
    ("log_p", "reward", "r"),
    [
        ([0.0, 0.0], [0.0, 1e8], 1.0),  # all of the variance within 1e-7 of 0
        ([0.0, 0.0], [0.0, 1e8], -1.0),
        ([0.0, -5e6], [0.0, 1e7], 1.0),  # within 1e-6 of 0.5
        ([0.0, -50.0], [0.0, 1.0], 40.0),  # only its rise toward r
        ([0.0, -470.0], [0.0, 1000.0], 1.0),
    ],
)
def test_the_integral_sees_a_peak_however_narrow(log_p: list[float], reward: list[float], r: float) -> None:
    sides = tilting.variance_identity(log_p, reward, r)
    assert abs(sides.integral - sides.gain) <= sides.integral_error + 1e-13 * abs(sides.gain)
    assert sides.integral == pytest.approx(sides.gain, rel=1e-9) and sides.integral_error <= 1e-4 * abs(sides.gain)
    assert sides.corrected == pytest.approx(sides.gain, rel=1e-8) and 0 < sides.scale / r < 1
    if r == 40:  # r exp(s) = exp(r) - 1, up to 1e-8
        assert sides.scale == pytest.approx(40 - math.log(40), rel=1e-4)
    if r == 1 and reward[1] == 1000:  # a narrow peak, which only a fine grid is sure to meet
        assert sides.scale == pytest.approx(0.47, abs=0.01)


@pytest.mark.parametrize("name", "tilt tilted_cumulants tilted_gain scaled_reward_mean scaled_reward_slope".split())
def test_a_batch_is_its_rows(name: str) -> None:
    log_p = np.array([[0.0, -1.0, -np.inf, 3.0], [-700.0, 5.0, 5.0, -2.0], [-np.inf, -np.inf, 1e3, -np.inf]])
    reward = np.array([[1.0, -2.0, np.inf, 0.5], [300.0, 4.0, -1.0, 1e-3], [7.0, 8.0, -3.0, 9.0]])
    r = np.array([1e-9, -2.0, 40.0])
    function: Callable[..., Floats] = getattr(tilting, name)
    computed = function(log_p, reward, r)
    for row, batched in enumerate(computed):
        alone = function(log_p[row], reward[row], float(r[row]))
        assert np.shape(alone) == np.shape(batched) and np.array_equal(alone, batched)
        assert np.array_equal(function(log_p[row], reward[row], r[[row]]), computed[[row]])


@given(testing.reward_scales(), testing.log_uniform(1e-12, 1.0))
def test_the_ends_of_the_range_are_the_limits(reward_scale: float, eps: float) -> None:
    low, high = factor_range(reward_scale, eps)
    assert reward_factor([-np.inf, -1e308, 1e308, np.inf], reward_scale, eps).tolist() == [low, low, high, high]
