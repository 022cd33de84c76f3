"""Orders, factors and controls from the outside: what they promise."""

import math
from collections.abc import Callable

import mpmath
import numpy as np
import pytest
import torch
from grouped import grouped
from tiny_models import llada_predictor

import rws_decode as rws
from rws_decode import RWS, CallablePredictor, CallableReward, RewardReplay, Schedule, Shape, decode, recorded, shuffled
from rws_theory import factor_range

PREDICTOR = llada_predictor()
PROMPTS = ["the cat sat", "a dog ran over the hill"]
SIZE = {"length": 12, "steps": 6, "block": 6}


def counting() -> tuple[CallableReward, list[str]]:
    answers: list[str] = []

    def reward(prompt: str, answer: str) -> float:
        answers.append(answer)
        return float(len(set(answer.split())))

    return CallableReward(reward, mean=4.0, std=1.5), answers


@pytest.mark.parametrize("every", [1, 2, 7])
def test_the_reward_is_asked_every_so_many_steps_and_the_factor_is_one_between(every: int) -> None:
    reward, answers = counting()
    (trace,) = decode(PREDICTOR, PROMPTS[:1], rws.RWSEvery(8.0, every), reward=reward, **grouped(**SIZE))
    called = [step % every == 0 for step in range(6)]
    assert trace.reward_asked.tolist() == called
    assert (trace.factor[~trace.reward_asked] == 1).all() and (trace.factor[trace.reward_asked] != 1).all()
    by_steps, for_the_trace = answers[: trace.reward_calls], answers[trace.reward_calls :]
    assert for_the_trace == ([] if trace.text in by_steps else [trace.text])
    assert trace.reward_calls + trace.reward_calls_saved == sum(called)
    if every == 1:
        (same,) = decode(PREDICTOR, PROMPTS[:1], RWS(8.0), reward=counting()[0], **grouped(**SIZE))
        assert np.array_equal(same.value, trace.value, equal_nan=True) and np.array_equal(same.factor, trace.factor)


class Odd:
    name = "odd"
    needs_reward = False

    def __init__(self, **methods: Callable[[rws.MaskedPositions], object]) -> None:
        vars(self).update(methods)


@pytest.mark.parametrize(
    ("sensitivity", "distance", "near"), [(None, 4, 2), (None, 5, 0), (1.0, 2, 2), (1.0, 3, 0), (0.0, 0, 2)]
)
def test_an_order_is_as_uncertain_as_sensitive_to_logits(sensitivity: float | None, distance: int, near: int) -> None:
    """The logits are off by 64 2**-23 16 = 2**-13 at most, so that values this times the sensitivity reach apart."""
    table = torch.zeros(2, 9)
    table[:, 5] = 16.0
    strategy = Odd(order=lambda view: torch.tensor([0.0, distance * 2.0**-13], dtype=torch.float64)[view.position])
    if sensitivity is not None:
        strategy.abilities = rws.Abilities(sensitivity=sensitivity)  # type: ignore[attr-defined]
    (trace,) = decode(
        CallablePredictor(lambda canvas: table[None], mask_id=0), [[]], strategy, Shape(length=2, steps=2, block=2)
    )
    assert trace.near_ties.tolist() == [near, 0] and trace.ties.tolist() == [int(distance == 0), 0]


REWARD = CallableReward(lambda prompt, answer: float(len(answer)), mean=20, std=10)
RUN = decode(PREDICTOR, PROMPTS, RWS(8.0), Shape(length=12, steps=6, block=12), reward=REWARD)


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


def test_the_controls_of_one_run_are_of_its_steps_scale_and_eps() -> None:
    (run,) = decode(PREDICTOR, PROMPTS[:1], RWS(2.0, 0.25), Shape(length=12, steps=6, block=12), reward=REWARD)
    drawn = np.random.default_rng(3).permutation(run.reward_normalised).tolist()
    assert shuffled(run, np.random.default_rng(3)) == RewardReplay(2.0, tuple(drawn), 0.25)
    rng = np.random.default_rng(4)
    rows = tuple(tuple(rng.permutation(trace.reward_normalised).tolist()) for trace in RUN)
    assert shuffled(list(RUN), np.random.default_rng(4)) == RewardReplay(8.0, rows, 1e-5)
    assert recorded(run) == Schedule(tuple(run.factor.tolist()))
    assert recorded([run]) == Schedule((tuple(run.factor.tolist()),))
    assert rws.constant_of([run]) == rws.Temperature((float(run.factor.mean()),))
