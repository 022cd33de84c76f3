"""When scaling raises reward: the sort against all pairs and all conditionings, in exact arithmetic."""

from fractions import Fraction
from itertools import combinations, pairwise

import mpmath
import numpy as np
import pytest
from examples import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rws_theory import log_odds, scaling_raises_reward, selection_path, testing
from rws_theory.tilting import Fall, scaled_reward_slope

LAWS = st.lists(st.tuples(st.integers(0, 4), st.integers(-2, 2)), min_size=1, max_size=6).filter(
    lambda law: any(weight for weight, _ in law)
)


def mean(weights: list[int], rewards: list[int], states: tuple[int, ...], c: int) -> Fraction:
    total = sum(weights[x] ** c for x in states)
    return Fraction(sum(weights[x] ** c * rewards[x] for x in states), total)


@settings(max_examples=examples(200))
@given(LAWS)
@example([(2, 1), (2, 0), (3, 1)])  # one weight, two rewards: no contradiction
@example([(2, 2), (2, 0), (3, 1)])
@example([(0, 9), (1, 0)])
def test_it_is_what_every_conditioning_says(law: list[tuple[int, int]]) -> None:
    weights, rewards = map(list, zip(*law, strict=True))
    decided = scaling_raises_reward(weights, rewards)
    possible = [x for x, weight in enumerate(weights) if weight]
    subsets = [s for size in range(1, len(possible) + 1) for s in combinations(possible, size)]
    rises = all(mean(weights, rewards, s, c) <= mean(weights, rewards, s, c + 1) for s in subsets for c in range(5))
    assert decided.raises == bool(decided) == rises
    whole = tuple(possible)
    if rises:
        assert decided.fall is None
        assert decided.strict == (mean(weights, rewards, whole, 1) < mean(weights, rewards, whole, 2))
        levels = decided.levels
        assert [level.weight for level in levels] == sorted({weights[x] for x in possible})
        assert all(a.highest <= b.lowest for a, b in pairwise(levels))
    else:
        fall = decided.fall
        assert fall is not None and not decided.levels and not decided.strict
        two = (fall.likelier, fall.better)
        assert weights[two[0]] > weights[two[1]] > 0 and rewards[two[0]] < rewards[two[1]]
        assert fall.before == mean(weights, rewards, two, 1) > fall.after == mean(weights, rewards, two, 2)
        assert all(mean(weights, rewards, two, c) > mean(weights, rewards, two, c + 1) for c in range(5))


@given(testing.tilted_inputs(), st.floats(-5, 5))
def test_no_slope_is_negative_where_it_raises(inputs: tuple[np.ndarray, np.ndarray], c: float) -> None:
    log_p, reward = inputs
    decided = scaling_raises_reward(np.exp(log_p), reward)
    if decided.raises:
        assert scaled_reward_slope(log_p, reward, c) >= -1e-9 * (1 + np.ptp(reward))


def test_rationals_are_told_apart_and_a_rise_of_all_is_no_guarantee() -> None:
    assert not scaling_raises_reward([1 + Fraction(1, 10**30), Fraction(1)], [0, 1])
    assert scaling_raises_reward([1.0, 1.0], [0, 1])
    # The example of docs/theory.md: E[R] rises at every c > 0, and falls once the likeliest state is excluded.
    weights, rewards = [8, 4, 1], [2, 0, 1]
    assert all(scaled_reward_slope(np.log(weights), rewards, c) > 0 for c in np.geomspace(1e-3, 50, 40))
    assert scaling_raises_reward(weights, rewards).fall == Fall(1, 2, Fraction(1, 5), Fraction(1, 17))


@given(testing.logit_vectors(2, 6, bound=5.0), st.floats(0.05, 8.0))
def test_the_confidence_is_made_of_two_renyi_entropies(logits: np.ndarray, c: float) -> None:
    """-log P(c) = c H_inf + (1 - c) H_c of the softmax at scale 1: eq. (T83) of docs/theory.md."""
    with mpmath.workdps(40):
        powers = [mpmath.exp(mpmath.mpf(float(z)) - float(logits.max())) for z in logits if np.isfinite(z)]
        p = [w / mpmath.fsum(powers) for w in powers]
        h_inf = -mpmath.log(max(p))
        weighted = mpmath.log(mpmath.fsum(q ** mpmath.mpf(c) for q in p))  # (1 - c) H_c
        expected = mpmath.mpf(c) * h_inf + weighted
        odds = mpmath.mpf(float(log_odds(logits, c)))
        computed = mpmath.log1p(mpmath.exp(-odds)) if mpmath.isfinite(odds) else mpmath.mpf(0)
        assert abs(computed - expected) <= mpmath.mpf("1e-13") * (1 + expected)


@pytest.mark.parametrize(("d", "crossings"), [(2, 0), (3, 1), (4, 2)])
def test_the_best_position_changes_as_often_as_davenport_and_schinzel_allow(d: int, crossings: int) -> None:
    """Sequences without i j i ... of length s + 2 have at most 1, n and 2 n - 1 terms for s = 0, 1, 2 (eq. (T84))."""
    rng = np.random.default_rng(d)
    most = 0
    for n in (2, 4, 8) * 8:
        z = rng.normal(size=(n, d)) * rng.choice([0.3, 1.0, 3.0], size=(n, d))
        path = selection_path(z, 1, 1e-4, 1e4)
        tops = [piece.selected[0] for piece in path.pieces]
        assert path.certified and len(tops) <= {0: 1, 1: n, 2: 2 * n - 1}[crossings]
        for i, j in combinations(set(tops), 2):
            turns = [top for top in tops if top in (i, j)]
            assert 1 + sum(a != b for a, b in pairwise(turns)) <= crossings + 1
        most = max(most, len(tops))
    assert (most > 1) == (d > 2)


@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_for_three_tokens_every_position_can_have_its_turn(n: int) -> None:
    """n - 1 breakpoints are reached: at small c the log-odds are nearly lines, times c, and lines can do it."""
    index, step = np.arange(1, n + 1), 1e-3
    total = np.cumsum(step * (n + 1 - index))  # Sigma / 2
    excess = np.sqrt(8.0 * index)
    delta = 50 + total - excess / 2
    z = np.stack([np.zeros(n), -delta, -delta - excess], axis=1)
    path = selection_path(z, 1, 1e-5, 1.0)
    assert path.certified and [piece.selected for piece in path.pieces] == [(i,) for i in reversed(range(n))]
