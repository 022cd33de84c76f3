"""Fifths by GOD: groups that keep ties, rates, the chance of a monotone column, and the test for trend."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from null_levels import assert_super_uniform
from scipy import stats

from paper_figures.statistics.god_quintiles import is_monotone, monotone_chance, quantile_groups, quintile_rates
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
    grouping = quantile_groups(values, groups)
    assert list(grouping.labels) == slow_groups(values, groups)
    for group, (size, span) in enumerate(zip(grouping.sizes, grouping.ranges, strict=True)):
        members = [value for value, label in zip(values, grouping.labels, strict=True) if label == group]
        assert size == len(members)
        assert span == ((min(members), max(members)) if members else None)


@given(st.lists(st.integers(-99, 99), min_size=1, max_size=30, unique=True), st.integers(1, 7))
def test_groups_without_ties_are_even_and_follow_the_ranks_alone(values: list[int], groups: int) -> None:
    grouping = quantile_groups(values, groups)
    assert max(grouping.sizes) - min(grouping.sizes) <= 1
    assert grouping.labels == quantile_groups([value**3 for value in values], groups).labels
    assert [grouping.labels[i] for i in np.argsort(values)] == sorted(grouping.labels)


def test_equal_values_share_one_group() -> None:
    assert quantile_groups([2.0] * 7).sizes == (0, 0, 7, 0, 0)
    assert quantile_groups([2.0]).sizes == (0, 0, 1, 0, 0)
    many = quantile_groups([0.0] * 6 + [1.0, 2.0, 3.0, 4.0])
    assert many.sizes == (0, 6, 0, 2, 2) and many.ranges[1] == (0.0, 0.0) and many.ranges[0] is None


def test_rates_are_those_of_each_group() -> None:
    source = np.random.default_rng(4)
    god, outcome = source.integers(0, 30, 80) / 8, source.integers(-1, 2, 80)
    rates = quintile_rates(god, outcome)
    labels = np.array(slow_groups(god.tolist(), 5))
    for group, fifth in enumerate(rates.groups):
        members = outcome[labels == group]
        wanted = rate_of_outcomes(members)
        assert fifth.n == members.size and fifth.god == (god[labels == group].min(), god[labels == group].max())
        assert fifth.rate is not None
        assert (fifth.rate.wins, fifth.rate.draws, fifth.rate.losses, fifth.rate.p) == (
            *(wanted.wins, wanted.draws, wanted.losses, wanted.p),
        )
        assert fifth.rate.win == wanted.win
    order = source.permutation(80)
    assert quintile_rates(god[order], outcome[order]) == rates
    assert rates.chance == monotone_chance(int((outcome == 1).sum()), [fifth.n for fifth in rates.groups])


def test_a_rising_column_is_found_past_an_empty_group() -> None:
    rates = quintile_rates([0.0] * 6 + [1.0, 2.0, 3.0, 4.0], [-1] * 6 + [1, 0, 1, 1])
    assert [fifth.rate is None for fifth in rates.groups] == [True, False, True, False, False]
    assert rates.monotone and 0 < rates.chance < 1
    assert not quintile_rates([1.0] * 4, [1, 1, 0, 0]).monotone
    assert not is_monotone([3, 2, 4], [5, 5, 5]) and not is_monotone([2, 2], [5, 5])
    assert is_monotone([1, 1], [5, 4]) and not is_monotone([4], [5]) and not is_monotone([], [])


@given(st.lists(st.integers(0, 3), min_size=1, max_size=4), st.data())
def test_chance_counts_all_ways_to_place_the_wins(sizes: list[int], data: st.DataObject) -> None:
    total = sum(sizes)
    wins = data.draw(st.integers(0, total))
    group = [number for number, size in enumerate(sizes) for _ in range(size)]
    placements = list(itertools.combinations(range(total), wins))
    rising = 0
    for won in placements:
        counts = [sum(group[index] == number for index in won) for number in range(len(sizes))]
        shares = [Fraction(count, size) for count, size in zip(counts, sizes, strict=True) if size]
        rising += len(shares) > 1 and all(low < high for low, high in itertools.pairwise(shares))
    assert monotone_chance(wins, sizes) == pytest.approx(rising / len(placements), abs=1e-12)


def test_chance_agrees_with_simulation_and_nears_one_in_120() -> None:
    source, sizes = np.random.default_rng(2), [90] * 5
    drawn = source.multivariate_hypergeometric(sizes, 266, size=40_000)
    share = (np.diff(drawn, axis=1) > 0).all(axis=1).mean()
    chance = monotone_chance(266, sizes)
    assert chance == pytest.approx(share, abs=3 * math.sqrt(chance / 40_000))
    assert chance < monotone_chance(2660, [900] * 5) < 1 / 120


def slow_tau(god: tuple[float, ...], outcome: tuple[int, ...]) -> int:
    pairs = itertools.combinations(range(len(god)), 2)
    return sum(int(np.sign(god[i] - god[j]) * np.sign(outcome[i] - outcome[j])) for i, j in pairs)


@settings(max_examples=60)
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
        return np.polyfit(quantile_groups(god[picked]).labels, outcome[picked] == 1, 1)[0]

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
    with pytest.raises(ValueError, match="groups is 0"):
        quantile_groups([1.0], 0)
    with pytest.raises(ValueError, match=r"wins is \[3\]"):
        is_monotone([3], [2])
    with pytest.raises(ValueError, match="sizes has 1 groups: wins has 2"):
        is_monotone([3, 2], [2])
    for wins, sizes in ((4, [1, 2]), (-1, [2]), (0, [-1, 2])):
        with pytest.raises(ValueError, match="wins is"):
            monotone_chance(wins, sizes)
