"""Families of published masked diffusion models: how each one's config.json and tensors are read.

LLaDA (Nie et al. 2025) is the network of Llama under other names; LLaDA-MoE is Qwen3-MoE's; Dream (Ye et al. 2025) is
Qwen2's, and its logits are one position late. A2D (Zhou et al. 2026, arXiv:2602.22661) are Qwen3, Qwen2 and Llama,
trained on: the logits at a place are its own. A2D's loader adds the mask to the tokenizer, so the files may not name
it, and asks the chat template for no thinking. All attend both ways but two, which fill block after block: A2D models
called bd3lm, whose config is the same, and whose sampler has blocks of 32 (dllm, examples/a2d/bd3lm/sample.py); and
Dream-Reasoner (arXiv:2606.19257), of Dream's model_type, which is Qwen3's network with its logits in place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from rws_decode.checkpoints.config import Config
from rws_decode.predictors.families import HEADS, QWEN, Family, Layout, decoder_config, plain_layout

_BLOCK = r"^model\.transformer\.blocks\.(\d+)\."
_LAYER = r"model.layers.\1."
_RENAMED = {
    r"^model\.transformer\.wte\.": "model.embed_tokens.",
    r"^model\.transformer\.ln_f\.": "model.norm.",
    r"^model\.transformer\.ff_out\.": "lm_head.",
    rf"{_BLOCK}attn_norm\.": rf"{_LAYER}input_layernorm.",
    rf"{_BLOCK}ff_norm\.": rf"{_LAYER}post_attention_layernorm.",
    rf"{_BLOCK}q_proj\.": rf"{_LAYER}self_attn.q_proj.",
    rf"{_BLOCK}k_proj\.": rf"{_LAYER}self_attn.k_proj.",
    rf"{_BLOCK}v_proj\.": rf"{_LAYER}self_attn.v_proj.",
    rf"{_BLOCK}attn_out\.": rf"{_LAYER}self_attn.o_proj.",
    rf"{_BLOCK}ff_proj\.": rf"{_LAYER}mlp.gate_proj.",
    rf"{_BLOCK}up_proj\.": rf"{_LAYER}mlp.up_proj.",
    rf"{_BLOCK}ff_out\.": rf"{_LAYER}mlp.down_proj.",
}
# A config can describe other networks; the published checkpoints have one of these values, the first if it is absent.
_LLADA: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("rope", "layer_norm_with_affine"), (True,)),
    **dict.fromkeys(("alibi", "attention_layer_norm", "include_bias", "input_emb_norm", "scale_logits"), (False,)),
    **dict.fromkeys(("bias_for_layer_norm", "include_qkv_bias"), (False, None)),
    "activation_type": ("silu",),
    "block_type": ("llama",),
    "layer_norm_type": ("rms",),
    "block_group_size": (1,),
    "clip_qkv": (None,),
}
_LLADA_MOE: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("clip_qkv", "rope_scaling", "shared_expert_intermediate_size"), (None,)),
    **dict.fromkeys(("attention_bias", "moe_router_enable_expert_bias"), (False, None)),
    "hidden_act": ("silu",),
    "qk_layernorm": (True,),
    "partial_rotary_factor": (1, None),
    "moe_router_score_function": ("softmax", None),
    "norm_topk_prob": (None, False),
}
_DREAM: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("use_sliding_window", "use_mrope"), (False,)),
    "hidden_act": ("silu",),
    "rope_scaling": (None,),
}


def _shared_fields(raw: Config) -> dict[str, Any]:
    """Return the fields of transformers' Qwen configs that a config.json has under the same names."""
    return {
        **{key: raw.whole(key) for key in ("vocab_size", "num_hidden_layers", "max_position_embeddings")},
        **dict(zip(HEADS, raw.heads(*HEADS), strict=True)),
        **_norm_and_rope(raw),
        "tie_word_embeddings": raw.flag("tie_word_embeddings"),
        "use_sliding_window": False,
    }


def _norm_and_rope(raw: Config) -> dict[str, Any]:
    rope = {"rope_type": "default", "rope_theta": raw.number("rope_theta")}
    return {"rms_norm_eps": raw.number("rms_norm_eps"), "rope_parameters": rope, "use_cache": False}


