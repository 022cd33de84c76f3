"""LLaDA (Nie et al. 2025): the network of Llama under other names, with attention both ways."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rws_decode.checkpoints.config import flag, number, whole
from rws_decode.predictors.families import Family, Layout, head_counts

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
# The config can describe networks that are no Llama; the published checkpoints have these values.
_REQUIRED: dict[str, tuple[Any, ...]] = {
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


def _layout(raw: Mapping[str, Any], name: str) -> Layout:
    """Return how a LLaDA checkpoint is loaded; ValueError for a config of another network, or of none."""
    from transformers import LlamaConfig

    for key, allowed in _REQUIRED.items():
        if key in raw and raw[key] not in allowed:
            raise ValueError(
                f"model {name} cannot be loaded: {key} in its config.json is {raw[key]!r}, not {allowed[0]!r} as in "
                "LLaDA"
            )
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
    layout=_layout,
    width=126464,
    mask=("<|mdm_mask|>", 126336),
    ends=(("<|endoftext|>", 126081), ("<|eot_id|>", 126348)),
    tokenizer="PreTrainedTokenizerFast",
)
