"""What a checkpoint's config.json says, checked: its numbers, switches and sizes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from rws_decode.checkpoints.files import Checkpoint

# Counts and sizes: above these limits a model fills the memory before a single weight is read.
_LAYERS = re.compile(r"(num|n)_.*layers?$|gating_n_hidden$")
_SIZES = re.compile(r"(size|dim|width|embeddings|positions|length|heads|objectives|quantiles|n_embd|d_model)$")
_LARGEST, _LABELS = 2**24, 2**16


def config_of(argument: str, checkpoint: Checkpoint) -> dict[str, Any]:
    """Return a checkpoint's config.json; ValueError if it is no JSON object.

    So is a model with an adapter beside its weights, which transformers would add unasked, from pickles too.
    """
    raw = checkpoint.read_json("config.json")
    if not isinstance(raw, dict):
        raise ValueError(f"{argument} {checkpoint.name} cannot be loaded: its config.json holds no JSON object")
    if checkpoint.read_json("adapter_config.json") is not None:
        raise ValueError(
            f"{argument} {checkpoint.name} holds an adapter: put it into a directory of its own, as adapter"
        )
    return raw


def whole(raw: Mapping[str, Any], key: str, model: str, default: int | None = None) -> int:
    """Return a positive whole number of a config; ValueError if it is missing or something else.

    model: what the message calls the model, here and below.

    >>> whole({"n_layers": 2}, "n_layers", "model mini")
    2
    """
    value = raw.get(key, default)
    value = default if value is None else value
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{model} cannot be loaded: {key} in its config.json is {value!r}, not a positive number")
    return value


def number(raw: Mapping[str, Any], key: str, model: str) -> float:
    """Return a positive finite number of a config; ValueError if it is missing or something else."""
    value = raw.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ValueError(f"{model} cannot be loaded: {key} in its config.json is {value!r}, not a positive number")
    return float(value)


def flag(raw: Mapping[str, Any], key: str, model: str) -> bool:
    """Return a switch of a config, off if it is missing; ValueError if it is something else."""
    value = raw.get(key)
    if value is not None and not isinstance(value, bool):
        raise ValueError(f"{model} cannot be loaded: {key} in its config.json is {value!r}, not true or false")
    return bool(value)


def refuse_sizes(
    argument: str, checkpoint: Checkpoint, config: Mapping[str, Any], stored: Mapping[str, object]
) -> None:
    """Raise ValueError for a config.json with more layers than stored tensors, or with sizes that no model has.

    stored: the tensors by name (`weights.read_headers`). A model is built with memory for all that its config says,
    before any weight is seen to be missing.
    """
    for key, value in config.items():
        kinds = (_LAYERS, len(stored)), (_SIZES, _LARGEST), (re.compile("num_labels"), _LABELS)
        most = min((limit for pattern, limit in kinds if pattern.search(key)), default=None)
        if most is not None and isinstance(value, int | float) and not value <= most:
            reason = f"{key} in its config.json is {value}, at most {most} is read"
            raise ValueError(f"{argument} {checkpoint.name} cannot be loaded: {reason}")
