"""Dream: published checkpoints against a plain implementation of its network and its shift, its tokens and prompts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from checkpoint_files import stored_weights
from grouped import grouped
from reference_layers import rms_norm, rotate
from torch import Tensor
from torch.nn import functional as F

from rws_decode.common.files import write_json
from rws_decode.decode import decode
from rws_decode.predictors import HFMaskPredictor, load_predictor
from rws_decode.strategies.factors import Confidence
from rws_decode.testing import tiny_checkpoint
from rws_decode.testing.diffusion import DREAM_IDS, DREAM_SPECIAL, FIRST_SPECIAL, dream_config

MASK, END, TURN = (DREAM_IDS[name] for name in ("<|mask|>", "<|endoftext|>", "<|im_end|>"))
CANVAS = torch.tensor([[83, 257, MASK, 12, MASK, MASK, 9], [MASK, 41, 42, MASK, 200, MASK, 3]])


def reference_logits(weights: dict[str, Tensor], config: dict[str, Any], ids: Tensor) -> Tensor:
    """Return the logits [L, V] that predict each token of one sequence [L]: Qwen2's blocks seeing every position."""
    heads, shared = config["num_attention_heads"], config["num_key_value_heads"]
    size, eps, theta = config["hidden_size"] // heads, config["rms_norm_eps"], config["rope_theta"]
    x = weights["model.embed_tokens.weight"][ids]
    for layer in range(config["num_hidden_layers"]):
        prefix = f"model.layers.{layer}."
        part = {name.removeprefix(prefix): t for name, t in weights.items() if name.startswith(prefix)}
        normed = rms_norm(x, part["input_layernorm.weight"], eps)
        split = []
        for letter, count in zip("qkv", (heads, shared, shared), strict=True):
            flat = normed @ part[f"self_attn.{letter}_proj.weight"].T + part[f"self_attn.{letter}_proj.bias"]
            split.append(flat.view(len(ids), count, size).transpose(0, 1).repeat_interleave(heads // count, dim=0))
        scores = rotate(split[0], theta) @ rotate(split[1], theta).transpose(1, 2) / size**0.5
        mixed = (scores.softmax(-1) @ split[2]).transpose(0, 1).reshape(len(ids), -1)
        x = x + mixed @ part["self_attn.o_proj.weight"].T
        normed = rms_norm(x, part["post_attention_layernorm.weight"], eps)
        gate, up = normed @ part["mlp.gate_proj.weight"].T, normed @ part["mlp.up_proj.weight"].T
        x = x + (F.silu(gate) * up) @ part["mlp.down_proj.weight"].T
    logits = rms_norm(x, weights["model.norm.weight"], eps) @ weights["lm_head.weight"].T
    return torch.cat([logits[:1], logits[:-1]])  # what stands at i - 1 predicts token i


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("published") / "Dream-v0-Instruct-7B"
    tiny_checkpoint("dream", path)
    return path


@pytest.fixture(scope="module")
def predictor(folder: Path) -> HFMaskPredictor:
    return load_predictor(str(folder), progress=False)


@pytest.mark.parametrize("changes", [{}, {"num_key_value_heads": 4}, {"num_hidden_layers": 1, "rms_norm_eps": 1e-3}])
@torch.inference_mode()
def test_logits_are_those_of_the_described_network_shifted(tmp_path: Path, changes: dict[str, Any]) -> None:
    config = dream_config(**changes)
    stored = stored_weights(tiny_checkpoint("dream", tmp_path / "model", config=changes))
    weights = {name: tensor.float() for name, tensor in stored.items()}
    loaded = load_predictor(str(tmp_path / "model"), progress=False)
    expected = torch.stack([reference_logits(weights, config, row) for row in CANVAS])
    torch.testing.assert_close(loaded.logits(CANVAS, None), expected, rtol=1e-5, atol=1e-5)
    row, column = torch.arange(2).repeat_interleave(7), torch.arange(7).repeat(2)
    torch.testing.assert_close(
        loaded.logits_at(CANVAS, None, row, column), expected.flatten(0, 1), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("side", ["right", "left"])
@torch.inference_mode()
def test_padding_changes_nothing_even_where_the_first_token_is_masked(predictor: HFMaskPredictor, side: str) -> None:
    short, pad = CANVAS[1:, :4], torch.full((1, 3), 77)
    kept, blank = torch.ones(1, 4, dtype=torch.bool), torch.zeros(1, 3, dtype=torch.bool)
    order = (lambda a, b: torch.cat([a, b], dim=1)) if side == "right" else (lambda a, b: torch.cat([b, a], dim=1))
    canvas = torch.cat([order(short, pad), CANVAS[:1]])
    mask = torch.cat([order(kept, blank), torch.ones(1, 7, dtype=torch.bool)])
    together = predictor.logits(canvas, mask)
    torch.testing.assert_close(together[0][mask[0]], predictor.logits(short, None)[0], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(together[1:], predictor.logits(CANVAS[:1], None), rtol=1e-5, atol=1e-5)
    row, column = mask.nonzero(as_tuple=True)
    picked = predictor.logits_at(canvas, mask, row, column)
    torch.testing.assert_close(picked, together[row, column], rtol=1e-5, atol=1e-5)


@torch.inference_mode()
def test_the_head_is_applied_to_the_asked_places_only(predictor: HFMaskPredictor) -> None:
    shapes: list[tuple[int, ...]] = []
    handle = predictor.model.lm_head.register_forward_hook(lambda module, given, output: shapes.append(output.shape))
    try:
        predictor.logits_at(CANVAS, None, torch.tensor([0, 1]), torch.tensor([5, 0]))
    finally:
        handle.remove()
    assert shapes == [(1, 2, predictor.vocab_size)]


def test_tokens_are_read_from_the_checkpoint(predictor: HFMaskPredictor) -> None:
    assert (predictor.mask_id, predictor.end_ids, predictor.end_id, predictor.pad_id) == (MASK, (END, TURN), END, END)
    assert predictor.forbidden_ids == tuple(range(FIRST_SPECIAL + len(DREAM_SPECIAL), dream_config()["vocab_size"]))


def test_ids_that_nothing_names_are_the_published_ones_at_the_published_size_only(tmp_path: Path) -> None:
    unnamed = {"mask_token_id": None, "eos_token_id": None, "pad_token_id": None}
    tiny_checkpoint("dream", tmp_path / "small", config=unnamed, tokenizer=False)
    with pytest.raises(ValueError, match=r"^mask_id is None: small needs one below 278"):
        load_predictor(str(tmp_path / "small"), progress=False)
    published = {"vocab_size": 152064, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    tiny_checkpoint("dream", tmp_path / "large", config=unnamed | published, tokenizer=False)
    loaded = load_predictor(str(tmp_path / "large"), dtype="bfloat16", progress=False)
    assert (loaded.mask_id, loaded.end_ids) == (151666, (151643, 151645))


def test_the_generation_config_names_what_the_config_leaves_out(tmp_path: Path) -> None:
    tiny_checkpoint("dream", tmp_path / "model", tokenizer=False)
    bare = {key: value for key, value in dream_config().items() if key not in ("mask_token_id", "eos_token_id")}
    write_json(tmp_path / "model" / "config.json", bare)
    loaded = load_predictor(str(tmp_path / "model"), progress=False)
    assert (loaded.mask_id, loaded.end_ids) == (MASK, (END,))


@pytest.mark.parametrize("text", ["the cat", "  \n the cat\n\n", "", "\n", "naïve 猫 🙂", "a\n\nb"])
def test_prompts_are_chats_as_the_tokenizer_writes_them(predictor: HFMaskPredictor, text: str) -> None:
    message = [{"role": "user", "content": text}]
    ids = predictor.encode_prompt(text)
    assert ids == predictor.tokenizer.apply_chat_template(message, add_generation_prompt=True)["input_ids"]
    assert ids.count(predictor.tokenizer.bos_token_id) == 0  # the template has none
    assert predictor.decode_prompt(ids) == text


@pytest.mark.parametrize("chat", [True, False])
@pytest.mark.parametrize("special", DREAM_SPECIAL)
def test_special_tokens_in_the_users_text_are_text(folder: Path, special: str, chat: bool) -> None:
    loaded = load_predictor(str(folder), chat=chat, progress=False)
    text = f"the {special}cat{special}"
    ids, without = loaded.encode_prompt(text), loaded.encode_prompt("the cat")
    assert [token for token in ids if token >= FIRST_SPECIAL] == [token for token in without if token >= FIRST_SPECIAL]
    assert loaded.decode_prompt(ids) == text


def test_decoding_gives_the_same_alone_and_in_a_batch(predictor: HFMaskPredictor) -> None:
    options: dict[str, Any] = {"length": 8, "steps": 4, "block": 4}
    both = decode(predictor, ["the cat", "a much longer prompt"], Confidence(), **grouped(**options))
    (alone,) = decode(predictor, ["the cat"], Confidence(), **grouped(**options))
    assert both[0].tokens.tolist() == alone.tokens.tolist()
    assert all(isinstance(trace.text, str) and MASK not in trace.tokens for trace in both)
