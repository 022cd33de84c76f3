"""Reward models: scores alone and in batches, and bounds that no text leaves."""

import math
from pathlib import Path

import numpy as np
import pytest
import tiny_models
import torch
import transformers
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from misuse import refused
from tiny_models import bert_classifier, bert_predictor, llama_classifier, word_tokenizer

from rws_decode import RWS, CallableReward, SequenceClassifierReward, Shape, decode, load_reward
from rws_decode.extra.testing import tiny_checkpoint
from rws_decode.rewards import check_scores
from rws_decode.rewards.network import head_bounds

PAIRS = [
    ("the cat", "sat on the mat ."),
    ("a dog", ""),
    ("a small red bird flew over the tree", "then it was blue . " * 5),
    ("the cat", "sat on the mat"),
]
PROMPTS, ANSWERS = (list(column) for column in zip(*PAIRS, strict=True))


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_checkpoint(
        "classifier",
        tmp_path_factory.mktemp("models") / "tiny-reward",
        files={"reward.json": {"mean": 0.5, "std": 2, "template": "pair"}},
    )


def test_a_function_may_read_the_answer_alone() -> None:
    assert CallableReward(len).score(["why?", ""], ["so", "as"]) == [2.0, 2.0]
    refused(lambda: CallableReward(lambda: 1.0), "of the answer alone, is needed")
    refused(lambda: CallableReward(3), "is 3: a function of (prompt, answer), or of the answer alone, is needed")


@pytest.mark.parametrize("batch_size", [2, 32])
def test_a_batch_scores_as_its_pairs_alone(saved: Path, batch_size: int) -> None:
    model = load_reward(str(saved), mean=-1.0)
    assert isinstance(model, SequenceClassifierReward) and (model.mean, model.std) == (-1.0, 2.0)
    model.batch_size = batch_size
    alone = [model.score([prompt], [answer])[0] for prompt, answer in PAIRS]
    assert model.score(PROMPTS, ANSWERS) == pytest.approx(alone, abs=1e-5)
    assert len(set(alone)) == len(alone)


def test_the_score_is_the_logit_of_the_pair_as_the_tokenizer_lays_it_out(saved: Path) -> None:
    ids = word_tokenizer().convert_tokens_to_ids(["[CLS]", "the", "cat", "[SEP]", "sat", ".", "[EOS]"])
    types = [0, 0, 0, 0, 1, 1, 1]
    reference = bert_classifier()
    with torch.inference_mode():
        plain = reference(input_ids=torch.tensor([ids])).logits.item()
        typed = reference(input_ids=torch.tensor([ids]), token_type_ids=torch.tensor([types])).logits.item()
    (score,) = load_reward(str(saved)).score(["the cat"], ["sat ."])
    assert min(abs(score - plain), abs(score - typed)) < 1e-5


def test_scores_may_be_of_numpy_or_pytorch_and_are_a_list() -> None:
    one = np.array([[1.0]])
    for scores in (one, torch.tensor(one), [*one], iter([np.float32(1)])):
        assert check_scores("odd", ["a"], scores) == [1.0]
    for scores in ({"a": 1.0}, {0: 1.0}, {1.0}, None, 0.5, "5", torch.tensor(1.0), np.float64(1)):
        refused(lambda got=scores: check_scores("odd", ["a"], got), f"reward model odd returned {scores!r}: a list")


def modernbert(seed: int, bias: bool) -> transformers.ModernBertForSequenceClassification:
    config = tiny_models.modernbert(norm_bias=bias, num_labels=1).config
    torch.manual_seed(seed)
    return transformers.ModernBertForSequenceClassification(config)


MODELS = {
    "modernbert": lambda seed: modernbert(seed, False),
    "modernbert with biases": lambda seed: modernbert(seed, True),
    "llama": llama_classifier,
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


def test_shipped_rewards_are_bounded_closely_and_a_score_outside_is_refused() -> None:
    for name in ("mini", "mini-judge"):
        reward = load_reward(name)
        low, high = reward.bounds
        assert -10 < (low - reward.mean) / reward.std < -1 and 1 < (high - reward.mean) / reward.std < 10
    assert load_reward("exact").bounds == (-math.inf, 0.0)
    assert head_bounds(torch.nn.Linear(2, 1)) is None  # an unknown head
    reward = CallableReward(lambda prompt, answer: 3.0, bounds=(0.0, 2.0))
    with pytest.raises(ValueError, match=r"scored 3\.0: its bounds"):
        decode(bert_predictor(), ["a dog"], RWS(1.0), Shape(length=4, steps=2, block=4), reward=reward)
    refused(lambda: CallableReward(lambda prompt, answer: 3.0, bounds=(2.0, 0.0)), "bounds of reward model callable")
