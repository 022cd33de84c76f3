"""Means with BCa intervals, and equal values."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from paper_figures.statistics.intervals import mean_interval, paired_mean_interval

VALUES = st.lists(st.integers(-8, 40).map(lambda quarters: quarters / 4), min_size=2, max_size=20)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def _slow_bca(values: np.ndarray, level: float, resamples: int) -> tuple[float, float]:
    """Efron's formula with loops: bias from the resamples below the mean, acceleration from leaving each value out."""
    draws = rng(1)
    means = np.array([np.mean(draws.choice(values, len(values))) for _ in range(resamples)])
    below = np.mean(means < values.mean()) / 2 + np.mean(means <= values.mean()) / 2
    left_out = np.array([np.mean(np.delete(values, i)) for i in range(len(values))])
    distance = left_out.mean() - left_out
    acceleration = (distance**3).sum() / (6 * (distance**2).sum() ** 1.5)
    bias = stats.norm.ppf(below)
    shifted = bias + stats.norm.ppf([(1 - level) / 2, (1 + level) / 2])
    low, high = np.quantile(means, stats.norm.cdf(bias + shifted / (1 - acceleration * shifted)))
    return low, high


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("sigma", [0.3, 1.0])
def test_the_interval_is_that_of_the_loops(sigma: float, level: float) -> None:
    values = rng(2).lognormal(0.0, sigma, 40)
    scale = values.std() / np.sqrt(len(values))
    mean, low, high = mean_interval(values, rng(), level, 20_000)
    assert mean == pytest.approx(values.mean())
    assert (low, high) == pytest.approx(_slow_bca(values, level, 5000), abs=0.15 * scale)


@given(VALUES)
def test_interval_holds_the_mean_and_moves_with_the_values(values: list[float]) -> None:
    mean, low, high = mean_interval(values, rng(), resamples=199)
    assert low <= mean <= high and mean == pytest.approx(np.mean(values))
    moved = mean_interval(np.multiply(values, 2.0) + 3.0, rng(), resamples=199)
    if np.ptp(values):
        assert moved == pytest.approx((2 * mean + 3, 2 * low + 3, 2 * high + 3), abs=1e-9)
        assert min(values) <= low < high <= max(values)
    else:
        assert (low, high) == (-inf, inf)


def test_the_same_seed_gives_the_same_interval_and_pairs_are_differences() -> None:
    first, second = rng(1).normal(size=30), rng(2).normal(size=30)
    once = paired_mean_interval(first, second, rng(5), resamples=99)
    assert once == paired_mean_interval(first, second, rng(5), resamples=99)
    assert once == mean_interval(first - second, rng(5), resamples=99)


def test_rounding_is_no_difference() -> None:
    first, second = np.full(16, 0.1) + 0.2, np.full(16, 0.3)
    second[3] = first[3]
    assert paired_mean_interval(first, second, rng())[1:] == (-inf, inf)
    first[5] = 0.4
    assert paired_mean_interval(first, second, rng()).low == 0.0
    assert mean_interval([0.3, 0.1 + 0.2, 0.3], rng())[1:] == (-inf, inf)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mean_interval([], rng()), r"values has shape \(0,\)"),
        (lambda: mean_interval([1, np.nan], rng()), "values holds values that are not finite"),
        (lambda: mean_interval([1, 2], rng(), level=95), "level is 95"),
        (lambda: mean_interval([1, 2], rng(), resamples=1), "resamples is 1: .*9999"),
        (lambda: paired_mean_interval([1, 2], [1], rng()), "second has 1 values: first has 2"),
    ],
    ids=["empty", "nan", "level", "resamples", "pairs"],
)
def test_misuse_is_named(call, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()
