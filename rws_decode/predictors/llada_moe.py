"""LLaDA-MoE (Zhu et al. 2025, arXiv:2509.24389): the network of Qwen3-MoE under other keys, with attention both ways.

Queries and keys are normalised head by head, as in Qwen3; a token goes to the experts of the largest softmax of the
router, and their weights are those probabilities as they are, not made to sum to one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rws_decode.checkpoints.config import flag, number, whole
from rws_decode.predictors.families import Family, Layout, head_counts

# The config can describe networks that are no Qwen3-MoE; the published checkpoints have these values.
_REQUIRED: dict[str, tuple[Any, ...]] = {
    "hidden_act": ("silu",),
    "attention_bias": (False, None),
    "clip_qkv": (None,),
    "qk_layernorm": (True,),
    "rope_scaling": (None,),
    "partial_rotary_factor": (1, None),
    "moe_router_enable_expert_bias": (False, None),
    "moe_router_score_function": ("softmax", None),
    "shared_expert_intermediate_size": (None,),
    "norm_topk_prob": (None, False),
}


def is_llada_moe(raw: Mapping[str, Any]) -> bool:
    """Return whether a config.json is LLaDA-MoE's, by its class: it shares its model_type with the dense LLaDA.

    >>> is_llada_moe({"model_type": "llada", "architectures": ["LLaDAMoEModelLM"]})
    True
    """
    named = raw.get("architectures")
    classes = named if isinstance(named, list) else []
    kinds = ("lladamoe", "llada_moe")
    return str(raw.get("model_type")).lower() in kinds or any("LLaDAMoE" in str(each) for each in classes)


def _layout(raw: Mapping[str, Any], name: str) -> Layout:
    """Return how a LLaDA-MoE checkpoint is loaded; ValueError for a config of another network, or of none."""
    from transformers import Qwen3MoeConfig

    model = f"model {name}"
    for key, allowed in _REQUIRED.items():
        if key in raw and raw[key] not in allowed:
            raise ValueError(
                f"{model} cannot be loaded: {key} in its config.json is {raw[key]!r}, not {allowed[0]!r} as in "
                "LLaDA-MoE"
            )
    width, heads, shared = head_counts(raw, name, ("hidden_size", "num_attention_heads", "num_key_value_heads"))
    layers = whole(raw, "num_hidden_layers", model)
    dense = _dense_layers(raw, layers, model)
    experts, chosen = whole(raw, "num_experts", model), whole(raw, "num_experts_per_tok", model)
    if chosen > experts:
        raise ValueError(
            f"{model} cannot be loaded: num_experts_per_tok in its config.json is {chosen}, of {experts} experts"
        )
    inner = whole(raw, "expert_intermediate_size", model)
    config = Qwen3MoeConfig(
        vocab_size=whole(raw, "vocab_size", model),
        hidden_size=width,
        intermediate_size=whole(raw, "dense_intermediate_size", model) if dense else inner,
        moe_intermediate_size=inner,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=shared,
        num_experts=experts,
        num_experts_per_tok=chosen,
        norm_topk_prob=False,
        decoder_sparse_step=1,
        mlp_only_layers=dense,
        max_position_embeddings=whole(raw, "max_position_embeddings", model),
        rms_norm_eps=number(raw, "rms_norm_eps", model),
        rope_parameters={"rope_type": "default", "rope_theta": number(raw, "rope_theta", model)},
        tie_word_embeddings=flag(raw, "tie_word_embeddings", model),
        use_sliding_window=False,
        use_cache=False,
    )
    return Layout("qwen3_moe", config, config.vocab_size)


def _dense_layers(raw: Mapping[str, Any], layers: int, model: str) -> list[int]:
    """Return the layers without experts, which moe_layer_freq marks with 0; ValueError unless it marks each layer."""
    marks = raw.get("moe_layer_freq", [1] * layers)
    if not isinstance(marks, list) or len(marks) != layers or any(mark not in (0, 1) for mark in marks):
        raise ValueError(
            f"{model} cannot be loaded: moe_layer_freq in its config.json is {marks!r}, not 0 or 1 for each of "
            f"{layers} layers"
        )
    return [layer for layer, mark in enumerate(marks) if not mark]


LLADA_MOE = Family(
    name="llada-moe",
    layout=_layout,
    width=157184,
    mask=("<|mask|>", 156895),
    ends=(("<|endoftext|>", 156892), ("<|role_end|>", 156900)),
    tokenizer="PreTrainedTokenizerFast",
)
