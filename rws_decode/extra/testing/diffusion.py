"""Small checkpoints as published models have them, LLaDA to Skywork-Reward-V2: config, weights, tokenizer, code."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rws_decode.common.files import write_json
from rws_decode.extra.testing.networks import decoder_shapes, random_weights, tensor_shapes, write_weights

Shapes = dict[str, tuple[int, ...]]

CONFIGS = Path(__file__).parent / "configs"
_MERGES = [("Ċ", "Ċ"), ("h", "e"), ("Ġ", "c"), ("Ġc", "a"), ("Ġca", "t"), ("<", "|")]
_SPLIT = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
FIRST_SPECIAL = 256 + len(_MERGES)  # the tokens before are bytes and merges of them
LLADA_SPECIAL = (
    *("<|startoftext|>", "<|endoftext|>", "[CLS]", "[gMASK]", "<|reserved_token_0|>", "<|mdm_mask|>"),
    *("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
)
DREAM_SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|beginoftext|>", "<|mask|>")
_QWEN, _THINKING = DREAM_SPECIAL[:3], ("<think>", "</think>")
_MOE = ("<|startoftext|>", "<|endoftext|>", "[CLS]", "[gMASK]", "<|mask|>", "<|role_end|>")
_BERT = ("[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]")
_TEXT_ROLES = {"bos_token": "<|startoftext|>", "eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>"}
_QWEN_ROLES = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
# The mask of A2D is the last of all, as the loader of its authors adds it.
LLADA_IDS, DREAM_IDS, A2D_IDS, MOE_IDS, BERT_IDS = (
    {token: FIRST_SPECIAL + number for number, token in enumerate(special)}
    for special in (LLADA_SPECIAL, DREAM_SPECIAL, (*_QWEN, *_THINKING, "<|mask|>"), _MOE, _BERT)
)
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


@dataclass(frozen=True)
class Published:
    """A published model: its name, its tensors by its config, and what else lies beside them.

    config: the file of `configs`, and changes of it; code: remote code that must not run; files: further JSON files by
    the config; tokenizer: writes its files.
    """

    about: str
    config: str
    shapes: Callable[[Mapping[str, Any]], Shapes]
    tokenizer: Callable[[Path], object]
    code: tuple[str, ...] = ()
    changes: Mapping[str, Any] = field(default_factory=dict)
    files: Callable[[Mapping[str, Any]], dict[str, Any]] = lambda config: {}
    shards: int = 3
    dtype: torch.dtype = torch.bfloat16
    spread: float = 0.25

    def described(self, **changes: Any) -> dict[str, Any]:
        """Return the config.json with small sizes, and with changed entries.

        >>> MODELS["llada"].described(n_layers=3)["n_layers"], MODELS["dream-reasoner"].described()["block_size"]
        (3, 32)
        """
        stored = json.loads((CONFIGS / f"{self.config}.json").read_text(encoding="utf-8"))
        return stored | {**self.changes, **changes}

    def write(self, directory: Path, seed: int, changes: Mapping[str, Any], tokenizer: bool) -> None:
        """Write a checkpoint as published; changes: of its config."""
        config = self.described(**changes)
        write_weights(directory, self.weights(config, seed), self.shards)
        for name, value in ({"config.json": config} | self.files(config)).items():
            write_json(directory / name, value)
        for name in self.code:
            (directory / name).write_text("raise SystemExit('remote code ran')\n")
        if tokenizer:
            self.tokenizer(directory)

    def weights(self, config: Mapping[str, Any], seed: int) -> dict[str, Tensor]:
        """Return random weights by their names."""
        return random_weights(self.shapes(config), seed, self.dtype, self.spread)


def _decoder(config: Mapping[str, Any], **options: Any) -> Shapes:
    """Return the tensors of a decoder with its head on the vocabulary, where it has one of its own."""
    return decoder_shapes(config, **options) | _head(config)


def _head(config: Mapping[str, Any]) -> Shapes:
    return {} if config["tie_word_embeddings"] else {"lm_head.weight": (config["vocab_size"], config["hidden_size"])}


def _llada(config: Mapping[str, Any]) -> Shapes:
    heads = config["n_kv_heads"] or (1 if config["multi_query_attention"] else config["n_heads"])
    sizes = {key: config[key] for key in ("d_model", "mlp_hidden_size")}
    sizes["shared"] = config["d_model"] // config["n_heads"] * heads
    sizes["rows"] = config["embedding_size"] or config["vocab_size"]
    shapes = tensor_shapes(_LLADA_TENSORS, sizes, config["n_layers"])
    if config["weight_tying"]:
        del shapes["model.transformer.ff_out.weight"]
    return shapes


def _llada2(config: Mapping[str, Any]) -> Shapes:
    """Return attention as one tensor, dense layers first, and a bias for the choice of experts."""
    routed = {**config, "intermediate_size": config["moe_intermediate_size"]}
    dense = decoder_shapes(config, head_norms=True)
    sparse = decoder_shapes(routed, head_norms=True, experts=config["num_experts"])
    hidden, inner = config["hidden_size"], config["moe_intermediate_size"] * config["num_shared_experts"]
    shapes: Shapes = {"model.word_embeddings.weight": (config["vocab_size"], hidden), "model.norm.weight": (hidden,)}
    for number in range(config["num_hidden_layers"]):
        prefix, mixed = f"model.layers.{number}.", number >= config["first_k_dense_replace"]
        shapes |= {name: shape for name, shape in (sparse if mixed else dense).items() if name.startswith(prefix)}
        parts = [shapes.pop(f"{prefix}self_attn.{letter}_proj.weight")[0] for letter in "qkv"]
        shapes[f"{prefix}attention.query_key_value.weight"] = (sum(parts), hidden)
        for target, source in (("dense", "o_proj"), ("query_layernorm", "q_norm"), ("key_layernorm", "k_norm")):
            shapes[f"{prefix}attention.{target}.weight"] = shapes.pop(f"{prefix}self_attn.{source}.weight")
        if mixed:
            shapes[f"{prefix}mlp.gate.expert_bias"] = (config["num_experts"],)
            shapes |= {f"{prefix}mlp.shared_experts.{name}_proj.weight": (inner, hidden) for name in ("gate", "up")}
            shapes[f"{prefix}mlp.shared_experts.down_proj.weight"] = (hidden, inner)
    return shapes | _head(config)


def _modernbert(config: Mapping[str, Any]) -> Shapes:
    sizes = {key: config[key] for key in ("vocab_size", "hidden_size", "intermediate_size")}
    sizes |= {"qkv": 3 * config["hidden_size"], "twice": 2 * config["intermediate_size"]}
    shapes = tensor_shapes(_BERT_TENSORS, sizes, config["num_hidden_layers"])
    del shapes["model.layers.0.attn_norm.weight"]  # the first layer has none
    return shapes


def llada_tokenizer() -> Any:
    """Build LLaDA's kind of tokenizer: byte-level BPE, special tokens that only a few fields name, no BOS by itself."""
    return _tokenizer(LLADA_SPECIAL, "llada.jinja", cls_token="[CLS]", **_TEXT_ROLES)


