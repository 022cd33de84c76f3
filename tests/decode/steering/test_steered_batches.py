"""Steered prompts that are decoded in several batches: each is scored with its own prompt and pays its own costs."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import pytest

from rws_decode.predictors import load_predictor
from rws_decode.rewards import CallableReward
from rws_decode.settings import Shape
from rws_decode.steering.steer import steer

PROMPTS = ["the war and peace of the nation", "peace"]


@pytest.mark.parametrize(("method", "numbers"), [("particles:2", {}), ("reward-lookahead:2", {})])
def test_a_prompt_in_a_batch_of_its_own_has_its_own_reward_and_its_own_costs(
    method: str, numbers: dict[str, Any]
) -> None:
    predictor = load_predictor("english")
    reward = CallableReward(lambda prompt, answer: 0.1 * len(prompt) + 0.01 * len(answer))
    together = steer(predictor, PROMPTS, method, Shape(4, 4, 4), reward=reward, **numbers)
    apart = steer(predictor, PROMPTS, method, Shape(4, 4, 4), reward=reward, memory=1, **numbers)
    for one, other in zip(together, apart, strict=True):
        assert one.text == other.text and one.final_reward == other.final_reward
        assert one.reward_calls == other.reward_calls > 0
    assert together.log_partition == pytest.approx(apart.log_partition, nan_ok=True)


def test_a_base_strategy_that_asks_the_reward_asks_it_of_its_own_prompt() -> None:
    predictor = load_predictor("english")
    asked: list[str] = []

    def score(prompt: str, answer: str) -> float:
        asked.append(prompt)
        return 0.0

    reward = CallableReward(score)
    steer(predictor, PROMPTS, "best-of:2", Shape(4, 4, 4), reward=reward, strategy="rws:8", memory=1)
    # The narrower prompt is decoded first, alone.
    assert [prompt for prompt, _ in groupby(asked)] == PROMPTS[::-1]
