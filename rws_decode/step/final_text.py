"""What a final text is worth: its reward, and its log-probability where the predictor's world has one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rws_decode.canvas.layout import encode_prompts
from rws_decode.predictors.base import MaskPredictor
from rws_decode.rewards.base import RewardModel
from rws_decode.step.cached_reward import Scorer, scorer_of
from rws_decode.text.dialogue import Dialogue

__all__ = ["FinalReward", "final_reward"]


class FinalReward(NamedTuple):
    """The reward of a final text: raw, and normalised by the reward model's mean and deviation."""

    raw: float
    normalised: float


def final_reward(
    predictor: MaskPredictor, reward: RewardModel, prompt: str | Dialogue | Sequence[int], tokens: Sequence[int]
) -> FinalReward:
    """Score an answer as a decode scores its completed answers; `tokens` are those of the answer, or of the gaps.

    ValueError as in `encode_prompts`, and without a tokenizer.

    >>> from rws_decode.predictors import load_predictor
    >>> from rws_decode.rewards import load_reward
    >>> predictor = load_predictor("english")
    >>> final_reward(predictor, load_reward("keywords:peace"), "we ask for", predictor.encode_prompt("peace")).raw
    1.0
    """
    encoded = encode_prompts(predictor, [prompt], len(tokens))
    raw, normalised = scorer_of(predictor, reward, encoded, Scorer).score([0], [[int(token) for token in tokens]])
    return FinalReward(float(raw[0]), float(normalised[0]))
