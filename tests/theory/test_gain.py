"""The reward factor against its formula at 50 digits, its range, and its inverse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from misuse import refused

from rws_theory import factor_range, inverse_reward, normalise, reward_factor, testing

pytestmark = pytest.mark.filterwarnings("error")


@settings(deadline=None)
@given(st.lists(testing.rewards(), min_size=1, max_size=6), testing.reward_scales(), testing.epsilons())
def test_factor_rises_with_the_reward_and_stays_in_its_range(
    rewards: list[float], reward_scale: float, eps: float
) -> None:
    factors = reward_factor(np.sort(rewards), reward_scale, eps)
    low, high = factor_range(reward_scale, eps)
    assert (np.diff(factors) >= 0).all()
    assert (factors >= low).all() and (factors <= high).all()


@settings(deadline=None)
@given(testing.reward_scales(), testing.epsilons())
def test_the_ends_of_the_range_are_the_limits(reward_scale: float, eps: float) -> None:
    ends = reward_factor([-np.inf, -1e308, 1e308, np.inf], reward_scale, eps)
    low, high = factor_range(reward_scale, eps)
    assert ends.tolist() == [low, low, high, high]
    assert inverse_reward([low, high], reward_scale, eps).tolist() == [-np.inf, np.inf]


def test_shapes_are_kept_and_an_overflow_is_its_limit() -> None:
    assert reward_factor(np.zeros((2, 3)), 8.0).shape == inverse_reward(np.full((2, 3), 4.0), 8.0).shape == (2, 3)
    assert normalise([1e308, -1e308], 0.0, 1e-5).tolist() == [np.inf, -np.inf]
    assert normalise(5e-324, mean=0.0, std=5e-324) == 1.0
    assert normalise([1.5e308, -1.5e308], mean=-1.5e308, std=1e308).tolist() == [3.0, 0.0]
    assert factor_range(8.0) == factor_range(8.0, 1e-5)
    assert factor_range(2.0**-1021, 0.25)[0] == 2.0**-1022  # the least factor that is no subnormal
    # One float below the greatest factor, (factor / s_R)^2 - eps rounds to more than 1.
    factor = float(np.nextafter(factor_range(12.34616371847695, 0.25)[1], 0.0))
    assert inverse_reward(factor, 12.34616371847695, 0.25) == np.inf
    factor = float(np.nextafter(factor_range(14.457617969862225, 0.001)[0], 1.0))  # and to less than 0
    assert inverse_reward(factor, 14.457617969862225, 0.001) == -np.inf
    assert normalise(np.zeros((2, 3)), 1.0, 2.0).tolist() == [[-0.5] * 3] * 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: reward_factor(0.0, 8.0, np.inf), "eps must be positive and finite, got inf"),
        (lambda: inverse_reward("good", 8.0), "factor must be real numbers, got dtype <U4"),
        (lambda: inverse_reward(0.02, 8.0), "factor must ... got 0.02"),
        (lambda: normalise([0.0, np.nan], 0.0, 1.0), "raw must be finite, got nan"),
        (lambda: normalise(1.0, 0.0, np.inf), "std must be positive and finite, got inf"),
        (lambda: normalise(1.0, -np.inf, 1.0), "mean must be finite, got -inf"),
        (lambda: reward_factor(0.0, 1e-323), "reward_scale must ... got 1e-323 with eps 1e-05"),
        (lambda: reward_factor(0.0, 1.79e308, 1.0), "reward_scale must ... got 1.79e+308 with eps 1.0"),
    ],
)
def test_misuse_names_the_argument(call: object, message: str) -> None:
    refused(call, message)
