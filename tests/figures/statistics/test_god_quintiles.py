"""Fifths by GOD: groups that keep ties, their rates, and the test for trend."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from null_levels import assert_super_uniform
from scipy import stats

from paper_figures.statistics.god_quintiles import group_of_ties, quintile_rates
from paper_figures.statistics.trend import trend_test
from paper_figures.statistics.win_rates import rate_of_outcomes

VALUES = st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=12)
PROMPTS = st.lists(st.tuples(st.integers(0, 3).map(float), st.integers(-1, 1)), min_size=1, max_size=6)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def slow_groups(values: list[float], groups: int) -> list[int]:
    """Find each value's group by comparing its mid-rank with every cut, in fractions."""
    labels = []
    for value in values:
        below, ties = sum(other < value for other in values), values.count(value)
        mid_rank = (below + Fraction(ties + 1, 2) - Fraction(1, 2)) / len(values)
        labels.append(max(group for group in range(groups) if mid_rank >= Fraction(group, groups)))
    return labels


@given(VALUES, st.integers(1, 6))
def test_groups_are_cut_by_mid_rank(values: list[float], groups: int) -> None:
    _, index, ties = np.unique(values, return_inverse=True, return_counts=True)
    assert group_of_ties(ties, groups)[index].tolist() == slow_groups(values, groups)


@given(VALUES)
def test_fifths_hold_their_prompts_and_their_rates(values: list[float]) -> None:
    god, outcome = np.array(values), np.resize([1, 0, -1, 1], len(values))
    fifths, labels = quintile_rates(god, outcome), np.array(slow_groups(values, 5))
    for group, fifth in enumerate(fifths):
        members = god[labels == group]
        assert fifth.n == members.size
        assert fifth.god == ((members.min(), members.max()) if members.size else None)
        assert fifth.rate == (rate_of_outcomes(outcome[labels == group]) if members.size else None)
    # Neither the order of the prompts nor a rising transformation matters.
    order = np.random.default_rng(4).permutation(len(values))
    moved = quintile_rates(god[order] ** 3, outcome[order])
    assert [(fifth.n, fifth.rate) for fifth in moved] == [(fifth.n, fifth.rate) for fifth in fifths]


def slow_tau(god: tuple[float, ...], outcome: tuple[int, ...]) -> int:
    pairs = itertools.combinations(range(len(god)), 2)
    return sum(int(np.sign(god[i] - god[j]) * np.sign(outcome[i] - outcome[j])) for i, j in pairs)


@settings(max_examples=examples(60))
@given(PROMPTS)
def test_exact_trend_counts_every_permutation(prompts: list[tuple[float, int]]) -> None:
    god, outcome = zip(*prompts, strict=True)
    trend = trend_test(god, outcome, rng(), resamples=720)
    observed = abs(slow_tau(god, outcome))
    far = [abs(slow_tau(god, way)) >= observed for way in itertools.permutations(outcome)]
    assert trend.exact and trend.p == pytest.approx(np.mean(far))
    if trend.status == "ok":
        assert trend.tau == pytest.approx(stats.kendalltau(god, outcome).statistic)
    else:
        assert trend.tau is None and trend.p == 1.0
        assert len({*(god if trend.status == "constant god" else outcome)}) == 1


def test_drawn_trend_is_near_the_exact_one_and_keeps_signs() -> None:
    source = np.random.default_rng(8)
    god = source.integers(0, 9, 15)
    outcome = np.where(np.argsort(np.argsort(god + source.normal(0, 3, 15))) < 7, -1, 1)
    exact = trend_test(god, outcome, rng(), resamples=6435)
    drawn = trend_test(god, outcome, rng(), resamples=4000)
    assert exact.exact and not drawn.exact and drawn.tau == exact.tau
    assert drawn.p == pytest.approx(exact.p, abs=0.035)
    assert exact.tau == pytest.approx(stats.kendalltau(god, outcome).statistic)
    for turned in (trend_test(-god, outcome, rng(), resamples=6435), trend_test(god, -outcome, rng(), resamples=6435)):
        assert (turned.tau, turned.p) == (pytest.approx(-exact.tau), exact.p)
    order = source.permutation(15)
    assert trend_test(god[order], outcome[order], rng(), resamples=4000) == drawn


def test_slope_is_the_least_squares_line_and_its_bootstrap_cuts_anew() -> None:
    source = np.random.default_rng(6)
    god = source.integers(0, 40, 60) / 8
    outcome = np.where(source.random(60) < god / 6, 1, source.integers(-1, 1, 60))

    def slope(picked: np.ndarray) -> float:
        return np.polyfit(slow_groups(god[picked].tolist(), 5), outcome[picked] == 1, 1)[0]

    fitted = trend_test(god, outcome, rng(), resamples=2000).slope
    assert fitted is not None and fitted.mean == pytest.approx(slope(np.arange(60)))
    slow = np.quantile([slope(source.integers(60, size=60)) for _ in range(600)], [0.025, 0.975])
    assert (fitted.low, fitted.high) == pytest.approx(tuple(slow), abs=0.012)
    assert fitted.low > 0


def test_trend_keeps_its_level_and_finds_a_trend() -> None:
    source = np.random.default_rng(21)
    god = source.integers(0, 12, 40) / 4
    level = [trend_test(god, source.choice([-1, 0, 1], 40), source, resamples=199).p for _ in range(300)]
    assert_super_uniform(level)
    rising = trend_test(god, np.sign(god - 1.5), source)
    assert rising.p == pytest.approx(1e-4) and rising.tau is not None and rising.tau > 0.6


def test_nothing_varies() -> None:
    trend = trend_test([1.0], [1], rng())
    assert (trend.status, trend.tau, trend.p, trend.slope) == ("constant god", None, 1.0, None)
    draws = trend_test([1.0, 2.0, 3.0, 4.0, 5.0], [0] * 5, rng())
    assert (draws.status, draws.p, draws.slope) == ("constant outcome", 1.0, (0.0, 0.0, 0.0))


def test_misuse_is_refused() -> None:
    with pytest.raises(ValueError, match="god holds values that are not finite"):
        trend_test([math.nan, 1.0], [1, 1], rng())
    with pytest.raises(ValueError, match="outcome has 1 values: god has 2"):
        quintile_rates([1.0, 2.0], [1])
    with pytest.raises(ValueError, match=r"outcome holds 2\.0"):
        quintile_rates([1.0, 2.0], [1, 2])
