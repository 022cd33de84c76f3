"""A2D (Zhou et al. 2026, arXiv:2602.22661): Qwen3, Qwen2 and Llama trained on as masked diffusion models.

The networks are those of the models that they were made from, with attention both ways: the logits at a place are its
own, not those of the next one. Their loader adds the mask to the tokenizer, so the files may not name it, and asks the
chat template for no thinking. Those trained block by block (bd3lm) have the same config: their names alone tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from rws_decode.predictors.families import Family, Layout, decoder_config


def _layout(kind: str, raw: Mapping[str, Any], name: str) -> Layout:
    """Return how an A2D checkpoint is loaded; ValueError for block diffusion, and for a config of another network."""
    if "bd3lm" in name.lower():
        raise ValueError(
            f"model {name} cannot be loaded: it is trained to fill block after block (bd3lm), and its attention is "
            "neither causal nor both ways; name its kin of masked diffusion (mdlm)"
        )
    if raw.get("use_sliding_window"):
        raise ValueError(f"model {name} cannot be loaded: use_sliding_window in its config.json is on, not off")
    config = decoder_config(kind, raw, name)
    return Layout(kind, config, config.vocab_size)


A2D_QWEN3 = Family(
    name="a2d-qwen3",
    layout=partial(_layout, "qwen3"),
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
    layout=partial(_layout, "qwen2"),
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
    layout=partial(_layout, "llama"),
    width=128257,
    mask=("<|mask|>", 128256),
    ends=(("<|end_of_text|>", 128001), ("<|eot_id|>", 128009)),
    tokenizer="PreTrainedTokenizerFast",
    mask_aliases=("<|MASK|>",),
    adds_mask=True,
)
