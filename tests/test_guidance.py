"""Strategies: their factors, their limits, and the controls built from a recorded run."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_models import llada_predictor

from rws_decode.decode import Decoding, decode
from rws_decode.guidance import (
    RWS,
    Confidence,
    RewardReplay,
    Schedule,
    Strategy,
    Temperature,
    constant_of,
    describe,
    recorded,
    shuffled,
)
from rws_decode.orders import MaskedPositions
from rws_decode.rewards import CallableReward

SHIPPED = [Confidence(), Temperature(2.0), RWS(8.0), Schedule((1.0,)), RewardReplay(8.0, (0.0,))]
PROMPTS = ["the cat sat", "a dog ran"]
REWARD = CallableReward(lambda prompt, answer: float(len(answer)), mean=20, std=10)


def rws_run() -> Decoding:
    return decode(llada_predictor(), PROMPTS, RWS(8.0), length=12, steps=6, block=12, reward=REWARD)


RUN = rws_run()


@pytest.mark.parametrize("strategy", SHIPPED, ids=lambda strategy: strategy.name)
def test_shipped_strategies_keep_the_protocol(strategy: Strategy) -> None:
    assert isinstance(strategy, Strategy)
    factor = strategy.factor(MaskedPositions(0, 3, reward=np.zeros(3) if strategy.needs_reward else None))
    assert factor.shape == (3,) and factor.dtype == np.float64 and (factor > 0).all()


@given(st.lists(st.floats(-40, 40), min_size=1, max_size=4), st.floats(0.01, 32), st.floats(1e-8, 0.1))
def test_rws_is_the_papers_factor(rewards: list[float], scale: float, eps: float) -> None:
    factor = RWS(scale, eps).factor(MaskedPositions(0, len(rewards), reward=np.array(rewards)))
    expected = [scale * math.sqrt(1 / (1 + math.exp(-r)) + eps) for r in rewards]
    np.testing.assert_allclose(factor, expected, rtol=1e-12)


def test_rws_without_a_reward_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^reward is None"):
        RWS(8.0).factor(MaskedPositions(0, 1))


def test_per_row_and_per_step_tables() -> None:
    assert Temperature((1.0, 2.0)).factor(MaskedPositions(5, 2)).tolist() == [1.0, 2.0]
    assert Schedule(((1.0, 2.0), (3.0, 4.0))).factor(MaskedPositions(1, 2)).tolist() == [2.0, 4.0]
    replay = RewardReplay(8.0, ((0.0, 1.0), (2.0, 3.0)))
    rewarded = MaskedPositions(1, 2, reward=np.array([1.0, 3.0]))
    assert replay.factor(MaskedPositions(1, 2)).tolist() == RWS(8.0).factor(rewarded).tolist()
    with pytest.raises(ValueError, match=r"^scale has 2 rows"):
        Temperature((1.0, 2.0)).factor(MaskedPositions(0, 3))
    with pytest.raises(ValueError, match=r"^factors has 2 steps"):
        Schedule((1.0, 2.0)).factor(MaskedPositions(2, 1))


@pytest.mark.parametrize(
    ("build", "named"),
    [
        (lambda: Temperature(0.0), "scale is 0.0"),
        (lambda: Temperature((1.0, math.nan)), "scale is nan"),
        (lambda: RWS(-1.0), "reward_scale is -1.0"),
        (lambda: RWS(1.0, eps=0.0), "eps is 0.0"),
        (lambda: Schedule(()), "factors must be a tuple"),
        (lambda: Schedule(((1.0,), (1.0, 2.0))), "factors must be a tuple"),
        (lambda: Schedule((1.0, 0.0)), "factors holds 0.0"),
        (lambda: RewardReplay(8.0, (math.inf,)), "rewards holds inf"),
        (lambda: RewardReplay(math.inf, (0.0,)), "reward_scale is inf"),
    ],
)
def test_numbers_that_are_no_factor_are_named(build: Callable[[], Strategy], named: str) -> None:
    with pytest.raises(ValueError, match=rf"^{named}"):
        build()


def test_shuffled_keeps_each_rows_rewards_and_moves_them() -> None:
    control = shuffled(list(RUN), np.random.default_rng(1))
    assert control == shuffled(list(RUN), np.random.default_rng(1))
    assert control != shuffled(list(RUN), np.random.default_rng(2))
    for trace, rewards in zip(RUN, control.rewards, strict=True):
        assert isinstance(rewards, tuple)
        assert sorted(rewards) == sorted(trace.reward_normalised.tolist())
        assert (control.reward_scale, control.eps) == (8.0, 1e-5)
    assert any(list(r) != t.reward_normalised.tolist() for r, t in zip(control.rewards, RUN, strict=True))  # type: ignore[arg-type]


def test_unshuffled_rewards_repeat_the_run() -> None:
    rewards = tuple(tuple(trace.reward_normalised.tolist()) for trace in RUN)
    again = decode(llada_predictor(), PROMPTS, RewardReplay(8.0, rewards), length=12, steps=6, block=12)
    assert again.tokens.tolist() == RUN.tokens.tolist()
    assert [trace.factor.tolist() for trace in again] == [trace.factor.tolist() for trace in RUN]
    assert again.reward_calls == 0


def test_constant_is_the_mean_factor_of_each_row() -> None:
    assert constant_of(RUN[0]) == Temperature(float(np.mean(RUN[0].factor)))
    assert constant_of(list(RUN)).scale == tuple(float(np.mean(trace.factor)) for trace in RUN)
    assert recorded(RUN[1]) == Schedule(tuple(RUN[1].factor.tolist()))


def test_only_rws_runs_of_one_setting_have_a_shuffled_control() -> None:
    (plain,) = decode(llada_predictor(), PROMPTS[:1], Confidence(), length=4, steps=2, block=4)
    (other,) = decode(llada_predictor(), PROMPTS[:1], RWS(2.0), length=4, steps=2, block=4, reward=REWARD)
    for traces in (plain, [RUN[0], other], []):
        with pytest.raises(ValueError, match=r"^traces come from"):
            shuffled(traces, np.random.default_rng(0))


def test_descriptions_name_every_number() -> None:
    assert [describe(strategy) for strategy in SHIPPED] == [
        {"name": "default"},
        {"name": "temperature", "scale": 2.0},
        {"name": "rws", "reward_scale": 8.0, "eps": 1e-5},
        {"name": "schedule"},
        {"name": "reward-replay", "reward_scale": 8.0, "eps": 1e-5},
    ]
