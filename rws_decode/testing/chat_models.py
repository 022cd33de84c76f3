"""Small checkpoints as A2D, SDAR, Fast-dLLM v2, LLaDA-MoE, LLaDA2, ModernBERT's chats, Skywork-Reward-V2 have them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from rws_decode.common.files import write_json
from rws_decode.testing.diffusion import FIRST_SPECIAL, byte_tokenizer
from rws_decode.testing.networks import decoder_shapes, random_weights, tensor_shapes, write_weights

_CONFIGS = Path(__file__).parent / "configs"
_TRAP = "raise SystemExit('remote code ran')\n"
_QWEN = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_QWEN_ROLES = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
_THINKING = ("<think>", "</think>")
_MOE = ("<|startoftext|>", "<|endoftext|>", "[CLS]", "[gMASK]", "<|mask|>", "<|role_end|>")
_BERT = ("[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]")
# The mask is the last of all, as the loader of its authors adds it.
A2D_IDS = {token: FIRST_SPECIAL + number for number, token in enumerate((*_QWEN, *_THINKING, "<|mask|>"))}
MOE_IDS = {token: FIRST_SPECIAL + number for number, token in enumerate(_MOE)}
BERT_IDS = {token: FIRST_SPECIAL + number for number, token in enumerate(_BERT)}
_BERT_TENSORS = """
model.embeddings.tok_embeddings.weight vocab_size hidden_size
model.embeddings.norm.weight hidden_size
model.layers.{}.attn_norm.weight hidden_size
model.layers.{}.attn.Wqkv.weight qkv hidden_size
model.layers.{}.attn.Wo.weight hidden_size hidden_size
model.layers.{}.mlp_norm.weight hidden_size
model.layers.{}.mlp.Wi.weight twice hidden_size
model.layers.{}.mlp.Wo.weight hidden_size intermediate_size
model.final_norm.weight hidden_size
head.dense.weight hidden_size hidden_size
head.norm.weight hidden_size
decoder.bias vocab_size
"""


def chat_config(name: str, **changes: Any) -> dict[str, Any]:
    """Return the config.json of a layout of this module, such as "a2d-qwen3" or "sdar", with changes.

    >>> chat_config("a2d-qwen3")["model_type"], chat_config("llada-moe")["model_type"]
    ('a2d-qwen3', 'llada')
    """
    return json.loads((_CONFIGS / f"{name}.json").read_text(encoding="utf-8")) | changes


def write_a2d_qwen3(directory: Path, seed: int, changes: Mapping[str, Any], tokenizer: bool) -> None:
    """Write an A2D checkpoint of Qwen3; only special_tokens_map.json calls the mask one."""
    config = chat_config("a2d-qwen3", **changes)
    _write_decoder(directory, config, decoder_shapes(config, head_norms=True), seed)
    write_json(directory / "generation_config.json", {"do_sample": True, "eos_token_id": [config["eos_token_id"], 262]})
    (directory / "modeling_qwen3.py").write_text(_TRAP)
    if not tokenizer:
        return
    _write_qwen_tokenizer(directory, [*_THINKING, "<|mask|>"])
    write_json(directory / "special_tokens_map.json", _QWEN_ROLES | {"mask_token": "<|mask|>"})


def write_sdar(directory: Path, seed: int, changes: Mapping[str, Any], tokenizer: bool) -> None:
    """Write an SDAR checkpoint, whose config names block and mask."""
    config = chat_config("sdar", **changes)
    _write_decoder(directory, config, decoder_shapes(config, head_norms=True), seed)
    (directory / "modeling_sdar.py").write_text(_TRAP)
    if tokenizer:
        _write_qwen_tokenizer(directory, [*_THINKING, "<|MASK|>"])


def write_fast_dllm_v2(directory: Path, seed: int, changes: Mapping[str, Any], tokenizer: bool) -> None:
    """Write a Fast-dLLM v2 checkpoint: the tokenizer alone names the mask."""
    config = chat_config("fast-dllm-v2", **changes)
    _write_decoder(directory, config, decoder_shapes(config, biases=True), seed)
    (directory / "modeling.py").write_text(_TRAP)
    if tokenizer:
        _write_qwen_tokenizer(directory, [*_THINKING, "|<MASK>|"])


def write_skywork_v2_qwen3(directory: Path, seed: int, changes: Mapping[str, Any], tokenizer: bool) -> None:
    """Write a Skywork-Reward-V2 of Qwen3: one score, chats, and no beginning-of-text token."""
    config = chat_config("skywork-v2-qwen3", **changes)
    shapes = decoder_shapes(config, head_norms=True) | {"score.weight": (1, config["hidden_size"])}
    write_weights(directory, random_weights(shapes, seed))
    write_json(directory / "config.json", config)
    write_json(directory / "reward.json", {"mean": 0.0, "std": 1.0})
    if tokenizer:
        _write_qwen_tokenizer(directory, _THINKING)


def write_llada_moe(directory: Path, seed: int, changes: Mapping[str, Any], tokenizer: bool) -> None:
    """Write a LLaDA-MoE checkpoint; its config does not name the mask."""
    config = chat_config("llada-moe", **changes)
    sizes = config | {"intermediate_size": config["expert_intermediate_size"]}
    _write_decoder(directory, config, decoder_shapes(sizes, head_norms=True, experts=config["num_experts"]), seed)
    for name in ("modeling_lladamoe.py", "configuration_llada.py"):
        (directory / name).write_text(_TRAP)
    if tokenizer:
        roles = {"bos_token": "<|startoftext|>", "eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>"}
        byte_tokenizer(_MOE, "llada-moe.jinja", cls_token="[CLS]", **roles).save_pretrained(directory)


def write_llada2(directory: Path, seed: int, changes: Mapping[str, Any], tokenizer: bool) -> None:
    """Write a LLaDA2 checkpoint: attention as one tensor, dense layers first, a bias for the choice of experts."""
    config = chat_config("llada2", **changes)
    routed = config | {"intermediate_size": config["moe_intermediate_size"]}
    dense, sparse = (
        decoder_shapes(config, head_norms=True),
        decoder_shapes(routed, head_norms=True, experts=config["num_experts"]),
    )
    hidden, inner = config["hidden_size"], config["moe_intermediate_size"] * config["num_shared_experts"]
    shapes: dict[str, tuple[int, ...]] = {}
    for number in range(config["num_hidden_layers"]):
        at, mixed = f"model.layers.{number}.", number >= config["first_k_dense_replace"]
        shapes |= {name: shape for name, shape in (sparse if mixed else dense).items() if name.startswith(at)}
        parts = [shapes.pop(f"{at}self_attn.{letter}_proj.weight")[0] for letter in "qkv"]
        shapes[f"{at}attention.query_key_value.weight"] = (sum(parts), hidden)
        for theirs, ours in (("dense", "o_proj"), ("query_layernorm", "q_norm"), ("key_layernorm", "k_norm")):
            shapes[f"{at}attention.{theirs}.weight"] = shapes.pop(f"{at}self_attn.{ours}.weight")
        if mixed:
            shapes[f"{at}mlp.gate.expert_bias"] = (config["num_experts"],)
            shapes |= {f"{at}mlp.shared_experts.{name}_proj.weight": (inner, hidden) for name in ("gate", "up")}
            shapes[f"{at}mlp.shared_experts.down_proj.weight"] = (hidden, inner)
    table = {"model.word_embeddings.weight": (config["vocab_size"], hidden), "model.norm.weight": (hidden,)}
    _write_decoder(directory, config, table | shapes, seed)
    (directory / "modeling_llada2_moe.py").write_text(_TRAP)
    if tokenizer:
        roles = {"bos_token": "<|startoftext|>", "eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>"}
        byte_tokenizer(_MOE, "llada-moe.jinja", cls_token="[CLS]", **roles).save_pretrained(directory)


def write_modernbert_chat(directory: Path, seed: int, changes: Mapping[str, Any], tokenizer: bool) -> None:
    """Write a ModernBERT for chats: the decoder tied to the embedding, padding as the tokenizer's end of text."""
    config = chat_config("modernbert-chat", **changes)
    sizes = {key: config[key] for key in ("vocab_size", "hidden_size", "intermediate_size")}
    sizes |= {"qkv": 3 * config["hidden_size"], "twice": 2 * config["intermediate_size"]}
    shapes = tensor_shapes(_BERT_TENSORS, sizes, config["num_hidden_layers"])
    del shapes["model.layers.0.attn_norm.weight"]  # the first layer has none
    write_weights(directory, random_weights(shapes, seed, torch.float32), shards=1)
    write_json(directory / "config.json", config)
    if tokenizer:
        roles = {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
        roles |= dict.fromkeys(("pad_token", "eos_token", "bos_token"), "[PAD]")
        byte_tokenizer(_BERT, "modernbert-chat.jinja", **roles).save_pretrained(directory)


def _write_qwen_tokenizer(directory: Path, added: Sequence[str]) -> None:
    byte_tokenizer(_QWEN, "a2d.jinja", added=added, **_QWEN_ROLES).save_pretrained(directory)
    settings = json.loads((directory / "tokenizer_config.json").read_text(encoding="utf-8"))
    write_json(directory / "tokenizer_config.json", settings | {"tokenizer_class": "Qwen2Tokenizer", "bos_token": None})


def _write_decoder(
    directory: Path, config: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]], seed: int
) -> None:
    """Write a decoder with its head on the vocabulary, where it has one of its own."""
    head = {} if config["tie_word_embeddings"] else {"lm_head.weight": (config["vocab_size"], config["hidden_size"])}
    write_weights(directory, random_weights({**shapes, **head}, seed))
    write_json(directory / "config.json", config)
