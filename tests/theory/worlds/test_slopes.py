"""First effects of tilting and scaling on the mean reward, against enumeration and against the tilt itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_worlds import Case, cases

from rws_theory.worlds import NGram, reward_slopes


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
    slopes = reward_slopes(world, reward, 40, [3, 5])
    means = [world.tilt(reward, beta).mean(reward, 40, [3, 5]) for beta in (-1e-4, 1e-4)]
    assert slopes.tilting == pytest.approx((means[1] - means[0]) / 2e-4, rel=1e-5)
    texts = [world.sample(40, rng, [3, 5]) for _ in range(2_000)]
    log_p = np.array([world.log_prob(text, [3, 5]) for text in texts])
    rewards = reward[np.array(texts)].sum(axis=1)
    products = (log_p - slopes.mean_log_p) * (rewards - slopes.mean_reward)
    error = products.std() / np.sqrt(len(texts))
    assert abs(products.mean() - slopes.scaling) < 5 * error


def test_misuse_is_refused() -> None:
    world = NGram.fit([[0, 1]], vocabulary=2)
    with pytest.raises(ValueError, match="reward is of pairs"):
        reward_slopes(world, np.zeros((2, 2)), 3)
    with pytest.raises(ValueError, match="world is tilted"):
        reward_slopes(world.tilt([0.0, 1.0], 1.0), [0.0, 1.0], 3)
    with pytest.raises(ValueError, match="n is 0"):
        reward_slopes(world, [0.0, 1.0], 0)
    with pytest.raises(ValueError, match="n is"):
        reward_slopes(world, [0.0, 1.0], [-1, -1])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="context holds 2"):
        reward_slopes(world, [0.0, 1.0], 3, [2])
