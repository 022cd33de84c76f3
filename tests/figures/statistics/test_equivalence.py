"""Equivalence tests, least differences and numbers of prompts: against integrals, enumeration and simulation."""

from itertools import product
from math import factorial, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats
from scipy.stats import binomtest

from paper_figures.statistics import least_difference, possible_sizes, prompts_needed, sign_test_power, tost
from rws_theory.printed import printed_in

DIFFERENCES = st.lists(st.integers(-8, 8).map(lambda quarters: quarters / 4), min_size=2, max_size=30)
MARGINS = st.floats(0.01, 0.99)


@given(DIFFERENCES.filter(lambda values: np.ptp(values) > 0), MARGINS)
def test_equivalence_is_the_greater_of_two_one_sided_t_tests(values: list[float], margin: float) -> None:
    result = tost(values, margin)
    n, mean, error = len(values), np.mean(values), np.std(values, ddof=1) / sqrt(len(values))
    assert result.p == pytest.approx(stats.t.sf((margin - abs(mean)) / error, n - 1))
    assert result.p_different == pytest.approx(stats.ttest_1samp(values, 0).pvalue)
    twice = tost(np.repeat(values, 2), margin, np.repeat(np.arange(n), 2))  # prompts of one text each, told twice
    assert twice == pytest.approx(result)


@given(st.integers(1, 500), st.sampled_from([0.0, 0.02, -0.1]), MARGINS)
def test_equal_differences_show_no_equivalence(n: int, value: float, margin: float) -> None:
    assert tost([value] * n, margin) == (1.0, 1.0 if value == 0 else 2.0 ** (1 - n))


def _slow_power(difference: float, sd: float, n: int, alpha: float) -> float:
    """Integrate over the sample's standard deviation: given it, the mean alone decides, and it is normal."""
    cut = stats.t.isf(alpha / 2, n - 1)

    def rejects(ratio: float) -> float:
        center = difference * sqrt(n) / sd
        both = stats.norm.sf(cut * ratio - center) + stats.norm.cdf(-cut * ratio - center)
        return both * 2 * (n - 1) * ratio * stats.chi2.pdf((n - 1) * ratio**2, n - 1)

    ends = np.sqrt(stats.chi2.ppf([1e-12, 1 - 1e-12], n - 1) / (n - 1))
    return integrate.quad(rejects, *ends, limit=200)[0]


@pytest.mark.parametrize("n", [2, 5, 16, 64, 400])
@pytest.mark.parametrize("power", [0.5, 0.8, 0.99])
def test_the_least_difference_is_found_with_the_power(n: int, power: float) -> None:
    least = least_difference(3.0, n, power)
    assert least is not None
    assert _slow_power(least, 3.0, n, 0.05) == pytest.approx(power, abs=1e-5)


def _power_of_counts(win: float, loss: float, n: int, alpha: float) -> float:
    """Add up the probabilities of all counts whose p, as scipy has it, is at most alpha."""
    total = 0.0
    for won, lost in product(range(n + 1), repeat=2):
        drawn = n - won - lost
        if drawn < 0 or won + lost == 0 or binomtest(won, won + lost).pvalue > alpha:
            continue
        arrangements = factorial(n) / (factorial(won) * factorial(lost) * factorial(drawn))
        total += arrangements * win**won * loss**lost * max(0.0, 1 - win - loss) ** drawn
    return total


@pytest.mark.parametrize("n", [1, 6, 17])
@pytest.mark.parametrize(("win", "loss"), [(0.6, 0.3), (0.55, 0.45), (0.0, 0.9), (0.2, 0.2)])
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_power_is_that_of_all_counts(win: float, loss: float, n: int, alpha: float) -> None:
    assert sign_test_power(win, loss, n, alpha) == pytest.approx(_power_of_counts(win, loss, n, alpha), abs=1e-12)
    assert sign_test_power(loss, win, n, alpha) == pytest.approx(sign_test_power(win, loss, n, alpha), abs=1e-12)


def test_the_number_needed_reaches_the_power_and_one_less_does_not() -> None:
    for power in (0.5, 0.8, 0.95):
        n = prompts_needed(0.558, 0.402, power)
        assert n is not None
        assert sign_test_power(0.558, 0.402, n) >= power > sign_test_power(0.558, 0.402, n - 1)
    assert prompts_needed(0.5, 0.5, largest=500) is None


def test_sizes_are_those_of_which_counts_give_the_row() -> None:
    def rows(n: int) -> set[tuple[float, ...]]:
        counts = ((a, b, n - a - b) for a, b in product(range(n + 1), repeat=2) if a + b <= n)
        return {tuple(round(100 * count / n, 1) for count in each) for each in counts}

    row = (41.7, 25.0, 33.3)
    possible = [n for n in range(1, 40) if row in rows(n)]
    assert possible_sizes([row], 39) == possible == [12, 24, 36]


def test_rounding_explains_rows_that_do_not_sum_to_a_hundred() -> None:
    rows = [(row["win"], row["draw"], row["default_win"]) for row in printed_in("table1_win_rate")["rows"]]
    assert any(sum(row) != pytest.approx(100, abs=0.01) for row in rows)
    assert possible_sizes(rows, 899) == [450]
    assert possible_sizes([(60.0, 30.0, 20.0)], 500) == []
