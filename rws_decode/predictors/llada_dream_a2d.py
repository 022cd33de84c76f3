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
from functools import partial
from typing import Any

from rws_decode.checkpoints.config import flag, number, whole
from rws_decode.predictors.families import Family, Layout, decoder_config, head_counts, refuse_others

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
    "activation_type": ("silu",),
    "block_type": ("llama",),
    "layer_norm_type": ("rms",),
    "rope": (True,),
    "alibi": (False,),
    "attention_layer_norm": (False,),
    "bias_for_layer_norm": (False, None),
    "block_group_size": (1,),
    "clip_qkv": (None,),
    "include_bias": (False,),
    "include_qkv_bias": (False, None),
    "input_emb_norm": (False,),
    "layer_norm_with_affine": (True,),
    "scale_logits": (False,),
}
_LLADA_MOE: dict[str, tuple[Any, ...]] = {
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
_DREAM: dict[str, tuple[Any, ...]] = {
    "hidden_act": ("silu",),
    "use_sliding_window": (False,),
    "use_mrope": (False,),
    "rope_scaling": (None,),
}


def _shared_fields(raw: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the fields of transformers' Qwen configs that a config.json has under the same names."""
    model = f"model {name}"
    width, heads, shared = head_counts(raw, name, ("hidden_size", "num_attention_heads", "num_key_value_heads"))
    sizes = ("vocab_size", "num_hidden_layers", "max_position_embeddings")
    return {
        **{key: whole(raw, key, model) for key in sizes},
        "hidden_size": width,
        "num_attention_heads": heads,
        "num_key_value_heads": shared,
        "rms_norm_eps": number(raw, "rms_norm_eps", model),
        "rope_parameters": {"rope_type": "default", "rope_theta": number(raw, "rope_theta", model)},
        "tie_word_embeddings": flag(raw, "tie_word_embeddings", model),
        "use_sliding_window": False,
        "use_cache": False,
    }


def _llada(raw: Mapping[str, Any], name: str) -> Layout:
    """Return how a LLaDA checkpoint is loaded; ValueError for a config of another network, or of none."""
    from transformers import LlamaConfig

    refuse_others(raw, name, "LLaDA", _LLADA)
    model = f"model {name}"
    multi_query = flag(raw, "multi_query_attention", model)
    width, heads, shared = head_counts(raw, name, ("d_model", "n_heads", "n_kv_heads"), multi_query=multi_query)
    vocabulary = whole(raw, "vocab_size", model)
    rows = whole(raw, "embedding_size", model, vocabulary)
    if rows < vocabulary:
        raise ValueError(
            f"{model} cannot be loaded: embedding_size in its config.json is {rows}, below vocab_size {vocabulary}"
        )
    config = LlamaConfig(
        vocab_size=rows,
        hidden_size=width,
        intermediate_size=whole(raw, "mlp_hidden_size", model, whole(raw, "mlp_ratio", model, 4) * width),
        num_hidden_layers=whole(raw, "n_layers", model),
        num_attention_heads=heads,
        num_key_value_heads=shared,
        max_position_embeddings=whole(raw, "max_sequence_length", model),
        rms_norm_eps=number(raw, "rms_norm_eps", model),
        rope_parameters={"rope_type": "default", "rope_theta": number(raw, "rope_theta", model)},
        tie_word_embeddings=flag(raw, "weight_tying", model),
        use_cache=False,
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


def _llada_moe(raw: Mapping[str, Any], name: str) -> Layout:
    """Return how a LLaDA-MoE checkpoint is loaded; ValueError for a config of another network, or of none."""
    from transformers import Qwen3MoeConfig

    model = f"model {name}"
    refuse_others(raw, name, "LLaDA-MoE", _LLADA_MOE)
    fields = _shared_fields(raw, name)
    dense = _dense_layers(raw, fields["num_hidden_layers"], model)
    experts, chosen = whole(raw, "num_experts", model), whole(raw, "num_experts_per_tok", model)
    if chosen > experts:
        raise ValueError(
            f"{model} cannot be loaded: num_experts_per_tok in its config.json is {chosen}, of {experts} experts"
        )
    inner = whole(raw, "expert_intermediate_size", model)
    config = Qwen3MoeConfig(
        **fields,
        intermediate_size=whole(raw, "dense_intermediate_size", model) if dense else inner,
        moe_intermediate_size=inner,
        num_experts=experts,
        num_experts_per_tok=chosen,
        norm_topk_prob=False,
        decoder_sparse_step=1,
        mlp_only_layers=dense,
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
    layout=_llada_moe,
    width=157184,
    mask=("<|mask|>", 156895),
    ends=(("<|endoftext|>", 156892), ("<|role_end|>", 156900)),
    tokenizer="PreTrainedTokenizerFast",
)


_REASONER_MASK = 151669


def _dream(raw: Mapping[str, Any], name: str) -> Layout:
    """Return how a Dream checkpoint is loaded; ValueError for a config of another network, or of none."""
    from transformers import Qwen2Config

    refuse_others(raw, name, "Dream", _DREAM)
    if "block_size" in raw:  # Dream-Reasoner
        width, heads, _ = head_counts(raw, name, ("hidden_size", "num_attention_heads", "num_key_value_heads"))
        config = decoder_config("qwen3", {**raw, "head_dim": raw.get("head_dim") or width // heads}, name)
        return Layout("qwen3", config, config.vocab_size, block=whole(raw, "block_size", f"model {name}"))
    if raw.get("mask_token_id") == _REASONER_MASK:
        raise ValueError(
            f"model {name} cannot be loaded: its mask is {_REASONER_MASK}, Dream-Reasoner's, whose logits are in "
            "place, and its config.json names no block_size, by which that is told from Dream"
        )
    inner = whole(raw, "intermediate_size", f"model {name}")
    config = Qwen2Config(**_shared_fields(raw, name), intermediate_size=inner)
    return Layout("qwen2", config, config.vocab_size, shifted=True)


DREAM = Family(
    name="dream",
    layout=_dream,
    width=152064,
    mask=("<|mask|>", 151666),
    ends=(("<|endoftext|>", 151643), ("<|im_end|>", 151645)),
    tokenizer="Qwen2Tokenizer",
)


def _a2d(kind: str, raw: Mapping[str, Any], name: str) -> Layout:
    """Return how an A2D checkpoint is loaded; ValueError for a config of another network."""
    if raw.get("use_sliding_window"):
        raise ValueError(f"model {name} cannot be loaded: use_sliding_window in its config.json is on, not off")
    config = decoder_config(kind, raw, name)
    return Layout(kind, config, config.vocab_size, block=32 if "bd3lm" in name.lower() else None)


A2D_QWEN3 = Family(
    name="a2d-qwen3",
    layout=partial(_a2d, "qwen3"),
    width=151936,
    mask=("<|mask|>", 151669),
    ends=(("<|endoftext|>", 151643), ("<|im_end|>", 151645)),
    tokenizer="Qwen2Tokenizer",
    mask_aliases=("<|MASK|>",),
    adds_mask=True,
    chat_options={"enable_thinking": False},
)
A2D_QWEN2 = Family(
    name="a2d-qwen2",
    layout=partial(_a2d, "qwen2"),
    width=151936,
    mask=("<|mask|>", 151665),
    ends=(("<|endoftext|>", 151643), ("<|im_end|>", 151645)),
    tokenizer="Qwen2Tokenizer",
    mask_aliases=("<|MASK|>",),
    adds_mask=True,
)
# Llama 3 has no room for one more token: the id holds where the embedding was widened by it.
A2D_LLAMA = Family(
    name="a2d-llama",
    layout=partial(_a2d, "llama"),
    width=128257,
    mask=("<|mask|>", 128256),
    ends=(("<|end_of_text|>", 128001), ("<|eot_id|>", 128009)),
    tokenizer="PreTrainedTokenizerFast",
    mask_aliases=("<|MASK|>",),
    adds_mask=True,
)
