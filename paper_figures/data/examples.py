"""The held-out prompts that ship with a mask predictor, in examples.json beside its weights."""

from __future__ import annotations

from typing import Any

from rws_decode.checkpoints.files import locate, shipped

__all__ = ["examples_of"]


def examples_of(model: str) -> list[dict[str, Any]]:
    """Return the model's held-out prompts (examples.json beside its weights) without loading its weights.

    ValueError for an unknown model, or one that ships none.
    """
    checkpoint = locate("model", model, {name: name for name in shipped("ForMaskedLM")})
    stored = checkpoint.read_json("examples.json")
    whole = isinstance(stored, list) and all(isinstance(example, dict) and "prompt" in example for example in stored)
    if not stored or not whole:
        raise ValueError(f"model is {model}: it ships no held-out prompts (examples.json beside its weights)")
    return stored
