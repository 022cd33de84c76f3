"""Between which numbers the scores of a sequence classifier must lie, whatever text it reads."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from rws_decode.common.threads import torch_threads

# Norms whose output is weight * x / sqrt(mean(x^2) + eps), and so at most sqrt(d) long before the weight.
_RMS_NORMS = ("LlamaRMSNorm", "MistralRMSNorm", "Qwen2RMSNorm", "Qwen3RMSNorm")


def head_bounds(model: Any) -> tuple[float, float] | None:
    """Return (low, high) between which every score of a one-output classifier lies; None if no bounds are known.

    They follow from the normalisation before the head (docs/theory.md, eq. (T57)). Known are ModernBERT's head
    (LayerNorm), Llama's, Mistral's and Qwen's (RMSNorm), and BERT's pooler (tanh). Guarantee: for the weights as they
    are, with the rounding of their dtype outside, sums taken in float32 at least.

    >>> from transformers import BertConfig, BertForSequenceClassification
    >>> config = BertConfig(vocab_size=8, hidden_size=4, num_hidden_layers=1, num_attention_heads=1, num_labels=1)
    >>> model = BertForSequenceClassification(config)
    >>> low, high = head_bounds(model)
    >>> low < 0 < high < 1
    True
    """
    with torch_threads():
        return _bounds(model)


def _bounds(model: Any) -> tuple[float, float] | None:
    linear = getattr(model, "classifier", None) or getattr(model, "score", None)
    if not isinstance(linear, nn.Linear) or linear.out_features != 1:
        return None
    weight = linear.weight[0].detach().double()
    offset = 0.0 if linear.bias is None else float(linear.bias[0].detach())
    kind = type(model).__name__
    if kind == "BertForSequenceClassification":
        return _around(offset, float(weight.abs().sum()), linear.weight)
    if kind == "ModernBertForSequenceClassification":
        norm = model.head.norm
    else:
        norm = getattr(model.base_model, "norm", None)
        if norm is None or type(norm).__name__ not in _RMS_NORMS:
            return None
    scaled = weight * norm.weight.detach().double()
    if isinstance(norm, nn.LayerNorm):
        if norm.bias is not None:
            offset += float(weight @ norm.bias.detach().double())
        scaled = scaled - scaled.mean()
    return _around(offset, float(scaled.norm()) * math.sqrt(len(scaled)), linear.weight)


def _around(centre: float, reach: float, weight: Tensor) -> tuple[float, float]:
    # Terms are rounded to the dtype a few times each, and at most len(weight) of them summed in float32.
    rounding = 8 * torch.finfo(weight.dtype).eps + (weight.numel() + 32) * torch.finfo(torch.float32).eps
    reach += 4 * rounding * (reach + abs(centre) + float(weight.detach().abs().max()))
    return centre - reach, centre + reach
