"""The shipped networks without transformers: the bits of transformers' own, and its refusals."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    ModernBertForMaskedLM,
    ModernBertForSequenceClassification,
    PreTrainedTokenizerBase,
)

from rws_decode import RWS, HFMaskPredictor, SequenceClassifierReward, load_predictor, load_reward
from rws_decode.checkpoints.files import models_directory
from rws_decode.decode import decode
from rws_decode.networks import modernbert
from rws_decode.networks.standalone import network_of
from rws_decode.settings import Options, Shape

MODELS = models_directory()
VOCABULARY = 1616
PAIRS = [
    ("write a short story with meteor .", "the brave meteor fell ."),
    ("sort : two one", "one two . " * 20),
    ("", ""),
    ("[MASK] of [EOS]", "zebra [CLS] zzz"),
]


def masked_by_transformers(folder: Path, dtype: torch.dtype = torch.float32) -> HFMaskPredictor:
    """Return the predictor that transformers' own model and tokenizer make."""
    model = AutoModelForMaskedLM.from_pretrained(folder, dtype=dtype)
    return HFMaskPredictor(model, AutoTokenizer.from_pretrained(folder), name="mini")


def reward_by_transformers(folder: Path) -> SequenceClassifierReward:
    stored = json.loads((folder / "reward.json").read_text(encoding="utf-8"))
    model = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=1, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    return SequenceClassifierReward(model, tokenizer, mean=stored["mean"], std=stored["std"], name=folder.name)


