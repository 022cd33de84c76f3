"""Classifier-free guidance: logits with the prompt against logits without it."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from rws_decode.predictors.base import MaskPredictor, logits_at
from rws_decode.step.rounding import logit_error

__all__ = ["check_cfg", "guided_logits"]


def check_cfg(cfg: float) -> None:
    """Raise ValueError unless the guidance scale is finite and at least 0."""
    if not (isinstance(cfg, int | float) and math.isfinite(cfg) and cfg >= 0):
        raise ValueError(f"cfg is {cfg!r}: it must be finite and at least 0")


def guided_logits(
    predictor: MaskPredictor,
    canvas: Tensor,
    attention_mask: Tensor | None,
    prompt: Tensor,
    row: Tensor,
    column: Tensor,
    cfg: float,
) -> tuple[Tensor, Tensor | None]:
    """Return un + (s + 1) (cond - un) at N places: `cond` of the canvas, `un` of that with its prompt masked; [N, V].

    Also returned: by how much these logits may be off, float64 [N], as the combination amplifies what rounding does to
    either (`rounding.logit_error`: s + 1 times that of `cond`, s times that of `un`); None for `cond` itself.

    Unsupervised classifier-free guidance as in LLaDA (Nie et al. 2025), both in one forward of 2 B rows; s = cfg = 0
    is `cond` itself, by one forward of B rows. canvas: int64 [B, L]; attention_mask: bool [B, L] or None, the same for
    both; prompt: bool [B, L], its columns; row and column: int64 [N], the places. A token that `cond` excludes (-inf)
    stays excluded. ValueError where the predictor's logits have another shape.

    >>> from rws_decode.predictors import CallablePredictor
    >>> predictor = CallablePredictor(lambda canvas: torch.eye(3)[canvas], mask_id=0)
    >>> place, canvas = torch.tensor([0]), torch.tensor([[2, 0]])
    >>> guided_logits(predictor, canvas, None, torch.tensor([[True, False]]), place, place, 1.0)[0].tolist()
    [[-1.0, 0.0, 2.0]]
    """
    if cfg == 0:
        return logits_at(predictor, canvas, attention_mask, row, column), None
    both = torch.cat([canvas, canvas.masked_fill(prompt, predictor.mask_id)])
    mask = None if attention_mask is None else torch.cat([attention_mask, attention_mask])
    rows = torch.cat([row, row + len(canvas)])
    conditional, unconditional = logits_at(predictor, both, mask, rows, torch.cat([column, column])).chunk(2)
    error = (cfg + 1) * logit_error(conditional) + cfg * logit_error(unconditional)
    logits = unconditional + (cfg + 1) * (conditional - unconditional)
    return logits.masked_fill_(conditional == -torch.inf, -torch.inf), error
