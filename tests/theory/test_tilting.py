"""Tilting against its definition at 60 digits, Theorem 2 with its strictness, and what scaling does instead."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from misuse import refused
from numpy.typing import NDArray

from rws_theory.tilting import (
    log_partition,
    rises_with_log_p,
    scaled_reward_mean,
    scaled_reward_slope,
    tilt,
    tilted_cumulants,
    tilted_gain,
    variance_identity,
)
from rws_theory.tilting.reward import _mean_value

pytestmark = pytest.mark.filterwarnings("error")

Floats = NDArray[np.float64]


def test_huge_constants_do_not_hide_the_likeliest_state() -> None:
    """Among numbers near 1e18, 128 apart as floats, the likeliest state is found and rewards are measured from it."""
    log_p, reward = [1e18, 1e18 + 128], [1.0, 0.0]
    assert tilted_cumulants(log_p, reward, 100.0)[0] == pytest.approx(1 / (1 + math.exp(28)), rel=1e-12, abs=0)
    assert 0.289 * log_p[0] == 0.289 * log_p[1]
    computed = scaled_reward_mean(log_p, reward, 0.289)
    assert computed == pytest.approx(1 / (1 + math.exp(0.289 * 128)), rel=1e-12, abs=0)


def test_weights_stay_finite_where_log_p_and_reward_cancel() -> None:
    """Where log p and r R cancel to rounding errors of thousands, a tilt is a distribution, as in other rows."""
    log_p = [[-7.000000000000001e21, 5.999999999999999e21, -4e21], [0.0, 0.0, 0.0]]
    computed = tilt(log_p, [[7e22, -6e22, 4e22], [1.0, 1.0, 1.0]], 0.1)
    assert np.exp(computed).sum(axis=-1).tolist() == pytest.approx([1, 1], rel=1e-14)
    assert computed[1].tolist() == pytest.approx([-math.log(3)] * 3, rel=1e-14)


@pytest.mark.parametrize("size", [111, 116, 198])
@pytest.mark.parametrize("value", [0.3, 0.7, 3.3])
def test_a_mean_of_many_states_is_correct_to_the_last_digits(size: int, value: float) -> None:
    log_p, reward = np.zeros(size), np.append(0.0, np.full(size - 1, value))
    mean = float(Fraction(value) * (size - 1) / size)
    assert scaled_reward_mean(log_p, reward, 0.0) == pytest.approx(mean, rel=3e-16, abs=0)
    assert log_partition(log_p, reward, 2.0**-60) == pytest.approx(mean * 2.0**-60, rel=5e-16, abs=0)


def test_impossible_states_do_not_hide_that_a_tilt_is_small() -> None:
    assert log_partition([0.0, 0.0, -np.inf], [0.0, 1e-20, 7.0], 10.0) == pytest.approx(5e-20, rel=1e-14, abs=0)


@pytest.mark.parametrize(
    ("log_p", "reward", "r"),
    [
        ([0.0, 0.0], [0.0, 1e8], 1.0),  # all of the variance within 1e-7 of 0
        ([0.0, 0.0], [0.0, 1e8], -1.0),
        ([0.0, -5e6], [0.0, 1e7], 1.0),  # within 1e-6 of 0.5
        ([0.0, -50.0], [0.0, 1.0], 40.0),  # only its rise toward r
    ],
)
def test_the_integral_sees_a_peak_however_narrow(log_p: list[float], reward: list[float], r: float) -> None:
    sides = variance_identity(log_p, reward, r)
    assert abs(sides.integral - sides.gain) <= sides.integral_error + 1e-13 * abs(sides.gain)
    assert sides.integral == pytest.approx(sides.gain, rel=1e-9) and sides.integral_error <= 1e-4 * abs(sides.gain)
    assert sides.corrected == pytest.approx(sides.gain, rel=1e-8) and 0 < sides.scale / r < 1
    if r == 40:  # r exp(s) = exp(r) - 1, up to 1e-8
        assert sides.scale == pytest.approx(40 - math.log(40), rel=1e-4)


def test_scale_of_the_mean_is_the_nearest_where_no_sign_changes() -> None:
    """As by rounding, where the variance is nearly constant; but a change that is there is found."""
    assert _mean_value(lambda s: 1 + (s - 1.5) ** 2, 1.0, 2.0) == 1.5
    assert _mean_value(lambda s: (s - 0.3) ** 2, 1e-4, 1.0) == pytest.approx(0.29)  # below its average for 1/50 only


@pytest.mark.parametrize(
    "function", [tilt, log_partition, tilted_cumulants, tilted_gain, scaled_reward_mean, scaled_reward_slope]
)
def test_a_batch_is_its_rows(function: Callable[..., Floats]) -> None:
    log_p = np.array([[0.0, -1.0, -np.inf, 3.0], [-700.0, 5.0, 5.0, -2.0], [-np.inf, -np.inf, 1e3, -np.inf]])
    reward = np.array([[1.0, -2.0, np.inf, 0.5], [300.0, 4.0, -1.0, 1e-3], [7.0, 8.0, -3.0, 9.0]])
    r = np.array([1e-9, -2.0, 40.0])
    computed = function(log_p, reward, r)
    for row, batched in enumerate(computed):
        alone = function(log_p[row], reward[row], float(r[row]))
        assert np.shape(alone) == np.shape(batched) and np.array_equal(alone, batched)
        assert np.array_equal(function(log_p[row], reward[row], r[[row]]), computed[[row]])


def test_a_constant_reward_may_be_as_large_as_a_float() -> None:
    assert tilt([0.0, 0.0], [1e308, 1e308], 0.5) == pytest.approx(np.log([0.5, 0.5]))
    assert tilted_gain([0.0, 0.0], [1e308, 1e308], 0.5) == 0.0
    assert rises_with_log_p([1e308, 0.0], [1e308, 0.0])
    assert not rises_with_log_p([-2.0, -1.0, -1.0], [0.0, 1.0, 2.0])
    assert tilted_cumulants([0.0, 0.0], [0.0, 1.0], 0.0, 1).tolist() == [0.5]


def test_leading_axes_broadcast() -> None:
    log_p, reward, r = np.log([[1.0, 2.0], [3.0, 1.0]]), np.array([0.0, 1.0]), np.array([[0.0], [1.0], [2.0]])
    computed = tilted_cumulants(log_p, reward, r, 3)
    assert computed.shape == (3, 2, 3) and log_partition(log_p, reward, r).shape == (3, 2)
    assert tilted_gain(log_p, reward, r).shape == (3, 2)
    assert computed[2, 1].tolist() == pytest.approx(tilted_cumulants(log_p[1], reward, 2.0, 3).tolist())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tilt([-np.inf], [0.0], 1.0), "log_p must leave at least one state possible, got only -inf"),
        (lambda: tilt(0.0, 0.0, 1.0), "log_p must have shape (..., states) with states >= 1, got shape ()"),
        (lambda: tilt(["a"], [0.0], 1.0), "log_p must be real numbers, got dtype <U1"),
        (lambda: tilt([[0.0], [-np.inf]], [0.0], 1.0), "log_p must leave at least one state possible, got only -inf"),
        (lambda: tilt([0.0], [0.0], ["a"]), "r must be real numbers, got dtype <U1"),
        (
            lambda: tilt([0.0, 0.0], [0.0, 1.0, 2.0], 1.0),
            "log_p, reward and r (one axis less) must ... got shapes (2,), (3,) and ()",
        ),
        (lambda: tilt([0.0, 0.0], [0.0, 1e200], 1e200), "reward times r must stay within float64, got a span of inf"),
        (lambda: tilt([0.0, 0.0], [-1e308, 1e308], 0.1), "reward times r must stay within float64, got a span of inf"),
        (lambda: tilted_cumulants([0.0, 0.0], [0.0, 1e100], 0.0, 4), "reward spans 5e+99"),
        (lambda: tilted_cumulants([0.0], [0.0], 0.0, 9), "order is 9: a whole number from 1 to 8 is needed"),
        (lambda: tilted_cumulants([0.0], [0.0], 0.0, True), "order is True: a whole number from 1 to 8 is needed"),
        (lambda: variance_identity([0.0], [0.0], 0.0), "log_p must ... got (1,) and 0.0"),
        (lambda: variance_identity([[0.0]], [0.0], 1.0), "log_p must ... got (1, 1) and 1.0"),
        (lambda: variance_identity([0.0], [0.0], [1.0]), "log_p must ... got (1,) and [1.0]"),
        (lambda: rises_with_log_p([[0.0]], [0.0]), "log_p must have shape (states,), got (1, 1)"),
    ],
)
def test_misuse_is_refused_with_one_line(call: object, message: str) -> None:
    refused(call, message)


def test_the_scale_of_the_mean_is_found_on_a_peak_between_few_points() -> None:
    """The variance is a narrow peak near 0.47, which only a fine grid is sure to meet."""
    sides = variance_identity([0.0, -470.0], [0.0, 1000.0], 1.0)
    assert sides.gain == pytest.approx(1000.0, rel=1e-12)
    assert sides.corrected == pytest.approx(sides.gain, rel=1e-12) and sides.scale == pytest.approx(0.47, abs=0.01)