def _tokenizer(special: Sequence[str], template: str, *, added: Sequence[str] = (), **names: str) -> Any:
    """Build a byte-level BPE tokenizer of transformers with special tokens from FIRST_SPECIAL on.

    template: file of the chat template; added: further tokens that are not special; names: roles of special tokens.
    """
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    core = Tokenizer(models.BPE(_byte_vocabulary(), _MERGES))
    split = pre_tokenizers.Split(Regex(_SPLIT), behavior="isolated")
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    core.decoder = decoders.ByteLevel()
    core.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in special])
    core.add_tokens([AddedToken(token, normalized=False, special=False) for token in added])
    built = PreTrainedTokenizerFast(tokenizer_object=core, clean_up_tokenization_spaces=False, **names)
    built.chat_template = (CONFIGS / template).read_text(encoding="utf-8")
    return built


def _write_dream_tokenizer(directory: Path) -> None:
    """Write a vocabulary, merges and a remote class's name."""
    write_json(directory / "vocab.json", _byte_vocabulary())
    merges = "".join(f"{first} {second}\n" for first, second in _MERGES)
    (directory / "merges.txt").write_text(f"#version: 0.2\n{merges}", encoding="utf-8")
    write_json(directory / "added_tokens.json", DREAM_IDS)
    flags = {"lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True}
    described = json.loads((CONFIGS / "dream-tokenizer.json").read_text(encoding="utf-8"))
    described["added_tokens_decoder"] = {str(number): {"content": token} | flags for token, number in DREAM_IDS.items()}
    described["chat_template"] = (CONFIGS / "dream.jinja").read_text(encoding="utf-8")
    write_json(directory / "tokenizer_config.json", described)


def _write_qwen_tokenizer(directory: Path, added: str | None = None) -> None:
    more = (*_THINKING, *([] if added is None else [added]))
    _tokenizer(_QWEN, "a2d.jinja", added=more, **_QWEN_ROLES).save_pretrained(directory)
    settings = json.loads((directory / "tokenizer_config.json").read_text(encoding="utf-8"))
    write_json(directory / "tokenizer_config.json", settings | {"tokenizer_class": "Qwen2Tokenizer", "bos_token": None})


def _write_a2d_tokenizer(directory: Path) -> None:
    """Write a tokenizer of which only special_tokens_map.json calls the mask one."""
    _write_qwen_tokenizer(directory, "<|mask|>")
    write_json(directory / "special_tokens_map.json", _QWEN_ROLES | {"mask_token": "<|mask|>"})


def _write_moe_tokenizer(directory: Path) -> None:
    _tokenizer(_MOE, "llada-moe.jinja", cls_token="[CLS]", **_TEXT_ROLES).save_pretrained(directory)


def _write_bert_tokenizer(directory: Path) -> None:
    roles = {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
    roles |= dict.fromkeys(("pad_token", "eos_token", "bos_token"), "[PAD]")
    _tokenizer(_BERT, "modernbert-chat.jinja", **roles).save_pretrained(directory)


def _byte_vocabulary() -> dict[str, int]:
    from tokenizers import pre_tokenizers

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    return {piece: number for number, piece in enumerate([*letters, *("".join(pair) for pair in _MERGES)])}


def _generation(*keys: str, **more: Any) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    return lambda config: {"generation_config.json": more | {key: config[key] for key in keys}}


_biased, _normed = partial(_decoder, biases=True), partial(_decoder, head_norms=True)
_dream = partial(
    Published,
    config="dream",
    tokenizer=_write_dream_tokenizer,
    code=("modeling_dream.py", "tokenization_dream.py"),
    files=_generation("bos_token_id", "eos_token_id", "pad_token_id", "mask_token_id"),
)
_reasoner = {"attention_bias": False, "block_size": 32, "head_dim": 16}
MODELS = {
    "llada": Published(
        *("LLaDA", "llada", _llada, lambda folder: llada_tokenizer().save_pretrained(folder)),
        code=("modeling_llada.py", "configuration_llada.py"),
        files=_generation("eos_token_id", _from_model_config=True),
    ),
    "llada-moe": Published(
        *("LLaDA-MoE", "llada-moe"),
        lambda c: _normed({**c, "intermediate_size": c["expert_intermediate_size"]}, experts=c["num_experts"]),
        _write_moe_tokenizer,
        code=("modeling_lladamoe.py", "configuration_llada.py"),
    ),
    "dream": _dream("Dream", shapes=_biased),
    "a2d-qwen3": Published(
        *("A2D of Qwen3", "a2d-qwen3", _normed, _write_a2d_tokenizer, ("modeling_qwen3.py",)),
        files=lambda config: _generation(do_sample=True, eos_token_id=[config["eos_token_id"], 262])(config),
    ),
    "sdar": Published(
        *("SDAR", "sdar", _normed, partial(_write_qwen_tokenizer, added="<|MASK|>"), ("modeling_sdar.py",))
    ),
    "fast-dllm-v2": Published(
        *("Fast-dLLM v2", "fast-dllm-v2", _biased, partial(_write_qwen_tokenizer, added="|<MASK>|"), ("modeling.py",))
    ),
    "dream-reasoner": _dream("Dream-Reasoner: Dream's type, blocks, no shift,", shapes=_normed, changes=_reasoner),
    "llada2": Published("LLaDA2.0 and 2.1", "llada2", _llada2, _write_moe_tokenizer, ("modeling_llada2_moe.py",)),
    "modernbert-chat": Published(
        *("ModernBERT trained for chats,", "modernbert-chat", _modernbert, _write_bert_tokenizer),
        shards=1,
        dtype=torch.float32,
    ),
}
SKYWORK_V2 = Published(
    *("Skywork-Reward-V2 of Qwen3", "skywork-v2-qwen3"),
    lambda config: decoder_shapes(config, head_norms=True) | {"score.weight": (1, config["hidden_size"])},
    _write_qwen_tokenizer,
    files=lambda config: {"reward.json": {"mean": 0.0, "std": 1.0}},
)