def _llada(raw: Config) -> Layout:
    """Return how a LLaDA checkpoint is loaded; ValueError for a config of another network, or of none."""
    from transformers import LlamaConfig

    raw.refuse_others("LLaDA", _LLADA)
    multi_query = raw.flag("multi_query_attention")
    width, heads, shared = raw.heads("d_model", "n_heads", "n_kv_heads", multi_query=multi_query)
    vocabulary = raw.whole("vocab_size")
    rows = raw.whole("embedding_size", vocabulary)
    if rows < vocabulary:
        raise raw.wrong("embedding_size", f"below vocab_size {vocabulary}")
    config = LlamaConfig(
        vocab_size=rows,
        hidden_size=width,
        intermediate_size=raw.whole("mlp_hidden_size", raw.whole("mlp_ratio", 4) * width),
        num_hidden_layers=raw.whole("n_layers"),
        num_attention_heads=heads,
        num_key_value_heads=shared,
        max_position_embeddings=raw.whole("max_sequence_length"),
        tie_word_embeddings=raw.flag("weight_tying"),
        **_norm_and_rope(raw),
    )
    precise = raw.get("rope_full_precision") is not False
    return Layout("llama", config, vocabulary, _RENAMED, precise_rotary=precise)


LLADA = Family(
    name="llada",
    layout=_llada,
    width=126464,
    mask=("<|mdm_mask|>", 126336),
    ends=(("<|endoftext|>", 126081), ("<|eot_id|>", 126348)),
    tokenizer="PreTrainedTokenizerFast",
)


def is_llada_moe(raw: Mapping[str, Any]) -> bool:
    """Return whether a config.json is LLaDA-MoE's, by its class: it shares its model_type with the dense LLaDA.

    >>> is_llada_moe({"model_type": "llada", "architectures": ["LLaDAMoEModelLM"]})
    True
    """
    named = raw.get("architectures")
    classes = named if isinstance(named, list) else []
    kinds = ("lladamoe", "llada_moe")
    return str(raw.get("model_type")).lower() in kinds or any("LLaDAMoE" in str(each) for each in classes)


def _llada_moe(raw: Config) -> Layout:
    """Return how a LLaDA-MoE checkpoint is loaded; ValueError for a config of another network, or of none."""
    from transformers import Qwen3MoeConfig

    raw.refuse_others("LLaDA-MoE", _LLADA_MOE)
    fields = _shared_fields(raw)
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


_REASONER_MASK = 151669


def _dream(raw: Config) -> Layout:
    """Return how a Dream checkpoint is loaded; ValueError for a config of another network, or of none."""
    from transformers import Qwen2Config

    raw.refuse_others("Dream", _DREAM)
    if "block_size" in raw:  # Dream-Reasoner
        width, heads, _ = raw.heads(*HEADS)
        sized = Config({**raw, "head_dim": raw.get("head_dim") or width // heads}, raw.checkpoint)
        config = decoder_config("qwen3", sized)
        return Layout("qwen3", config, config.vocab_size, block=raw.whole("block_size"))
    if raw.get("mask_token_id") == _REASONER_MASK:
        raise raw.refused(
            f"its mask is {_REASONER_MASK}, Dream-Reasoner's, whose logits are in "
            "place, and its config.json names no block_size, by which that is told from Dream"
        )
    config = Qwen2Config(**_shared_fields(raw), intermediate_size=raw.whole("intermediate_size"))
    return Layout("qwen2", config, config.vocab_size, shifted=True)


DREAM = Family(
    name="dream",
    layout=_dream,
    width=152064,
    mask=("<|mask|>", 151666),
    **QWEN,
)


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
# Llama 3 has no room for one more token: the id holds where the embedding was widened by it.
A2D_LLAMA = replace(
    A2D_QWEN2,
    name="a2d-llama",
    layout=partial(_a2d, "llama"),
    width=128257,
    mask=("<|mask|>", 128256),
    ends=(("<|end_of_text|>", 128001), ("<|eot_id|>", 128009)),
    tokenizer="PreTrainedTokenizerFast",
)
