"""A2D, LLaDA-MoE and ModernBERT's chats: published layouts against plain implementations of their networks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from checkpoint_files import stored_weights
from reference_layers import rms_norm, rotate
from torch import Tensor
from torch.nn import functional as F

from rws_decode.common.files import write_json
from rws_decode.decode import decode
from rws_decode.predictors import load_predictor
from rws_decode.predictors.convert import convert
from rws_decode.settings import Shape
from rws_decode.testing import tiny_checkpoint
from rws_decode.testing.chat_models import A2D_IDS, BERT_IDS, MOE_IDS, chat_config
from rws_decode.testing.diffusion import FIRST_SPECIAL
from rws_decode.testing.weights import write_weights

MASKS = {"a2d-qwen3": A2D_IDS["<|mask|>"], "llada-moe": MOE_IDS["<|mask|>"], "modernbert-chat": BERT_IDS["[MASK]"]}
LAYOUTS = list(MASKS)


def canvas_of(layout: str) -> Tensor:
    mask = MASKS[layout]
    return torch.tensor([[83, 257, mask, 12, mask, mask, 9, 70, 71], [mask, 41, 42, mask, 200, mask, 3, 4, mask]])


# The plain reference: one sequence, one head and one expert at a time, under the published names.


def attended(normed: Tensor, part: dict[str, Tensor], config: dict[str, Any], size: int) -> Tensor:
    """Return what a layer's heads see of all positions, queries and keys normalised head by head."""
    heads, shared = config["num_attention_heads"], config["num_key_value_heads"]
    split = []
    for letter, count in zip("qkv", (heads, shared, shared), strict=True):
        rows = (normed @ part[f"self_attn.{letter}_proj.weight"].T).view(len(normed), count, size)
        if letter != "v":
            rows = rms_norm(rows, part[f"self_attn.{letter}_norm.weight"], config["rms_norm_eps"])
        split.append(rows.transpose(0, 1).repeat_interleave(heads // count, dim=0))
    query, key = (rotate(rows, config["rope_theta"]) for rows in split[:2])
    seen = (query @ key.transpose(1, 2) / size**0.5).softmax(-1) @ split[2]
    return seen.transpose(0, 1).reshape(len(normed), -1) @ part["self_attn.o_proj.weight"].T


def fed(x: Tensor, part: dict[str, Tensor], at: str = "mlp") -> Tensor:
    gate, up = x @ part[f"{at}.gate_proj.weight"].T, x @ part[f"{at}.up_proj.weight"].T
    return (F.silu(gate) * up) @ part[f"{at}.down_proj.weight"].T


def routed(x: Tensor, part: dict[str, Tensor], config: dict[str, Any]) -> Tensor:
    """Return each token's sum over its experts, weighted by their probabilities as they are."""
    share = (x @ part["mlp.gate.weight"].T).softmax(-1)
    mixed = torch.zeros_like(x)
    for token in range(len(x)):
        for expert in share[token].argsort(descending=True)[: config["num_experts_per_tok"]].tolist():
            mixed[token] += share[token, expert] * fed(x[token], part, f"mlp.experts.{expert}")
    return mixed


def decoder_logits(weights: dict[str, Tensor], config: dict[str, Any], ids: Tensor) -> Tensor:
    size = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    x, eps = weights["model.embed_tokens.weight"][ids], config["rms_norm_eps"]
    for layer in range(config["num_hidden_layers"]):
        prefix = f"model.layers.{layer}."
        part = {name.removeprefix(prefix): t for name, t in weights.items() if name.startswith(prefix)}
        x = x + attended(rms_norm(x, part["input_layernorm.weight"], eps), part, config, size)
        normed = rms_norm(x, part["post_attention_layernorm.weight"], eps)
        x = x + (routed(normed, part, config) if "mlp.gate.weight" in part else fed(normed, part))
    head = weights["model.embed_tokens.weight" if config["tie_word_embeddings"] else "lm_head.weight"]
    return rms_norm(x, weights["model.norm.weight"], eps) @ head.T


def bert_logits(weights: dict[str, Tensor], config: dict[str, Any], ids: Tensor) -> Tensor:
    """Return ModernBERT's: every third layer sees all, the others a window; the decoder is the embedding and a bias."""

    def norm(x: Tensor, name: str) -> Tensor:
        return F.layer_norm(x, x.shape[-1:], weights[f"{name}.weight"], eps=config["norm_eps"])

    heads, length, width = config["num_attention_heads"], len(ids), config["hidden_size"]
    apart = (torch.arange(length)[:, None] - torch.arange(length)).abs()
    x = norm(weights["model.embeddings.tok_embeddings.weight"][ids], "model.embeddings.norm")
    for layer in range(config["num_hidden_layers"]):
        at, wide = f"model.layers.{layer}", layer % config["global_attn_every_n_layers"] == 0
        normed = norm(x, f"{at}.attn_norm") if layer else x
        three = (normed @ weights[f"{at}.attn.Wqkv.weight"].T).view(length, 3, heads, width // heads)
        query, key, value = (three[:, part].transpose(0, 1) for part in range(3))
        theta = config["global_rope_theta" if wide else "local_rope_theta"]
        scores = rotate(query, theta) @ rotate(key, theta).transpose(1, 2) / (width // heads) ** 0.5
        if not wide:
            scores = scores.masked_fill(apart > config["local_attention"] // 2, -torch.inf)
        mixed = (scores.softmax(-1) @ value).transpose(0, 1).reshape(length, width)
        x = x + mixed @ weights[f"{at}.attn.Wo.weight"].T
        first, gate = (norm(x, f"{at}.mlp_norm") @ weights[f"{at}.mlp.Wi.weight"].T).chunk(2, dim=-1)
        x = x + (F.gelu(first) * gate) @ weights[f"{at}.mlp.Wo.weight"].T
    x = norm(F.gelu(norm(x, "model.final_norm") @ weights["head.dense.weight"].T), "head.norm")
    return x @ weights["model.embeddings.tok_embeddings.weight"].T + weights["decoder.bias"]


@pytest.mark.parametrize(
    ("layout", "changes"),
    [
        ("a2d-qwen3", {}),
        ("a2d-qwen3", {"tie_word_embeddings": False, "num_key_value_heads": 4, "head_dim": 6}),
        ("llada-moe", {}),
        ("llada-moe", {"num_experts": 3, "num_experts_per_tok": 3, "num_key_value_heads": 2}),
        ("modernbert-chat", {}),
        ("modernbert-chat", {"global_attn_every_n_layers": 2, "local_attention": 4}),
    ],
)
@torch.inference_mode()
def test_logits_are_those_of_the_described_network(tmp_path: Path, layout: str, changes: dict[str, Any]) -> None:
    stored = stored_weights(tiny_checkpoint(layout, tmp_path / "model", config=changes))
    weights, config = {name: tensor.float() for name, tensor in stored.items()}, chat_config(layout, **changes)
    loaded, canvas = load_predictor(str(tmp_path / "model"), progress=False), canvas_of(layout)
    reference = bert_logits if layout == "modernbert-chat" else decoder_logits
    expected = torch.stack([reference(weights, config, row) for row in canvas])
    torch.testing.assert_close(loaded.logits(canvas, None), expected, rtol=1e-4, atol=2e-5)
    row, column = torch.arange(2).repeat_interleave(9), torch.arange(9).repeat(2)
    torch.testing.assert_close(
        loaded.logits_at(canvas, None, row, column), expected.flatten(0, 1), rtol=1e-4, atol=2e-5
    )


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("layout", LAYOUTS)
@torch.inference_mode()
def test_padding_changes_nothing(tmp_path: Path, layout: str, side: str) -> None:
    loaded, canvas = load_predictor(str(tiny_checkpoint(layout, tmp_path / "model")), progress=False), canvas_of(layout)
    short, pad = canvas[1:, :5], torch.full((1, 4), 77)
    kept, blank = torch.ones(1, 5, dtype=torch.bool), torch.zeros(1, 4, dtype=torch.bool)
    pairs = ((short, pad), (kept, blank)) if side == "right" else ((pad, short), (blank, kept))
    row, mask = (torch.cat(pair, dim=1) for pair in pairs)
    together = loaded.logits(torch.cat([row, canvas[:1]]), torch.cat([mask, torch.ones(1, 9, dtype=torch.bool)]))
    torch.testing.assert_close(together[0][mask[0]], loaded.logits(short, None)[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("layout", "ends"),
    [
        ("a2d-qwen3", (A2D_IDS["<|im_end|>"], A2D_IDS["<|endoftext|>"])),
        ("llada-moe", (MOE_IDS["<|endoftext|>"], MOE_IDS["<|role_end|>"])),
        ("modernbert-chat", (BERT_IDS["[PAD]"],)),
    ],
)
def test_tokens_are_read_and_a_chat_is_decoded_end_to_end(tmp_path: Path, layout: str, ends: tuple[int, ...]) -> None:
    loaded = load_predictor(str(tiny_checkpoint(layout, tmp_path / "model")), progress=False)
    assert (loaded.mask_id, loaded.end_ids, loaded.chat) == (MASKS[layout], ends, True)
    ids = loaded.encode_prompt("the cat")
    message = [{"role": "user", "content": "the cat"}]
    options = {"enable_thinking": False} if layout == "a2d-qwen3" else {}
    assert ids == loaded.tokenizer.apply_chat_template(message, add_generation_prompt=True, **options)["input_ids"]
    assert loaded.decode_prompt(ids) == "the cat"
    (trace,) = decode(loaded, "the cat", "default", Shape(length=8, steps=4, block=8))
    assert trace.text is not None and MASKS[layout] not in trace.tokens
    assert not set(trace.tokens.tolist()) & set(loaded.forbidden_ids)


def test_thinking_is_closed_before_an_a2d_answers(tmp_path: Path) -> None:
    loaded = load_predictor(str(tiny_checkpoint("a2d-qwen3", tmp_path / "model")), progress=False)
    said = loaded.tokenizer.decode(loaded.encode_prompt("the cat"))
    assert said.endswith("<|im_start|>assistant\n<think>\n\n</think>\n\n")


@pytest.mark.parametrize("spelt", ["<think>", "<|mask|>", "<|im_end|>"])
def test_what_steers_an_a2d_is_text_in_a_message(tmp_path: Path, spelt: str) -> None:
    loaded = load_predictor(str(tiny_checkpoint("a2d-qwen3", tmp_path / "model")), progress=False)
    ids, plain = loaded.encode_prompt(f"the {spelt}cat"), loaded.encode_prompt("the cat")
    assert [token for token in ids if token >= FIRST_SPECIAL] == [token for token in plain if token >= FIRST_SPECIAL]
    assert loaded.decode_prompt(ids) == f"the {spelt}cat"


@pytest.mark.parametrize("named", ["[PAD]", None])
def test_a_modernbert_ends_its_answers_in_words_and_in_padding(tmp_path: Path, named: str | None) -> None:
    folder = tiny_checkpoint("modernbert-chat", tmp_path / "ModernBERT-base-chat-v0.1")
    settings = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    write_json(folder / "tokenizer_config.json", settings | {"eos_token": named, "bos_token": named})
    loaded = load_predictor(str(folder), progress=False)
    assert loaded.chat and loaded.end_id == loaded.pad_id == BERT_IDS["[PAD]"]
    ids = loaded.tokenizer("it sat\n[/Answer]\n\n[Question]", add_special_tokens=False)["input_ids"]
    assert loaded.decode_answer([*ids, BERT_IDS["[PAD]"], 70]) == "it sat"
    assert load_predictor(str(folder), chat=False, progress=False).decode_answer(ids).endswith("[Question]")


def test_a_mask_that_no_file_names_is_the_next_token(tmp_path: Path) -> None:
    folder = tiny_checkpoint("a2d-qwen3", tmp_path / "model", files={"special_tokens_map.json": None})
    content = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    content["added_tokens"] = [token for token in content["added_tokens"] if token["content"] != "<|mask|>"]
    write_json(folder / "tokenizer.json", content)
    loaded = load_predictor(str(folder), progress=False)
    assert "<|mask|>" not in loaded.tokenizer.get_vocab() and loaded.mask_id == A2D_IDS["<|mask|>"]


@pytest.mark.parametrize(
    ("layout", "changes", "mask", "ends"),
    [
        ("a2d-qwen3", {"vocab_size": 151936, "eos_token_id": None}, 151669, (262, 151643, 151645)),
        ("llada-moe", {"vocab_size": 157184, "eos_token_id": None}, 156895, (156892, 156900)),
    ],
)
def test_without_a_tokenizer_the_published_ids_hold_at_the_published_size(
    tmp_path: Path, layout: str, changes: dict[str, Any], mask: int, ends: tuple[int, ...]
) -> None:
    small: dict[str, Any] = {"num_hidden_layers": 1, "hidden_size": 8, "moe_layer_freq": [1], "layer_types": None}
    tiny_checkpoint(layout, tmp_path / "model", config=changes | small, tokenizer=False)
    loaded = load_predictor(str(tmp_path / "model"), dtype="bfloat16", progress=False)
    assert (loaded.mask_id, loaded.end_ids) == (mask, ends)
    tiny_checkpoint(layout, tmp_path / "small", tokenizer=False)
    with pytest.raises(ValueError, match=r"^mask_id is None: small needs one below"):
        load_predictor(str(tmp_path / "small"), progress=False)


@pytest.mark.parametrize("layout", ["a2d-qwen3", "llada-moe"])
@torch.inference_mode()
def test_a_converted_one_has_the_bits_of_the_published(tmp_path: Path, layout: str) -> None:
    published = load_predictor(str(tiny_checkpoint(layout, tmp_path / "published")), progress=False)
    converted = load_predictor(str(convert(str(tmp_path / "published"), tmp_path / "converted")), progress=False)
    assert torch.equal(published.logits(canvas_of(layout), None), converted.logits(canvas_of(layout), None))
    assert converted.encode_prompt("the cat") == published.encode_prompt("the cat")
    assert (converted.mask_id, converted.end_ids) == (published.mask_id, published.end_ids)


def rewritten(folder: Path, change: Callable[[dict[str, Tensor]], None]) -> Path:
    weights = stored_weights(folder)
    change(weights)
    for file in folder.glob("model*"):
        file.unlink()
    write_weights(folder, weights, shards=1)
    return folder


def test_a_tied_head_may_be_stored_twice_but_not_as_another(tmp_path: Path) -> None:
    embedding, head = "model.embed_tokens.weight", "lm_head.weight"
    twice = rewritten(
        tiny_checkpoint("a2d-qwen3", tmp_path / "twice"), lambda w: w.update({head: w[embedding].clone()})
    )
    once = load_predictor(str(tiny_checkpoint("a2d-qwen3", tmp_path / "once")), progress=False)
    canvas = canvas_of("a2d-qwen3")
    assert torch.equal(load_predictor(str(twice), progress=False).logits(canvas, None), once.logits(canvas, None))
    other = rewritten(tiny_checkpoint("a2d-qwen3", tmp_path / "other"), lambda w: w.update({head: 2 * w[embedding]}))
    with pytest.raises(ValueError, match=r"lm_head.weight, which is not the embedding that tie_word_embeddings ties"):
        load_predictor(str(other), progress=False)


EXPERT = "model.layers.0.mlp.experts.4.up_proj.weight"


@pytest.mark.parametrize(
    ("layout", "name", "changes", "message"),
    [
        ("a2d-qwen3", "Qwen3-0.6B-diffusion-bd3lm-v0.1", {}, r"block after block \(bd3lm\)"),
        (
            "a2d-qwen3",
            "m",
            {"rope_scaling": {"rope_type": "spiral"}},
            "rope_scaling in .* is of type 'spiral', none of",
        ),
        ("a2d-qwen3", "m", {"head_dim": 7}, "head_dim in its config.json is 7, not an even number"),
        ("a2d-qwen3", "m", {"use_sliding_window": True}, "use_sliding_window in its config.json is on"),
        ("a2d-qwen3", "m", {"model_type": "a2d-phi"}, "model_type in its config.json is 'a2d-phi', no masked language"),
        ("a2d-qwen3", "m", {"model_type": "a2d-llama"}, "has weights that its config does not ask for: .*k_norm"),
        ("llada-moe", "m", {"architectures": ["LLaDAModelLM"]}, "d_model in its config.json is None"),
        (
            "llada-moe",
            "m",
            {"qk_layernorm": False},
            "qk_layernorm in its config.json is False, not True as in LLaDA-MoE",
        ),
        ("llada-moe", "m", {"moe_layer_freq": [1]}, r"moe_layer_freq in its config.json is \[1\], not 0 or 1 for each"),
        ("llada-moe", "m", {"num_experts_per_tok": 7}, "num_experts_per_tok in its config.json is 7, of 6 experts"),
    ],
)
def test_a_model_that_is_not_read_is_refused_in_one_line(
    tmp_path: Path, layout: str, name: str, changes: dict[str, Any], message: str
) -> None:
    folder = tiny_checkpoint(layout, tmp_path / name)
    write_json(folder / "config.json", chat_config(layout, **changes))
    with pytest.raises(ValueError, match=message) as caught:
        load_predictor(str(folder), progress=False)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_missing_weights_are_named(tmp_path: Path, layout: str) -> None:
    gone = {"llada-moe": EXPERT, "a2d-qwen3": "model.layers.1.self_attn.q_norm.weight"}.get(layout, "decoder.bias")
    folder = rewritten(tiny_checkpoint(layout, tmp_path / "m"), lambda weights: weights.__delitem__(gone))
    with pytest.raises(ValueError, match=rf"^model m lacks weights: {gone}$".replace(".", r"\.")):
        load_predictor(str(folder), progress=False)
