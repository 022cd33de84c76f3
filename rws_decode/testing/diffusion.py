"""Checkpoints of exactly the layout that LLaDA and Dream publish: config keys, tensors, shards, tokenizer, code."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rws_decode.common.files import write_json
from rws_decode.testing.networks import decoder_shapes, random_weights, tensor_shapes, write_weights

_CONFIGS = Path(__file__).parent / "configs"
_MERGES = [("Ċ", "Ċ"), ("h", "e"), ("Ġ", "c"), ("Ġc", "a"), ("Ġca", "t"), ("<", "|")]
_SPLIT = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
_TRAP = "raise SystemExit('remote code ran')\n"
FIRST_SPECIAL = 256 + len(_MERGES)  # the tokens before are bytes and merges of them
LLADA_SPECIAL = (
    *("<|startoftext|>", "<|endoftext|>", "[CLS]", "[gMASK]", "<|reserved_token_0|>", "<|mdm_mask|>"),
    *("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
)
DREAM_SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|beginoftext|>", "<|mask|>")
LLADA_IDS = {token: FIRST_SPECIAL + number for number, token in enumerate(LLADA_SPECIAL)}
DREAM_IDS = {token: FIRST_SPECIAL + number for number, token in enumerate(DREAM_SPECIAL)}
_LLADA_TENSORS = """
model.transformer.wte.weight rows d_model
model.transformer.blocks.{}.attn_norm.weight d_model
model.transformer.blocks.{}.ff_norm.weight d_model
model.transformer.blocks.{}.q_proj.weight d_model d_model
model.transformer.blocks.{}.k_proj.weight shared d_model
model.transformer.blocks.{}.v_proj.weight shared d_model
model.transformer.blocks.{}.attn_out.weight d_model d_model
model.transformer.blocks.{}.ff_proj.weight mlp_hidden_size d_model
model.transformer.blocks.{}.up_proj.weight mlp_hidden_size d_model
model.transformer.blocks.{}.ff_out.weight d_model mlp_hidden_size
model.transformer.ln_f.weight d_model
model.transformer.ff_out.weight rows d_model
"""


def llada_config(**changes: Any) -> dict[str, Any]:
    """Return the config.json of LLaDA with small sizes, and with changed entries.

    >>> llada_config(n_layers=3)["n_layers"], llada_config()["mask_token_id"] == LLADA_IDS["<|mdm_mask|>"]
    (3, True)
    """
    return json.loads((_CONFIGS / "llada.json").read_text(encoding="utf-8")) | changes


def dream_config(**changes: Any) -> dict[str, Any]:
    """Return the config.json of Dream with small sizes, and with changed entries."""
    return json.loads((_CONFIGS / "dream.json").read_text(encoding="utf-8")) | changes


def write_llada(directory: Path, seed: int, changes: Mapping[str, Any], tokenizer: bool) -> None:
    """Write a LLaDA checkpoint as published; changes: of its config."""
    config = llada_config(**changes)
    heads = config["n_kv_heads"] or (1 if config["multi_query_attention"] else config["n_heads"])
    sizes = {key: config[key] for key in ("d_model", "mlp_hidden_size")}
    sizes["shared"] = config["d_model"] // config["n_heads"] * heads
    sizes["rows"] = config["embedding_size"] or config["vocab_size"]
    shapes = tensor_shapes(_LLADA_TENSORS, sizes, config["n_layers"])
    if config["weight_tying"]:
        del shapes["model.transformer.ff_out.weight"]
    write_weights(directory, random_weights(shapes, seed))
    write_json(directory / "config.json", config)
    generation = {"_from_model_config": True, "eos_token_id": config["eos_token_id"]}
    write_json(directory / "generation_config.json", generation)
    for name in ("modeling_llada.py", "configuration_llada.py"):
        (directory / name).write_text(_TRAP)
    if tokenizer:
        llada_tokenizer().save_pretrained(directory)


def write_dream(directory: Path, seed: int, changes: Mapping[str, Any], tokenizer: bool) -> None:
    """Write a Dream checkpoint as published, its tokenizer as a vocabulary, merges and a remote class's name."""
    config = dream_config(**changes)
    _write_dream(directory, seed, config, decoder_shapes(config, biases=True), tokenizer)


