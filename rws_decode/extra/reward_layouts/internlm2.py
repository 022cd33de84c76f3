"""InternLM2's reward model: its fused attention and its names, as transformers' Llama."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from rws_decode.checkpoints.config import Config
from rws_decode.checkpoints.weights import Stored, refuse_other_layout, shapes_of
from rws_decode.extra.reward_layouts.tensors import model_of, read_tensor

# Llama's names -> InternLM2's; its fused query, key and value weights are split in `_split`.
_NAMES = {
    "model.embed_tokens.": "model.tok_embeddings.",
    ".input_layernorm.": ".attention_norm.",
    ".post_attention_layernorm.": ".ffn_norm.",
    ".self_attn.q_proj.": ".attention.wqkv.",
    ".self_attn.o_proj.": ".attention.wo.",
    ".mlp.gate_proj.": ".feed_forward.w1.",
    ".mlp.up_proj.": ".feed_forward.w3.",
    ".mlp.down_proj.": ".feed_forward.w2.",
    "score.": "v_head.",
}
_QUERY, _KEY, _VALUE = (f".self_attn.{letter}_proj." for letter in "qkv")
_SIZES = (
    *("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads"),
    *("num_key_value_heads", "max_position_embeddings"),
)
_SPECIAL = ("bos_token_id", "eos_token_id", "pad_token_id")


def load_internlm2(config: Config, stored: Mapping[str, Stored], **options: Any) -> tuple[Any, dict[str, Any], None]:
    """Return InternLM2's reward model as a LlamaForSequenceClassification, and transformers' report of its loading.

    Query, key and value weights are fused per key-value head as [q_1 ... q_g, k, v], g = heads / kv heads. The score is
    v_head at the `reward_token`, which ends every text. Rotary scaling "dynamic" is left out: it changes nothing up to
    max_position_embeddings, and longer texts are refused. ValueError for a config.json or tensors of another layout.
    """
    from transformers import LlamaConfig, LlamaForSequenceClassification

    sizes = {key: config.whole(key) for key in _SIZES}
    width, heads, groups = sizes["hidden_size"], sizes["num_attention_heads"], sizes["num_key_value_heads"]
    if heads % groups or width % heads:
        raise config.refused(
            f"its config.json has {heads} attention heads of {groups} groups for a "
            f"hidden size of {width}: each must divide the one before, counted from the last"
        )
    settings: dict[str, Any] = {
        **sizes,
        **{key: config[key] for key in _SPECIAL if key in config},
        "hidden_act": config.get("hidden_act", "silu"),
        "rms_norm_eps": config.number("rms_norm_eps"),
        "rope_parameters": _rotary(config),
        "attention_bias": bool(config.get("bias", False)),
        "tie_word_embeddings": False,
        "num_labels": 1,
    }
    network = LlamaConfig(**settings)
    shapes = {
        name: shape
        for name, shape in shapes_of(LlamaForSequenceClassification, network).items()
        if _KEY not in name and _VALUE not in name
    }
    size = width // heads
    fused = {name: ((heads + 2 * groups) * size, *shape[1:]) for name, shape in shapes.items() if _QUERY in name}
    expected = {_published(name): shape for name, shape in (shapes | fused).items()}
    refuse_other_layout(config.checkpoint, stored, expected)
    weights: dict[str, Tensor] = {}
    for name in shapes:
        tensor = read_tensor(config.checkpoint, stored, _published(name))
        parts = _split(tensor, heads // groups, size) if name in fused else [tensor]
        weights |= {name.replace(_QUERY, kind): part for kind, part in zip((_QUERY, _KEY, _VALUE), parts, strict=False)}
    return *model_of(LlamaForSequenceClassification, network, weights, **options), None


def _published(name: str) -> str:
    """Return InternLM2's name of one of Llama's tensors."""
    for llama, published in _NAMES.items():
        # A name without a leading dot stands at the start.
        if llama in name and (llama.startswith(".") or name.startswith(llama)):
            return name.replace(llama, published)
    return name


def _split(fused: Tensor, queries: int, size: int) -> list[Tensor]:
    groups = fused.unflatten(0, (-1, queries + 2, size))  # [kv heads, g queries, key, value; size; hidden]
    parts = groups[:, :queries], groups[:, queries : queries + 1], groups[:, queries + 1 :]
    return [part.flatten(0, 2).contiguous() for part in parts]


def _rotary(config: Config) -> dict[str, Any]:
    theta = config.number("rope_theta")
    scaling = config.get("rope_scaling") or {}
    kind = scaling.get("type", scaling.get("rope_type", "default")) if isinstance(scaling, dict) else scaling
    if kind == "linear":
        factor = Config(scaling, config.checkpoint).number("factor")
        return {"rope_type": "linear", "rope_theta": theta, "factor": factor}
    if kind not in ("default", "dynamic"):
        raise config.refused(f"rope_scaling in its config.json is {kind!r}, linear, dynamic or null is read")
    return {"rope_type": "default", "rope_theta": theta}
