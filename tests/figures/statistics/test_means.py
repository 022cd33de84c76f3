"""Means over prompts and their ratios: their intervals beside what is counted out one by one."""

import math
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from paper_figures.statistics import bootstrap_interval, clustered_interval, mean_interval, paired_differences
from paper_figures.statistics.intervals import ratio_interval, share_interval, spread_of

VALUES = st.lists(st.integers(-8, 40).map(lambda quarters: quarters / 4), min_size=2, max_size=20)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("sigma", [0.3, 1.0])
def test_the_interval_is_that_of_scipys_bca_bootstrap(sigma: float, level: float) -> None:
    values = rng(2).lognormal(0.0, sigma, 40)
    scale = values.std() / np.sqrt(len(values))
    mean, low, high = mean_interval(values, level)
    assert mean == pytest.approx(values.mean())
    scipys = stats.bootstrap((values,), np.mean, n_resamples=20_000, confidence_level=level, rng=rng())
    assert (low, high) == pytest.approx(tuple(scipys.confidence_interval), abs=0.1 * scale)


@given(VALUES)
def test_interval_holds_the_mean_and_moves_with_the_values(values: list[float]) -> None:
    mean, low, high = mean_interval(values)
    assert low <= mean <= high and mean == pytest.approx(np.mean(values))
    moved = mean_interval(np.multiply(values, 2.0) + 3.0)
    if np.ptp(values):
        assert moved == pytest.approx((2 * mean + 3, 2 * low + 3, 2 * high + 3), abs=1e-9)
        assert min(values) <= low < high <= max(values)
    else:
        assert (low, high) == (-inf, inf)


def test_rounding_is_no_difference() -> None:
    first, second = np.full(16, 0.1) + 0.2, np.full(16, 0.3)
    second[3] = first[3]
    assert mean_interval(paired_differences(first, second))[1:] == (-inf, inf)
    first[5] = 0.4
    assert mean_interval(paired_differences(first, second)).low == 0.0
    assert mean_interval([0.3, 0.1 + 0.2, 0.3])[1:] == (-inf, inf)


def test_a_ratio_is_of_means_and_its_interval_of_resampled_prompts() -> None:
    draw = np.random.default_rng(8)
    first, second = draw.gamma(4.0, 2.0, 20), draw.integers(1, 9, 20)
    slow = []
    for _ in range(4000):
        rows = draw.integers(20, size=20)
        slow.append(first[rows].sum() / second[rows].sum())
    ratio = ratio_interval(first, second, rng(3))
    assert ratio is not None and ratio.mean == pytest.approx(first.sum() / second.sum())
    assert (ratio.low, ratio.high) == pytest.approx(tuple(np.quantile(slow, [0.025, 0.975])), rel=0.05)
    assert ratio_interval([1.0, 2.0], [0.0, 1.0], rng(3)) is ratio_interval([1.0], [0.0], rng(3)) is None


def test_bootstrap_is_the_quantile_of_resampled_means() -> None:
    values = np.random.default_rng(1).normal(size=40)
    interval = bootstrap_interval(values, np.random.default_rng(0))
    means = [np.random.default_rng([7, draw]).choice(values, 40).mean() for draw in range(4000)]
    low, high = np.quantile(means, [0.025, 0.975])
    assert interval.mean == values.mean()
    assert (interval.low, interval.high) == (pytest.approx(low, abs=0.03), pytest.approx(high, abs=0.03))
    assert interval == bootstrap_interval(values, np.random.default_rng(0))
    wider = bootstrap_interval(values, np.random.default_rng(0), level=0.99)
    assert wider.low < interval.low < interval.mean < interval.high < wider.high


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-5, 5)), min_size=2, max_size=12))
def test_an_interval_over_groups_leaves_out_one_at_a_time(rows: list[tuple[int, int]]) -> None:
    groups, values = [group for group, _ in rows], [float(value) for _, value in rows]
    mean, low, high = clustered_interval(values, groups)
    names, middle = set(groups), sum(values) / len(values)
    assert mean == pytest.approx(middle)
    if len(names) < 2 or len(set(values)) == 1:
        assert (low, high) == (-math.inf, math.inf)
        return
    without = [np.mean([value for group, value in rows if group != name]) for name in names]
    error = math.sqrt((1 - 1 / len(names)) * sum((rest - middle) ** 2 for rest in without))
    freedom = len(rows) ** 2 / sum(groups.count(name) ** 2 for name in names) - 1
    assert stats.t.cdf((high - mean) / error, freedom) == pytest.approx(0.975) if error > 1e-9 else low <= high
    assert high - mean == pytest.approx(mean - low)
    as_t = np.std(values, ddof=1) / math.sqrt(len(values)), len(values) - 1
    assert spread_of(values) == pytest.approx(as_t)


@given(st.integers(0, 30), st.integers(1, 30))
def test_share_interval_solves_wilsons_equation(successes: int, total: int) -> None:
    successes = min(successes, total)
    share, low, high = share_interval(successes, total)
    z = 1.959963984540054
    for bound in {low, high} - {0.0, 1.0}:
        assert abs(share - bound) == pytest.approx(z * math.sqrt(bound * (1 - bound) / total), rel=1e-6, abs=1e-9)
    assert low <= share <= high
