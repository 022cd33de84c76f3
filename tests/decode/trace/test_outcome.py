"""What a final text is worth stands in its trace: its reward, its log-probability, at no cost of the decode's own."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from tiny_models import CLS, MASK, SEP, bert_predictor

import rws_decode as rws
from rws_decode import RWS, CallableReward, FlippedReward, Shape, WorldPredictor, decode
from rws_decode.text.dialogue import row_of

BERT = bert_predictor()
STRATEGIES = [
    *(rws.Confidence(), rws.Temperature(3.0), RWS(8.0), rws.RWSEvery(8.0, 4), FlippedReward(8.0)),
    *(rws.RandomReward(8.0, 1), rws.Schedule((2.0,) * 6), rws.LeftToRight(), rws.RandomOrder(2)),
]
PROMPTS: dict[str, Any] = {
    "text": "the cat sat",
    "dialogue": rws.Dialogue(("the cat", "it ran", "a dog")),
    "ids": [CLS, 6, 8, SEP],
    "gaps": [CLS, MASK, 6, *[MASK] * 5, 9, SEP],
    "gaps in text": "the [MASK:4] sat [MASK:2]",
}
SIX = Shape(6, 6, 6)


def counting(texts: list[tuple[str, str]]) -> CallableReward:
    def score(prompt: str, answer: str) -> float:
        texts.append((prompt, answer))
        return float(len(set(answer.split()))) + len(prompt) / 100

    return CallableReward(score, mean=4.0, std=1.5, name="different words")


@pytest.mark.parametrize(("strategy", "prompt"), list(zip(STRATEGIES, [*PROMPTS, *PROMPTS], strict=False)), ids=str)
def test_the_final_reward_is_the_one_computed_afterwards_and_is_not_counted(strategy: Any, prompt: str) -> None:
    calls: list[tuple[str, str]] = []
    (trace,) = decode(BERT, [PROMPTS[prompt]], strategy, SIX, reward=counting(calls))
    scored = len(calls)
    raw, normalised = rws.final_reward(BERT, counting([]), PROMPTS[prompt], trace.tokens.tolist())
    assert trace.final_reward == {"model": "different words", "raw": raw, "normalised": normalised}
    by_steps = int((trace.reward_use == 1).sum())
    assert trace.reward_calls == by_steps and (strategy.needs_reward or by_steps == 0)
    # The text is not scored again if a step has scored it.
    assert scored == by_steps + (calls[-1] not in calls[:by_steps])
    if strategy.needs_reward and trace.reward_use[-1]:
        assert trace.reward_raw[-1] == trace.final_reward["raw"] and scored == by_steps
    if not strategy.needs_reward:
        assert trace.reward_model is None and trace.reward_settings == {}
        (plain,) = decode(BERT, [PROMPTS[prompt]], strategy, SIX)
        assert plain.final_reward is None
        assert replace(trace, final_reward=None) == plain


@pytest.mark.parametrize(
    ("prompt", "length", "strategy"),
    [
        ("my fellow citizens, we must", 6, "rws:8"),
        ("we ask for [MASK:2] peace and the [MASK:3] of the people", 5, "left-to-right"),
    ],
)
def test_the_log_probability_is_the_world_s(english: WorldPredictor, prompt: str, length: int, strategy: str) -> None:
    (trace,) = decode(english, prompt, strategy, Shape(length, length, length), reward=rws.load_reward("era"))
    row = row_of(trace.prompt.tolist(), english.mask_id, length)
    canvas, total = torch.tensor([row]), 0.0  # word by word from the left, each given all that is known
    for column, token in zip(np.flatnonzero(np.array(row) == english.mask_id).tolist(), trace.tokens, strict=True):
        logits = english.logits(canvas, None)[0, column].double().numpy()
        total += logits[token] - np.logaddexp.reduce(logits)
        canvas[0, column] = int(token)
    assert trace.log_prob == pytest.approx(total, abs=1e-9) and total < 0
    assert trace.log_prob == english.log_prob(trace.prompt.tolist(), trace.tokens.tolist())
