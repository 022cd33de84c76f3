"""Win rates, whole and in fifths by GOD: outcomes, shares and tests against enumeration and the definition."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from paper_figures.statistics import group_of_ties, paired_test, quintile_rates, share_interval
from paper_figures.statistics.win_rates import paired_outcomes, rate_of_counts, rate_of_outcomes

SCORES = st.integers(-6, 6).map(lambda quarters: quarters / 4)
PAIRS = st.lists(st.tuples(SCORES, SCORES), min_size=1, max_size=9)


@given(PAIRS, st.sampled_from([0.0, 0.25, 1.0]))
@example([(0.25, 0.0), (0.0, 1.0), (0.5, 0.0)], 0.25)  # a difference that is the tolerance is a draw
def test_outcomes_are_signs_of_differences_beyond_tolerance(pairs: list[tuple[float, float]], tolerance: float) -> None:
    method, default = zip(*pairs, strict=True)
    wanted = [0 if abs(a - b) <= tolerance else 1 if a > b else -1 for a, b in pairs]
    assert paired_outcomes(method, default, tolerance=tolerance).tolist() == wanted
    assert paired_outcomes(default, method, tolerance=tolerance).tolist() == [-sign for sign in wanted]


@given(PAIRS)
def test_counts_and_shares_are_those_of_the_pairs(pairs: list[tuple[float, float]]) -> None:
    method, default = zip(*pairs, strict=True)
    rate = rate_of_outcomes(paired_outcomes(method, default))
    wins, losses = sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)
    assert (rate.wins, rate.draws, rate.losses) == (wins, len(pairs) - wins - losses, losses)
    assert rate.n == len(pairs)
    assert rate.win == share_interval(wins, len(pairs)) and rate.loss == share_interval(losses, len(pairs))
    assert rate.win.mean + rate.draw.mean + rate.loss.mean == pytest.approx(1)
    assert rate.net.mean == pytest.approx((wins - losses) / len(pairs))
    assert rate.half_draws.mean == pytest.approx((wins + rate.draws / 2) / len(pairs))
    assert -1 <= rate.net.low <= rate.net.high <= 1
    if wins + losses:
        assert rate.decided == share_interval(wins, wins + losses)
    else:
        assert rate.decided is None and rate.p == 1.0


@given(st.integers(0, 6), st.integers(0, 3), st.integers(0, 6))
def test_sign_test_counts_every_pattern_of_signs(wins: int, draws: int, losses: int) -> None:
    if wins + draws + losses == 0:
        return
    rate = rate_of_counts(wins, draws, losses)
    patterns = [abs(sum(signs)) for signs in itertools.product((-1, 1), repeat=wins + losses)]
    assert rate.p == pytest.approx(np.mean([far >= abs(wins - losses) for far in patterns]))
    outcomes = np.repeat([1.0, 0.0, -1.0], [wins, draws, losses])
    assert rate.p == pytest.approx(paired_test(outcomes, 0 * outcomes, np.random.default_rng(0)))


VALUES = st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=12)


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
