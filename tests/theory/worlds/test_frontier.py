"""The frontier and the first effects of tilting and scaling, against all texts of small worlds and on a larger one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_worlds import Case, cases

from rws_theory.worlds import NGram, frontier, frontiers, reward_slopes
from rws_theory.worlds.tilts import score


@given(case=cases(), kind=st.integers(0, 2), beta=st.floats(0.1, 20.0))
def test_the_complete_frontier_is_the_hull_of_all_texts(case: Case, kind: int, beta: float) -> None:
    reward = case.rewards[kind]
    curve = frontier(case.world, reward, case.canvas, case.context, beta=beta, searches=1000)
    log_p, rewards = case.log_p[case.allowed], case.scores(reward)[case.allowed]
    log_p = log_p - np.logaddexp.reduce(log_p)  # given the revealed words
    assert curve.complete
    for weight in np.linspace(0.0, beta, 50):
        best = max(point.log_prob + weight * point.reward for point in curve.points)
        assert best == pytest.approx((log_p + weight * rewards).max(), abs=1e-7)
    weights = [point.beta for point in curve.points]
    assert weights == sorted(weights) and weights[0] == 0.0
    for point in curve.points:
        value = point.log_prob + point.beta * point.reward
        assert value == pytest.approx((log_p + point.beta * rewards).max(), abs=1e-7)


@given(case=cases(), kind=st.integers(0, 2), searches=st.integers(2, 4))
def test_no_text_lies_above_it_also_where_searches_run_out(case: Case, kind: int, searches: int) -> None:
    reward = case.rewards[kind]
    curve = frontier(case.world, reward, case.length, case.context, beta=3.0, searches=searches)
    assert len(curve.lines) <= searches
    for text, log_prob in zip(case.texts, case.log_p, strict=True):
        assert curve.regret(log_prob, score(reward, text, case.context)) >= -1e-9


@given(case=cases(), kind=st.integers(0, 2))
def test_many_frontiers_at_once_are_those_of_each_context(case: Case, kind: int) -> None:
    reward, betas = case.rewards[kind], [0.0, 0.5, 2.0]
    contexts = [case.context, [0], []]
    for context, curve in zip(contexts, frontiers(case.world, reward, case.length, contexts, betas), strict=True):
        for beta, value in curve.lines:
            best = case.world.tilt(reward, beta).best(case.length, context)
            expected = case.world.log_prob(best, context) + beta * score(reward, best, context)
            assert value == pytest.approx(expected, abs=1e-9)
        whole = frontier(case.world, reward, case.length, context, beta=2.0, searches=1000)
        for point in whole.points:
            assert curve.regret(point.log_prob, point.reward) >= -1e-9


@given(case=cases(), kind=st.sampled_from([0, 2]))
def test_moments_are_those_of_enumeration(case: Case, kind: int) -> None:
    slopes = reward_slopes(case.world, case.rewards[kind], case.length, case.context)
    log_p, rewards = case.log_p, case.scores(case.rewards[kind])
    p = np.exp(log_p)
    assert slopes.mean_reward == pytest.approx(p @ rewards, abs=1e-11)
    assert slopes.mean_log_p == pytest.approx(p @ log_p, abs=1e-11)
    assert slopes.tilting == pytest.approx(p @ (rewards - p @ rewards) ** 2, abs=1e-11)
    assert slopes.scaling == pytest.approx(p @ ((rewards - p @ rewards) * (log_p - p @ log_p)), abs=1e-11)


def test_at_length_they_are_the_tilts_derivative_and_the_samples_covariance() -> None:
    rng = np.random.default_rng(0)
    world, reward = NGram.fit([rng.zipf(1.4, 4_000) % 60], 3, vocabulary=60), rng.normal(size=60)
    slopes = reward_slopes(world, reward, 20, [3, 5])
    means = [world.tilt(reward, beta).mean(reward, 20, [3, 5]) for beta in (-1e-4, 1e-4)]
    assert slopes.tilting == pytest.approx((means[1] - means[0]) / 2e-4, rel=1e-5)
    texts = [world.sample(20, rng, [3, 5]) for _ in range(500)]
    log_p = np.array([world.log_prob(text, [3, 5]) for text in texts])
    rewards = reward[np.array(texts)].sum(axis=1)
    products = (log_p - slopes.mean_log_p) * (rewards - slopes.mean_reward)
    error = products.std() / np.sqrt(len(texts))
    assert abs(products.mean() - slopes.scaling) < 5 * error
