"""Tango's interval of paired shares: against a grid of score tests whose likelihood is maximised numerically."""

import numpy as np
import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from paper_figures.statistics import net_share, net_share_of_counts, paired_share_difference, restricted_loss

COUNTS = st.tuples(st.integers(0, 12), st.integers(0, 12), st.integers(0, 60)).filter(any)
LEVELS = st.sampled_from([0.8, 0.95, 0.99])


def _slow_loss(wins: int, losses: int, n: int, difference: float) -> float:
    """Maximise the likelihood of the share of losses, with the difference fixed, by golden section."""

    def unlikely(loss: float) -> float:
        shares = np.array([loss + difference, loss, 1 - difference - 2 * loss])
        counts = np.array([wins, losses, n - wins - losses])
        with np.errstate(divide="ignore"):
            return -float(counts[counts > 0] @ np.log(np.maximum(shares, 0.0)[counts > 0]))

    least, most = max(0.0, -difference), (1 - difference) / 2
    inner = minimize_scalar(unlikely, bounds=(least, most), method="bounded", options={"xatol": 1e-12}).x
    return min((inner, least, most), key=unlikely)


def _slow_interval(wins: int, losses: int, n: int, level: float, grid: np.ndarray) -> tuple[float, float]:
    """Return the least and the greatest difference of the grid that the score test does not reject."""
    z = norm.ppf((1 + level) / 2)
    kept = []
    for difference in grid:
        loss = _slow_loss(wins, losses, n, difference)
        variance = n * (2 * loss + difference - difference**2)
        if abs(wins - losses - n * difference) <= z * np.sqrt(max(variance, 0.0)):
            kept.append(difference)
    return min(kept), max(kept)


@given(COUNTS, st.floats(-0.999, 0.999))
def test_the_closed_form_is_the_most_likely_share(counts: tuple[int, int, int], difference: float) -> None:
    wins, losses, draws = counts
    n = wins + losses + draws
    wanted = _slow_loss(wins, losses, n, difference)
    assert restricted_loss(wins, losses, n, difference) == pytest.approx(wanted, abs=1e-5)


@given(COUNTS, LEVELS)
@settings(max_examples=examples(100))
def test_interval_is_what_the_score_test_does_not_reject(counts: tuple[int, int, int], level: float) -> None:
    wins, losses, draws = counts
    n = wins + losses + draws
    net, low, high = net_share_of_counts(wins, losses, n, level)
    step = 1 / 256
    slow = _slow_interval(wins, losses, n, level, np.union1d(np.arange(-1 + step, 1, step), net))
    assert slow == pytest.approx((low, high), abs=1.01 * step)
    assert low <= slow[0] + 1e-6 and slow[1] <= high + 1e-6


@given(COUNTS, LEVELS)
def test_interval_mirrors_holds_the_net_rate_and_has_a_width(counts: tuple[int, int, int], level: float) -> None:
    wins, losses, draws = counts
    n = wins + losses + draws
    net, low, high = net_share_of_counts(wins, losses, n, level)
    assert -1 <= low <= net <= high <= 1 and high - low > 0.01
    assert net_share_of_counts(losses, wins, n, level) == pytest.approx((-net, -high, -low), abs=1e-9)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30))
def test_pairs_outcomes_and_counts_give_one_interval(pairs: list[tuple[bool, bool]]) -> None:
    first, second = np.array(pairs).T
    outcomes = first.astype(int) - second
    wanted = net_share_of_counts(int((outcomes > 0).sum()), int((outcomes < 0).sum()), len(pairs))
    assert paired_share_difference(first, second) == net_share(outcomes) == wanted
    assert wanted.mean == pytest.approx(first.mean() - second.mean())


def test_a_published_interval_is_met() -> None:
    """1 and 7 discordant of 21 pairs: -0.517 to -0.026 (Fagerland, Lydersen and Laake 2014, airway reactivity)."""
    assert net_share_of_counts(1, 7, 21) == pytest.approx((-6 / 21, -0.517, -0.026), abs=5e-4)
