"""Families of published masked diffusion models: how each one's config.json and tensors are read.

LLaDA (Nie et al. 2025) is the network of Llama under other names; Dream (Ye et al. 2025) is Qwen2's, and its logits are
one position late. Both attend both ways. Dream-Reasoner (arXiv:2606.19257), of Dream's model_type, fills block after
block: it is Qwen3's network with its logits in place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rws_decode.checkpoints.config import Config
from rws_decode.predictors.families import HEADS, QWEN, Family, Layout, decoder_config

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
_DREAM: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("use_sliding_window", "use_mrope"), (False,)),
    "hidden_act": ("silu",),
    "rope_scaling": (None,),
}


def shared_fields(raw: Config) -> dict[str, Any]:
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
    config = Qwen2Config(**shared_fields(raw), intermediate_size=raw.whole("intermediate_size"))
    return Layout("qwen2", config, config.vocab_size, shifted=True)


DREAM = Family(
    name="dream",
    layout=_dream,
    width=152064,
    mask=("<|mask|>", 151666),
    **QWEN,
)
