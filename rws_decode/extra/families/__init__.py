"""Families of masked diffusion models beside LLaDA and Dream: LLaDA-MoE, and the models of A2D.

LLaDA-MoE is Qwen3-MoE's network. A2D (Zhou et al. 2026, arXiv:2602.22661) are Qwen3, Qwen2 and Llama, trained on: the
logits at a place are its own. A2D's loader adds the mask to the tokenizer, so the files may not name it, and asks the
chat template for no thinking. All attend both ways but those called bd3lm, which fill block after block: their config
is the same, and their sampler has blocks of 32 (dllm, examples/a2d/bd3lm/sample.py).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from rws_decode.checkpoints.config import Config
from rws_decode.predictors.families import QWEN, Family, Layout, decoder_config
from rws_decode.predictors.llada_dream import shared_fields

_LLADA_MOE: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("clip_qkv", "rope_scaling", "shared_expert_intermediate_size"), (None,)),
    **dict.fromkeys(("attention_bias", "moe_router_enable_expert_bias"), (False, None)),
    "hidden_act": ("silu",),
    "qk_layernorm": (True,),
    "partial_rotary_factor": (1, None),
    "moe_router_score_function": ("softmax", None),
    "norm_topk_prob": (None, False),
}


def _llada_moe(raw: Config) -> Layout:
    """Return how a LLaDA-MoE checkpoint is loaded; ValueError for a config of another network, or of none."""
    from transformers import Qwen3MoeConfig

    raw.refuse_others("LLaDA-MoE", _LLADA_MOE)
    fields = shared_fields(raw)
    # Layers without experts are marked with 0.
    layers = fields["num_hidden_layers"]
    marks = raw.get("moe_layer_freq", [1] * layers)
    if not isinstance(marks, list) or len(marks) != layers or any(mark not in (0, 1) for mark in marks):
        raise raw.wrong("moe_layer_freq", f"not 0 or 1 for each of {layers} layers")
    dense = [layer for layer, mark in enumerate(marks) if not mark]
    experts, chosen = raw.whole("num_experts"), raw.whole("num_experts_per_tok")
    if chosen > experts:
        raise raw.wrong("num_experts_per_tok", f"of {experts} experts")
    inner = raw.whole("expert_intermediate_size")
    config = Qwen3MoeConfig(
        **fields,
        intermediate_size=raw.whole("dense_intermediate_size") if dense else inner,
        moe_intermediate_size=inner,
        num_experts=experts,
        num_experts_per_tok=chosen,
        norm_topk_prob=False,
        decoder_sparse_step=1,
        mlp_only_layers=dense,
    )
    return Layout("qwen3_moe", config, config.vocab_size)


LLADA_MOE = Family(
    name="llada-moe",
    layout=_llada_moe,
    width=157184,
    mask=("<|mask|>", 156895),
    ends=(("<|endoftext|>", 156892), ("<|role_end|>", 156900)),
    tokenizer="PreTrainedTokenizerFast",
)


def plain_layout(raw: Config, kind: str, *, block: int | None = None, shifted: bool = False) -> Layout:
    """Return how a checkpoint of a kind is loaded whose config has transformers' keys; ValueError for another one."""
    if raw.get("use_sliding_window"):
        raise raw.refused("use_sliding_window in its config.json is on, not off")
    config = decoder_config(kind, raw)
    return Layout(kind, config, config.vocab_size, shifted=shifted, block=block)


def _a2d(kind: str, raw: Config) -> Layout:
    return plain_layout(raw, kind, block=32 if "bd3lm" in raw.checkpoint.name.lower() else None)


A2D_QWEN3 = Family(
    name="a2d-qwen3",
    layout=partial(_a2d, "qwen3"),
    width=151936,
    mask=("<|mask|>", 151669),
    **QWEN,
    mask_aliases=("<|MASK|>",),
    adds_mask=True,
    chat_options={"enable_thinking": False},
)
A2D_QWEN2 = replace(
    A2D_QWEN3, name="a2d-qwen2", layout=partial(_a2d, "qwen2"), mask=("<|mask|>", 151665), chat_options={}
)
# Llama 3's embedding has no free row for a mask: the id holds where the embedding was widened by one row.
A2D_LLAMA = replace(
    A2D_QWEN2,
    name="a2d-llama",
    layout=partial(_a2d, "llama"),
    width=128257,
    mask=("<|mask|>", 128256),
    ends=(("<|end_of_text|>", 128001), ("<|eot_id|>", 128009)),
    tokenizer="PreTrainedTokenizerFast",
)
