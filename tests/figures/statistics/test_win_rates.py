"""Win rates: outcomes, shares with intervals and the sign test, against enumeration and simulation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from null_levels import assert_super_uniform

from paper_figures.statistics.intervals import bootstrap_interval, share_interval
from paper_figures.statistics.significance import paired_test
from paper_figures.statistics.win_rates import paired_outcomes, rate_of_counts, rate_of_outcomes

SCORES = st.integers(-6, 6).map(lambda quarters: quarters / 4)
PAIRS = st.lists(st.tuples(SCORES, SCORES), min_size=1, max_size=9)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@given(PAIRS, st.sampled_from([0.0, 0.25, 1.0]))
@example([(0.25, 0.0), (0.0, 1.0), (0.5, 0.0)], 0.25)  # a difference that is the tolerance is a draw
def test_outcomes_are_signs_of_differences_beyond_the_tolerance(
    pairs: list[tuple[float, float]], tolerance: float
) -> None:
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
    assert rate.p == pytest.approx(paired_test(outcomes, 0 * outcomes, rng()))


def test_net_win_has_an_interval_near_the_bootstraps_where_prompts_are_many() -> None:
    outcomes = np.repeat([1, 0, -1], [60, 15, 45])
    rate, slow = rate_of_outcomes(outcomes), bootstrap_interval(outcomes, np.random.default_rng(5))
    assert tuple(rate.net) == pytest.approx(tuple(slow), abs=0.02)
    assert tuple(rate.half_draws) == pytest.approx([(1 + bound) / 2 for bound in slow], abs=0.01)
    wider = rate_of_outcomes(outcomes, level=0.99)
    assert wider.net.low < rate.net.low and wider.win.low < rate.win.low and wider.p == rate.p


def test_order_of_prompts_does_not_matter_and_exchange_mirrors() -> None:
    outcomes = np.repeat([1, 0, -1], [9, 4, 5])
    rate = rate_of_outcomes(outcomes)
    assert rate == rate_of_outcomes(np.random.default_rng(3).permutation(outcomes))
    turned = rate_of_outcomes(-outcomes)
    assert (turned.win, turned.loss, turned.p) == (rate.loss, rate.win, rate.p)
    assert tuple(turned.net) == pytest.approx((-rate.net.mean, -rate.net.high, -rate.net.low))


def test_intervals_cover_and_p_keeps_its_level() -> None:
    source = np.random.default_rng(11)
    shares = np.array([0.4, 0.2, 0.4])
    rates = [rate_of_counts(*map(int, source.multinomial(60, shares))) for _ in range(300)]
    assert_super_uniform([rate.p for rate in rates])
    for name, truth in (("win", 0.4), ("draw", 0.2), ("decided", 0.5), ("net", 0.0), ("half_draws", 0.5)):
        covered = np.mean([getattr(rate, name).low <= truth <= getattr(rate, name).high for rate in rates])
        assert covered > 0.95 - 3 * math.sqrt(0.95 * 0.05 / 300), name


def test_one_prompt_and_draws_only_say_little() -> None:
    draws = rate_of_counts(0, 3, 0)
    assert (draws.draws, draws.decided, draws.p) == (3, None, 1.0) and draws.net.low < -0.5 < 0.5 < draws.net.high
    rate = rate_of_counts(1, 0, 0)
    assert rate.p == 1.0 and rate.win.low < 0.3 and rate.decided == rate.win
    assert paired_outcomes([1e308], [-1e308]).tolist() == [1]


def test_misuse_is_refused() -> None:
    with pytest.raises(ValueError, match="default has 1 values: method has 2"):
        paired_outcomes([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="method holds values that are not finite"):
        paired_outcomes([math.nan], [1.0])
    with pytest.raises(ValueError, match="method has shape"):
        paired_outcomes([], [])
    for tolerance in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="tolerance is"):
            paired_outcomes([1.0], [1.0], tolerance=tolerance)
    with pytest.raises(ValueError, match=r"outcome holds 0.5: 1 \(win\)"):
        rate_of_outcomes([1, 0.5])
    for counts in ((0, 0, 0), (-1, 2, 3)):
        with pytest.raises(ValueError, match="wins, draws, losses are"):
            rate_of_counts(*counts)
    with pytest.raises(ValueError, match="level is 1"):
        rate_of_counts(1, 1, 1, level=1)
