"""Dream (Ye et al. 2025): the network of Qwen2 with attention both ways, and logits that are one position late."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rws_decode.checkpoints.config import flag, number, whole
from rws_decode.predictors.families import Family, Layout, head_counts

# The config can describe other networks; the published checkpoints have these values.
_REQUIRED = {"hidden_act": "silu", "use_sliding_window": False, "use_mrope": False, "rope_scaling": None}


def _layout(raw: Mapping[str, Any], name: str) -> Layout:
    """Return how a Dream checkpoint is loaded; ValueError for a config of another network, or of none."""
    from transformers import Qwen2Config

    model = f"model {name}"
    for key, value in _REQUIRED.items():
        if raw.get(key, value) != value:
            raise ValueError(
                f"{model} cannot be loaded: {key} in its config.json is {raw[key]!r}, not {value!r} as in Dream"
            )
    width, heads, shared = head_counts(raw, name, ("hidden_size", "num_attention_heads", "num_key_value_heads"))
    config = Qwen2Config(
        vocab_size=whole(raw, "vocab_size", model),
        hidden_size=width,
        intermediate_size=whole(raw, "intermediate_size", model),
        num_hidden_layers=whole(raw, "num_hidden_layers", model),
        num_attention_heads=heads,
        num_key_value_heads=shared,
        max_position_embeddings=whole(raw, "max_position_embeddings", model),
        rms_norm_eps=number(raw, "rms_norm_eps", model),
        rope_parameters={"rope_type": "default", "rope_theta": number(raw, "rope_theta", model)},
        tie_word_embeddings=flag(raw, "tie_word_embeddings", model),
        use_sliding_window=False,
        use_cache=False,
    )
    return Layout("qwen2", config, config.vocab_size, shifted=True)


DREAM = Family(
    name="dream",
    layout=_layout,
    width=152064,
    mask=("<|mask|>", 151666),
    ends=(("<|endoftext|>", 151643), ("<|im_end|>", 151645)),
    tokenizer="Qwen2Tokenizer",
)
