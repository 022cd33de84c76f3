"""Strategies: their factors, their limits, and the controls built from a recorded run."""

from __future__ import annotations

import math
import re

import mpmath
import numpy as np
import pytest
import torch
from tiny_models import llada_predictor

from rws_decode import CallableReward, Decoding, MaskedPositions, RewardReplay, Schedule, Shape
from rws_decode.decode import decode
from rws_decode.strategies.factors import RWS, Confidence, Temperature
from rws_decode.strategies.recorded import constant_of, recorded, shuffled
from rws_theory.gain import factor_range

PROMPTS = ["the cat sat", "a dog ran"]
REWARD = CallableReward(lambda prompt, answer: float(len(answer)), mean=20, std=10)


def rws_run() -> Decoding:
    return decode(llada_predictor(), PROMPTS, RWS(8.0), Shape(length=12, steps=6, block=12), reward=REWARD)


RUN = rws_run()


def test_per_row_and_per_step_tables() -> None:
    assert Temperature((1.0, 2.0)).factor(MaskedPositions(5, 2)).tolist() == [1.0, 2.0]
    assert Schedule(((1.0, 2.0), (3.0, 4.0))).factor(MaskedPositions(1, 2)).tolist() == [2.0, 4.0]
    replay = RewardReplay(8.0, ((0.0, 1.0), (2.0, 3.0)))
    rewarded = MaskedPositions(1, 2, reward=np.array([1.0, 3.0]))
    assert replay.factor(MaskedPositions(1, 2)).tolist() == RWS(8.0).factor(rewarded).tolist()
    coarse, both = RewardReplay(8.0, (3.0, -1.0), eps=0.5), rewarded._replace(reward=np.full(2, -1.0))
    assert coarse.factor(MaskedPositions(1, 2)).tolist() == RWS(8.0, 0.5).factor(both).tolist()


@pytest.mark.parametrize(("scale", "eps"), [(8.0, 1e-5), (0.3, 0.25), (1e100, 1e-12)])
def test_the_factors_of_an_interval_of_rewards_are_enclosed_closely(scale: float, eps: float) -> None:
    """Against the square root at 40 digits: outward by a few roundings, but never beyond what any reward gives."""
    ends = factor_range(scale, eps)

    def factor(reward: float) -> mpmath.mpf:
        share = mpmath.mpf(0) if reward == -math.inf else 1 / (1 + mpmath.exp(-mpmath.mpf(reward)))
        return scale * mpmath.sqrt(share + mpmath.mpf(eps))

    with mpmath.workdps(40):
        for low, high in ((-math.inf, math.inf), (-2.0, 3.0), (0.0, 0.0), (-math.inf, -1.0), (5.0, math.inf)):
            least, most = RWS(scale, eps).factor_range(low, high)
            assert least == ends[0] if low == -math.inf else 5e-15 < 1 - least / factor(low) < 2e-14
            assert most == ends[1] if high == math.inf else 5e-15 < most / factor(high) - 1 < 2e-14
        assert RWS(scale, eps).factor_range(-800.0, 800.0) == ends
        rewards = torch.tensor([-40.0, -2.0, 0.0, 3.0], dtype=torch.float64)
        on_device = RWS(scale, eps).tensor_factor(rewards)
        expected = [float(factor(reward)) for reward in rewards.tolist()]
    assert on_device.dtype == torch.float64
    np.testing.assert_allclose(on_device, expected, rtol=1e-14)


def test_shuffled_keeps_each_rows_rewards_and_moves_them() -> None:
    control = shuffled(list(RUN), np.random.default_rng(1))
    assert control == shuffled(list(RUN), np.random.default_rng(1))
    assert control != shuffled(list(RUN), np.random.default_rng(2))
    for trace, rewards in zip(RUN, control.rewards, strict=True):
        assert isinstance(rewards, tuple)
        assert sorted(rewards) == sorted(trace.reward_normalised.tolist())
        assert (control.reward_scale, control.eps) == (8.0, 1e-5)
    assert any(list(r) != t.reward_normalised.tolist() for r, t in zip(control.rewards, RUN, strict=True))  # type: ignore[arg-type]


def test_the_controls_of_one_run_are_of_its_steps_scale_and_eps() -> None:
    (run,) = decode(llada_predictor(), PROMPTS[:1], RWS(2.0, 0.25), Shape(length=12, steps=6, block=12), reward=REWARD)
    drawn = np.random.default_rng(3).permutation(run.reward_normalised).tolist()
    assert shuffled(run, np.random.default_rng(3)) == RewardReplay(2.0, tuple(drawn), 0.25)
    assert shuffled([run], np.random.default_rng(3)) == RewardReplay(2.0, (tuple(drawn),), 0.25)
    assert recorded(run) == Schedule(tuple(run.factor.tolist()))
    assert recorded([run]) == Schedule((tuple(run.factor.tolist()),))
    assert constant_of([run]) == Temperature((float(run.factor.mean()),))


def test_only_rws_runs_of_one_setting_have_a_shuffled_control() -> None:
    (plain,) = decode(llada_predictor(), PROMPTS[:1], Confidence(), Shape(length=4, steps=2, block=4))
    (other,) = decode(llada_predictor(), PROMPTS[:1], RWS(2.0), Shape(length=4, steps=2, block=4), reward=REWARD)
    default, eight, two = {"name": "default"}, RUN[0].strategy, other.strategy
    for traces, strategies in ((plain, [default]), ([RUN[0], other], [eight, two]), ([], [])):
        message = f"traces come from {strategies}: rws runs of one reward_scale and eps are needed"
        with pytest.raises(ValueError, match=rf"^{re.escape(message)}"):
            shuffled(traces, np.random.default_rng(0))
