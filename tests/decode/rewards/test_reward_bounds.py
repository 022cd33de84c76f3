"""Bounds of scores: no text leaves them, some hidden state comes near them, and fewer rewards are asked."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import bert_predictor
from transformers import (
    GPT2Config,
    GPT2ForSequenceClassification,
    LlamaConfig,
    LlamaForSequenceClassification,
    ModernBertConfig,
    ModernBertForSequenceClassification,
)

from rws_decode.decode import decode
from rws_decode.rewards import CallableReward, load_reward
from rws_decode.rewards.network import head_bounds
from rws_decode.settings import Shape
from rws_decode.strategies.factors import RWS
from rws_decode.strategies.protocol import MaskedPositions
from rws_decode.strategies.reward_controls import FlippedReward
from rws_decode.testing.networks import VOCABULARY, bert_classifier
from rws_theory.gain import reward_factor

SIZES = {"vocab_size": VOCABULARY, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
SIZES |= {"intermediate_size": 32, "num_labels": 1, "pad_token_id": 0}


def modernbert(seed: int, bias: bool) -> ModernBertForSequenceClassification:
    torch.manual_seed(seed)
    config = ModernBertConfig(**SIZES, norm_bias=bias, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2)
    return ModernBertForSequenceClassification(config)


def llama(seed: int) -> LlamaForSequenceClassification:
    torch.manual_seed(seed)
    return LlamaForSequenceClassification(LlamaConfig(**SIZES, num_key_value_heads=2))


MODELS = {
    "modernbert": lambda seed: modernbert(seed, False),
    "modernbert with biases": lambda seed: modernbert(seed, True),
    "llama": llama,
    "bert": bert_classifier,
}


def last_steps(model: torch.nn.Module, hidden: torch.Tensor) -> torch.Tensor:
    """Return the scores of any last hidden states, [N], by the model's own final modules."""
    kind = type(model).__name__
    if kind.startswith("Modern"):
        return model.classifier(model.head(hidden))[:, 0]
    if kind.startswith("Llama"):
        return model.score(model.model.norm(hidden))[:, 0]
    return model.classifier(model.bert.pooler(hidden[:, None]))[:, 0]


@pytest.mark.parametrize("kind", MODELS)
@settings(max_examples=examples(80))
@given(st.integers(0, 2**31), st.sampled_from([1e-3, 1.0, 1e4]), st.sampled_from([torch.float32, torch.bfloat16]))
def test_no_hidden_state_leaves_the_bounds(kind: str, seed: int, size: float, dtype: torch.dtype) -> None:
    model = MODELS[kind](seed % 7).eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.inference_mode():
        for weight in model.parameters():
            weight.add_(torch.randn(weight.shape, generator=generator) * 0.5)
        model = model.to(dtype)
        low, high = head_bounds(model)
        hidden = torch.randn(200, 16, generator=generator) * size
        scores = last_steps(model, hidden.to(dtype)).double()
    assert low < scores.min() and scores.max() < high


@pytest.mark.parametrize("kind", ["modernbert", "llama"])
def test_the_bounds_are_reached_all_but_for_rounding(kind: str) -> None:
    model = MODELS[kind](3).eval()
    norm, linear = (model.head.norm, model.classifier) if kind == "modernbert" else (model.model.norm, model.score)
    with torch.inference_mode():
        norm.weight.copy_(torch.rand(16, generator=torch.Generator().manual_seed(0)) + 0.5)
        low, high = head_bounds(model)
        direction = linear.weight[0] * norm.weight
        direction = direction - direction.mean() if kind == "modernbert" else direction
        scores = [float(linear(norm(sign * 1e4 * direction[None]))) for sign in (-1, 1)]
    np.testing.assert_allclose(scores, [low, high], rtol=1e-3)


def test_an_unknown_head_has_no_bounds() -> None:
    config = GPT2Config(vocab_size=9, n_positions=8, n_embd=4, n_layer=1, n_head=1, num_labels=1)
    assert head_bounds(GPT2ForSequenceClassification(config)) is None
    assert head_bounds(torch.nn.Linear(2, 1)) is None


def test_the_shipped_rewards_are_bounded_closely() -> None:
    for name in ("mini", "mini-judge"):
        reward = load_reward(name)
        low, high = reward.bounds
        assert -10 < (low - reward.mean) / reward.std < -1 and 1 < (high - reward.mean) / reward.std < 10
    assert load_reward("exact").bounds == (-math.inf, 0.0)


@given(st.floats(0.01, 100), st.floats(-30, 30), st.floats(0, 20), st.floats(0, 1))
def test_factors_of_bounded_rewards_stay_in_their_range(scale: float, low: float, width: float, share: float) -> None:
    reward = np.array([low + share * width])
    for rule in (RWS(scale), FlippedReward(scale)):
        least, most = rule.factor_range(low, low + width)
        assert least <= rule.factor(MaskedPositions(0, 1, reward=reward))[0] <= most
    assert RWS(scale).factor_range(-math.inf, math.inf) == pytest.approx(
        (float(reward_factor(-math.inf, scale)), float(reward_factor(math.inf, scale)))
    )


def test_a_score_outside_its_bounds_is_refused() -> None:
    reward = CallableReward(lambda prompt, answer: 3.0, bounds=(0.0, 2.0))
    with pytest.raises(ValueError, match=r"scored 3\.0: its bounds"):
        decode(bert_predictor(), ["a dog"], RWS(1.0), Shape(length=4, steps=2, block=4), reward=reward)
    with pytest.raises(ValueError, match="bounds of reward model callable"):
        CallableReward(lambda prompt, answer: 3.0, bounds=(2.0, 0.0))