def write_dream_reasoner(directory: Path, seed: int, changes: Mapping[str, Any], tokenizer: bool) -> None:
    """Write a Dream-Reasoner checkpoint: Dream's type and tokenizer around Qwen3's network, in blocks of 32."""
    config = dream_config(**{"attention_bias": False, "block_size": 32, "head_dim": 16, **changes})
    _write_dream(directory, seed, config, decoder_shapes(config, head_norms=True), tokenizer)


def _write_dream(
    directory: Path, seed: int, config: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]], tokenizer: bool
) -> None:
    head = {"lm_head.weight": (config["vocab_size"], config["hidden_size"])}
    write_weights(directory, random_weights({**shapes, **head}, seed))
    write_json(directory / "config.json", config)
    special = ("bos_token_id", "eos_token_id", "pad_token_id", "mask_token_id")
    write_json(directory / "generation_config.json", {key: config[key] for key in special})
    for name in ("modeling_dream.py", "tokenization_dream.py"):
        (directory / name).write_text(_TRAP)
    if tokenizer:
        _write_dream_tokenizer(directory)


def llada_tokenizer() -> Any:
    """Build LLaDA's kind of tokenizer: byte-level BPE, special tokens that only a few fields name, no BOS by itself."""
    names = {"bos_token": "<|startoftext|>", "eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>"}
    return byte_tokenizer(LLADA_SPECIAL, "llada.jinja", cls_token="[CLS]", **names)


def byte_tokenizer(special: Sequence[str], template: str, *, added: Sequence[str] = (), **names: str) -> Any:
    """Build a byte-level BPE tokenizer of transformers with special tokens from FIRST_SPECIAL on.

    template: file of the chat template; added: further tokens that are not special; names: roles of special tokens.
    """
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    core = Tokenizer(models.BPE(_byte_vocabulary(), _MERGES))
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_SPLIT), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    core.decoder = decoders.ByteLevel()
    core.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in special])
    core.add_tokens([AddedToken(token, normalized=False, special=False) for token in added])
    built = PreTrainedTokenizerFast(tokenizer_object=core, clean_up_tokenization_spaces=False, **names)
    built.chat_template = (_CONFIGS / template).read_text(encoding="utf-8")
    return built


def _write_dream_tokenizer(directory: Path) -> None:
    write_json(directory / "vocab.json", _byte_vocabulary())
    merges = "".join(f"{first} {second}\n" for first, second in _MERGES)
    (directory / "merges.txt").write_text(f"#version: 0.2\n{merges}", encoding="utf-8")
    write_json(directory / "added_tokens.json", DREAM_IDS)
    flags = {"lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True}
    described = {
        "add_bos_token": False,
        "add_prefix_space": False,
        "added_tokens_decoder": {str(number): {"content": token} | flags for token, number in DREAM_IDS.items()},
        "additional_special_tokens": ["<|beginoftext|>", "<|mask|>"],
        "auto_map": {"AutoTokenizer": ["tokenization_dream.DreamTokenizer", None]},
        "bos_token": "<|beginoftext|>",
        "chat_template": (_CONFIGS / "dream.jinja").read_text(encoding="utf-8"),
        "clean_up_tokenization_spaces": False,
        "eos_token": "<|endoftext|>",
        "errors": "replace",
        "mask_token": "<|mask|>",
        "model_max_length": 128,
        "pad_token": "<|endoftext|>",
        "split_special_tokens": False,
        "tokenizer_class": "DreamTokenizer",
        "unk_token": None,
    }
    write_json(directory / "tokenizer_config.json", described)


def _byte_vocabulary() -> dict[str, int]:
    from tokenizers import pre_tokenizers

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    return {piece: number for number, piece in enumerate([*letters, *("".join(pair) for pair in _MERGES)])}
