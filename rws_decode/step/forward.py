"""What a forward says of the masked positions: their logits, and which tokens they may take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

from rws_decode.canvas.layout import Canvas, forbidden_tokens
from rws_decode.predictors.base import MaskPredictor
from rws_decode.step.classifier_free import guided_logits
from rws_decode.step.rounding import logit_error

__all__ = ["MaskedLogits", "masked_logits"]


class MaskedLogits(NamedTuple):
    """Logits of the N masked positions of a batch: row and position, int64 [N], rising; logits and published, [N, V].

    logits: -inf where a token cannot be committed. published: what the predictor gave, forbidden tokens too; the same
    tensor as `logits` where that was not asked for. error: float64 [N], by how much the logits of a position may be off
    (`rounding.logit_error`).
    """

    row: Tensor
    position: Tensor
    logits: Tensor
    published: Tensor
    error: Tensor


def masked_logits(
    predictor: MaskPredictor,
    canvas: Canvas,
    masked: Tensor,
    *,
    cfg: float = 0.0,
    suppressed: Sequence[int] = (),
    published: bool = False,
) -> MaskedLogits:
    """Return the logits at the masked positions of a batch, by one forward.

    masked: bool [B, n], positions of the answers; cfg: guidance scale; suppressed: end-of-text ids that are never
    committed and take no probability, also not among those published. Forbidden: [MASK], padding and the predictor's
    forbidden ids (`layout.forbidden_tokens`).

    >>> import torch
    >>> from rws_decode.canvas.layout import lay_out
    >>> from rws_decode.predictors import CallablePredictor
    >>> predictor = CallablePredictor(lambda canvas: torch.eye(3)[canvas], mask_id=0)
    >>> found = masked_logits(predictor, lay_out(predictor, [[1]], length=2), torch.tensor([[False, True]]))
    >>> found.position.tolist(), found.logits.tolist()
    ([1], [[-inf, 0.0, 0.0]])
    """
    row, position = masked.nonzero(as_tuple=True)
    column = canvas.answer[row, position]
    logits, error = guided_logits(predictor, canvas.ids, canvas.attention_mask, canvas.prompt, row, column, cfg)
    if suppressed and max(suppressed) >= logits.shape[-1]:
        raise ValueError(f"end_ids holds {max(suppressed)}: {predictor.name} gives {logits.shape[-1]} logits")
    logits[:, list(suppressed)] = float("-inf")
    given = logits.clone() if published else logits
    forbidden = forbidden_tokens(predictor)
    logits[:, forbidden[forbidden < logits.shape[-1]]] = float("-inf")
    return MaskedLogits(row, position, logits, given, logit_error(logits) if error is None else error)
