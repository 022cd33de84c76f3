"""Stored tensors one by one, and a network of transformers made of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open

from rws_decode.checkpoints.files import Checkpoint
from rws_decode.checkpoints.weights import Stored


def read_tensor(checkpoint: Checkpoint, stored: Mapping[str, Stored], name: str) -> torch.Tensor:
    """Return one stored tensor by its name in the files."""
    with safe_open(Path(checkpoint.source) / stored[name].file, framework="pt") as opened:
        return opened.get_tensor(name)


def model_of(kind: Any, config: Any, weights: Mapping[str, torch.Tensor], **options: Any) -> tuple[Any, dict[str, Any]]:
    """Return a transformers model of a class with these weights, and the report of its loading."""
    return kind.from_pretrained(None, config=config, state_dict=weights, output_loading_info=True, **options)
