"""Converted checkpoints: a causal language model of transformers, marked as one that attends both ways."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rws_decode.checkpoints.config import flag, whole
from rws_decode.predictors.families import DECODERS, Family, Layout, SpecialIds, decoder_config
from rws_decode.predictors.published import A2D_LLAMA, A2D_QWEN2, A2D_QWEN3, DREAM, LLADA, LLADA_MOE, is_llada_moe

MARKER = "masked_diffusion"
FAMILIES = {family.name: family for family in (LLADA, LLADA_MOE, DREAM, A2D_QWEN3, A2D_QWEN2, A2D_LLAMA)}
_FORMAT = 1
_UNUSED = frozenset(
    "transformers_version _name_or_path bos_token_id output_hidden_states output_attentions return_dict id2label "
    "label2id problem_type chunk_size_feed_forward is_encoder_decoder pretraining_tp".split()
)


def family_of(raw: Mapping[str, Any], name: str) -> Family | None:
    """Return the family of a config.json: that of its model_type or of its marker, None for another model.

    LLaDA-MoE has LLaDA's model_type, and a class of its own. ValueError for a marker that this version does not know.
    """
    marker = raw.get(MARKER)
    if marker is None and is_llada_moe(raw):
        return LLADA_MOE
    if marker is None:
        return FAMILIES.get(str(raw.get("model_type")).lower())
    family = FAMILIES.get(str(marker.get("family"))) if isinstance(marker, dict) else None
    if family is None or marker.get("format") != _FORMAT or marker.get("attention") != "bidirectional":
        raise ValueError(
            f"model {name} cannot be loaded: {MARKER} in its config.json is not of format {_FORMAT}, for bidirectional "
            f"attention, of a family of {', '.join(FAMILIES)}"
        )
    return replace(family, layout=_layout)


def native_config(family: Family, layout: Layout, ids: SpecialIds, dtype: str) -> dict[str, Any]:
    """Return the config.json of a converted checkpoint: transformers' own, with the marker and the special tokens."""
    config = layout.config.to_dict()
    return {key: value for key, value in config.items() if key not in _UNUSED} | {
        "architectures": [DECODERS[layout.kind][1]],
        "dtype": dtype,
        "mask_token_id": ids.mask,
        "eos_token_id": list(ids.ends),
        "pad_token_id": ids.ends[0] if ids.ends else None,
        MARKER: {
            "format": _FORMAT,
            "family": family.name,
            "attention": "bidirectional",
            "shifted": layout.shifted,
            "precise_rotary": layout.precise_rotary,
            "vocab_size": layout.vocabulary,
        },
    }


def _layout(raw: Mapping[str, Any], name: str) -> Layout:
    """Return how a converted checkpoint is loaded: as it is. ValueError for a config that contradicts itself."""
    model, kind = f"model {name}", str(raw.get("model_type"))
    if kind not in DECODERS:
        known = ", ".join(DECODERS)
        raise ValueError(f"{model} cannot be loaded: model_type in its config.json is {kind!r}, none of {known}")
    marker = raw[MARKER]
    rows, vocabulary = whole(raw, "vocab_size", model), whole(marker, "vocab_size", model)
    if rows < vocabulary:
        raise ValueError(f"{model} cannot be loaded: its config.json counts {vocabulary} tokens in {rows} rows")
    config = decoder_config(kind, {key: value for key, value in raw.items() if key != MARKER}, name)
    shifted, precise = flag(marker, "shifted", model), flag(marker, "precise_rotary", model)
    return Layout(kind, config, vocabulary, shifted=shifted, precise_rotary=precise)