@pytest.fixture
def copied(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that copies a shipped model, config.json changed; None takes a key out."""

    def copy(model: str = "mini", **changes: Any) -> Path:
        folder = Path(
            shutil.copytree(
                MODELS / model, tmp_path / "copy", False, shutil.ignore_patterns("digests.json"), dirs_exist_ok=True
            )
        )
        config = json.loads((folder / "config.json").read_text(encoding="utf-8")) | changes
        config = {key: value for key, value in config.items() if value != "absent"}
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
        return folder

    return copy


def is_ours(loaded: Any) -> bool:
    return isinstance(loaded.network, modernbert.ModernBertNetwork)


# --- the same bits ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@torch.inference_mode()
def test_logits_have_the_bits_of_transformers(dtype: torch.dtype) -> None:
    ours, theirs = load_predictor("mini", dtype=dtype), masked_by_transformers(MODELS / "mini", dtype)
    assert isinstance(ours, HFMaskPredictor) and is_ours(ours) and not is_ours(theirs)
    rng = torch.Generator().manual_seed(0)
    for batch, length in ((1, 1), (1, 40), (3, 17), (5, 64), (2, 130)):
        canvas = torch.randint(VOCABULARY, (batch, length), generator=rng)
        real = torch.randint(1, length + 1, (batch, 1), generator=rng)
        right, left = torch.arange(length) < real, torch.arange(length) >= length - real
        for mask in (None, right, left, torch.ones_like(right)):
            assert torch.equal(ours.logits(canvas, mask), theirs.logits(canvas, mask))
            asked = torch.rand(batch, length, generator=rng) < 0.3
            row, column = asked.nonzero(as_tuple=True)
            expected = theirs.logits_at(canvas, mask, row, column)
            assert torch.equal(ours.logits_at(canvas, mask, row, column), expected) and expected.dtype == dtype


@pytest.mark.parametrize("name", ["mini-reward", "mini-judge"])
def test_rewards_have_the_bits_of_transformers(name: str) -> None:
    ours, theirs = load_reward(str(MODELS / name)), reward_by_transformers(MODELS / name)
    assert isinstance(ours, SequenceClassifierReward) and is_ours(ours) and not is_ours(theirs)
    for pairs in (PAIRS, PAIRS[:1], PAIRS[1:2]):  # padded, and not
        prompts, answers = [prompt for prompt, _ in pairs], [answer for _, answer in pairs]
        assert ours.score(prompts, answers) == theirs.score(prompts, answers)
        assert [ours.ids(*pair) for pair in pairs] == [theirs.ids(*pair) for pair in pairs]
    assert ours.bounds == theirs.bounds is not None and ours.max_length == theirs.max_length == 512
    for reward in (ours, theirs):
        with pytest.raises(ValueError, match=r"reward model .* reads 1 to 512"):
            reward.score(["a"], ["b " * 600])


def test_a_classifier_may_read_its_first_token(copied: Callable[..., Path]) -> None:
    folder = copied("mini-reward", classifier_pooling="cls")
    ours, theirs = load_reward(str(folder)), reward_by_transformers(folder)
    prompts, answers = [prompt for prompt, _ in PAIRS], [answer for _, answer in PAIRS]
    assert is_ours(ours) and ours.score(prompts, answers) == theirs.score(prompts, answers)
    assert ours.score(prompts, answers) != load_reward("mini").score(prompts, answers)


@pytest.mark.parametrize("padding", ["left", "right"])
def test_traces_are_those_of_transformers(padding: str) -> None:
    ours, theirs = load_predictor("mini"), masked_by_transformers(MODELS / "mini")
    rewards = load_reward("mini"), reward_by_transformers(MODELS / "mini-reward")
    rewards[1].name = rewards[0].name
    prompts = [*(example["prompt"] for example in ours.examples[:3]), "a [MASK:3] b [MASK:21] ."]
    options = Options(padding=padding)  # type: ignore[arg-type]
    done = [
        decode(predictor, prompts, RWS(8.0), Shape(24, 8, 24), reward=reward, options=options)
        for predictor, reward in zip((ours, theirs), rewards, strict=True)
    ]
    assert list(done[0]) == list(done[1]) and is_ours(ours) and is_ours(rewards[0])


# --- transformers' own, when they are asked for -----------------------------------------------------------------------


def test_the_objects_of_transformers_are_there_and_compute_from_then_on() -> None:
    predictor, canvas = load_predictor("mini"), torch.full((1, 9), 4)
    assert isinstance(predictor, HFMaskPredictor)
    row, column = torch.tensor([0, 0]), torch.tensor([1, 5])
    with torch.inference_mode():
        before = predictor.logits(canvas, None), predictor.logits_at(canvas, None, row, column)
        assert is_ours(predictor) and isinstance(predictor.model, ModernBertForMaskedLM)
        after = predictor.logits(canvas, None), predictor.logits_at(canvas, None, row, column)
        assert all(torch.equal(first, second) for first, second in zip(before, after, strict=True))
        predictor.model.decoder.bias[7] += 1  # what is done to the model counts
        torch.testing.assert_close(predictor.logits(canvas, None)[..., 7], before[0][..., 7] + 1)
        torch.testing.assert_close(predictor.logits_at(canvas, None, row, column)[:, 7], before[1][:, 7] + 1)
    assert predictor.model is predictor.network and predictor.tokenizer is predictor.codec
    tokenizer = load_predictor("mini").tokenizer
    assert isinstance(tokenizer, PreTrainedTokenizerBase) and tokenizer("a")["input_ids"] == predictor.encode_prompt(
        "a"
    )


def test_a_reward_has_the_objects_of_transformers_too() -> None:
    reward = load_reward("mini")
    assert isinstance(reward, SequenceClassifierReward)
    ids, scores = reward.ids(*PAIRS[0]), reward.score(*map(list, zip(*PAIRS, strict=True)))
    assert isinstance(reward.tokenizer, PreTrainedTokenizerBase)
    assert isinstance(reward.model, ModernBertForSequenceClassification) and not is_ours(reward)
    assert reward.ids(*PAIRS[0]) == ids and reward.score(*map(list, zip(*PAIRS, strict=True))) == scores
    reward.tokenizer.add_tokens(["zebra"])
    assert reward.ids("a", "zebra") != ids and 1616 in reward.ids("a", "zebra")


# --- whatever is unusual is for transformers --------------------------------------------------------------------------

UNUSUAL: dict[str, dict[str, Any]] = {
    "a key that nobody knows": {"head_dim": 48},
    "a key that is not there": {"norm_bias": "absent"},
    "another model": {"model_type": "bert"},
    "another class": {"architectures": ["ModernBertForTokenClassification"]},
    "windows": {"layer_types": ["full_attention"] * 4 + ["sliding_attention"]},
    "fewer layers": {"num_hidden_layers": 4},
    "a bias": {"attention_bias": True},
    "another activation": {"hidden_activation": "relu"},
    "a switch as a number": {"norm_bias": 0},
    "an untied head": {"tie_word_embeddings": False},
    "other angles": {"rope_parameters": {"full_attention": {"rope_theta": 1e4, "rope_type": "linear", "factor": 2.0}}},
    "no angles": {"rope_parameters": None},
    "odd heads": {"num_attention_heads": 64},
    "an id that is no token": {"pad_token_id": VOCABULARY},
    "a size that is no number": {"hidden_size": "192"},
    "no epsilon": {"norm_eps": 0.0},
    "another pooling": {"classifier_pooling": "max"},
}


@pytest.mark.parametrize("change", UNUSUAL)
def test_an_unusual_config_is_not_ours(change: str) -> None:
    raw = json.loads((MODELS / "mini" / "config.json").read_text(encoding="utf-8"))
    assert network_of(raw) is not None
    changed = {key: value for key, value in (raw | UNUSUAL[change]).items() if value != "absent"}
    assert network_of(changed) is None


def test_an_unusual_model_is_loaded_by_transformers(copied: Callable[..., Path]) -> None:
    windows = {"layer_types": ["full_attention", "sliding_attention"] * 2 + ["full_attention"], "local_attention": 8}
    folder = copied(**windows)
    predictor = load_predictor(str(folder))
    assert isinstance(predictor.model, ModernBertForMaskedLM) and not is_ours(predictor)
    assert predictor.model.config.layer_types == windows["layer_types"]
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer_config.json").unlink()
    assert load_predictor(str(folder)).tokenizer is None


# --- refusals ---------------------------------------------------------------------------------------------------------


def change_weights(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> str:
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return str(folder)


def lose(name: str) -> Callable[[dict[str, torch.Tensor]], object]:
    return lambda weights: weights.pop(name)


def put(name: str, value: torch.Tensor) -> Callable[[dict[str, torch.Tensor]], object]:
    return lambda weights: weights.update({name: value})


def spoil(name: str, number: float) -> Callable[[dict[str, torch.Tensor]], object]:
    return lambda weights: weights[name].view(-1)[-1].fill_(number)


NORM = "model.final_norm.weight"
REFUSED = {
    "missing": (lose(NORM), "lacks weights: model.final_norm.weight"),
    "misshapen": (put(NORM, torch.ones(7)), rf"does not fit its config: {NORM} has shape \[7\], not \[192\]"),
    "whole numbers": (put(NORM, torch.ones(192, dtype=torch.int32)), f"{NORM} is stored as I32, not as floating point"),
    "left over": (put("head.extra.weight", torch.ones(7)), "has weights that its config does not ask for: head.extra"),
    "NaN": (spoil(NORM, float("nan")), f"cannot be used: weight {NORM} holds NaN or infinite numbers"),
    "infinite": (spoil("head.dense.weight", float("inf")), "cannot be used: weight head.dense.weight holds NaN or inf"),
}


@pytest.mark.parametrize("model", ["mini", "mini-reward"])
@pytest.mark.parametrize("change", REFUSED)
def test_weights_are_refused(change: str, model: str, copied: Callable[..., Path]) -> None:
    alter, message = REFUSED[change]
    folder = change_weights(copied(model), alter)
    load = load_predictor if model == "mini" else load_reward
    with pytest.raises(ValueError, match=message) as refused:
        load(folder)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("model", ["mini", "mini-reward"])
def test_a_tokenizer_of_another_vocabulary_is_refused(model: str, copied: Callable[..., Path]) -> None:
    folder = copied(model)
    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    tokenizer["model"]["vocab"]["zebra"] = 1616
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    with pytest.raises(ValueError, match="its tokenizer has ids up to 1616, its embedding 1616 tokens"):
        (load_predictor if model == "mini" else load_reward)(str(folder))
