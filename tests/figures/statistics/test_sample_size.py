"""How many prompts printed shares allow, and how many it takes to see them: against enumeration."""

from __future__ import annotations

from itertools import product
from math import factorial

import pytest
from scipy.stats import binomtest

from paper_figures.statistics.sample_size import possible_sizes, prompts_needed, sign_test_power
from rws_theory.printed import printed_in


def _slow_power(win: float, loss: float, n: int, alpha: float) -> float:
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
    assert sign_test_power(win, loss, n, alpha) == pytest.approx(_slow_power(win, loss, n, alpha), abs=1e-12)
    assert sign_test_power(loss, win, n, alpha) == pytest.approx(sign_test_power(win, loss, n, alpha), abs=1e-12)


def test_no_difference_is_found_no_oftener_than_alpha() -> None:
    assert max(sign_test_power(0.4, 0.4, n) for n in range(1, 200)) <= 0.05


def test_the_number_needed_reaches_the_power_and_one_less_does_not() -> None:
    for power in (0.5, 0.8, 0.95):
        n = prompts_needed(0.558, 0.402, power)
        assert n is not None
        assert sign_test_power(0.558, 0.402, n) >= power > sign_test_power(0.558, 0.402, n - 1)
    assert prompts_needed(0.5, 0.5, largest=500) is None


def test_sizes_are_those_of_which_counts_give_the_row() -> None:
    row = (41.7, 25.0, 33.3)
    possible = [
        n
        for n in range(1, 40)
        if any(
            (round(100 * a / n, 1), round(100 * b / n, 1), round(100 * (n - a - b) / n, 1)) == row
            for a, b in product(range(n + 1), repeat=2)
            if a + b <= n
        )
    ]
    assert possible_sizes([row], 39) == possible == [12, 24, 36]


def test_rounding_explains_rows_that_do_not_sum_to_a_hundred() -> None:
    rows = [(row["win"], row["draw"], row["default_win"]) for row in printed_in("table1_win_rate")["rows"]]
    assert any(sum(row) != pytest.approx(100, abs=0.01) for row in rows)
    assert possible_sizes(rows, 899) == [450]
    assert possible_sizes([(60.0, 30.0, 20.0)], 500) == []


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: possible_sizes([()], 10), "rows"),
        (lambda: possible_sizes([(120.0,)], 10), "rows"),
        (lambda: possible_sizes([(50.0, 50.0)], 0), "largest is 0"),
        (lambda: sign_test_power(0.7, 0.4, 10), "win and loss are 0.7 and 0.4"),
        (lambda: sign_test_power(0.7, 0.2, 0), "n is 0"),
        (lambda: prompts_needed(0.7, 0.2, power=1.0), "power is 1.0"),
    ],
    ids=["empty", "share", "largest", "sum", "n", "power"],
)
def test_misuse_is_named(call, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()
