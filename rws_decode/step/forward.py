"""Step 1: one forward, and what it says of the masked positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from rws_decode.canvas.layout import Canvas
from rws_decode.predictors.base import MaskPredictor, forbidden_ids, logits_at
from rws_decode.step.rounding import logit_error

At = Callable[[MaskPredictor, Tensor, Tensor | None, Tensor, Tensor], Tensor]


class MaskedLogits(NamedTuple):
    """Logits of the N masked positions of a batch: row and position, int64 [N], rising; logits and published, [N, V].

    logits: -inf where a token cannot be committed. published: what the predictor gave, forbidden tokens too; the same
    tensor as `logits` where that was not asked for. off: `error` where it does not follow from the logits.
    """

    row: Tensor
    position: Tensor
    logits: Tensor
    published: Tensor
    off: Tensor | None = None

    @property
    def error(self) -> Tensor:
        """Return by how much the logits of each position may be off, float64 [N] (`rounding.logit_error`)."""
        return logit_error(self.logits) if self.off is None else self.off

    def at(self, index: Tensor | slice) -> MaskedLogits:
        """Return those of some positions; a slice gives views, as logits are much to copy."""
        logits, off = self.logits[index], None if self.off is None else self.off[index]
        published = logits if self.published is self.logits else self.published[index]
        return MaskedLogits(self.row[index], self.position[index], logits, published, off)


def places_of(holds: Tensor) -> Tensor | slice | None:
    """Return the places where a condition holds, bool [N]: a slice if they are neighbours, None if it holds at all."""
    places = holds.cpu().numpy().nonzero()[0]
    if len(places) == len(holds):
        return None
    if len(places) and places[-1] - places[0] == len(places) - 1:
        return slice(int(places[0]), int(places[-1]) + 1)
    return torch.from_numpy(places).to(holds.device)


def masked_logits(
    predictor: MaskPredictor,
    canvas: Canvas,
    masked: Tensor,
    *,
    cfg: float = 0.0,
    suppressed: Sequence[int] = (),
    published: bool = False,
    at: At | None = None,
    forbidden: Sequence[int] | None = None,
) -> MaskedLogits:
    """Return the logits at the masked positions of a batch, by one forward.

    masked: bool [B, n], positions of the answers; cfg: guidance scale; suppressed: end-of-text ids that are never
    committed and take no probability, also not among those published. forbidden: [MASK], padding and the predictor's
    forbidden ids (`forbidden_ids`); at: computes the logits of some places; both the predictor's own if None.
    """
    row, position = masked.nonzero(as_tuple=True)
    column = canvas.answer[row, position]
    logits, off = guided_logits(predictor, canvas.ids, canvas.attention_mask, canvas.prompt, row, column, cfg, at or logits_at)
    if suppressed and max(suppressed) >= logits.shape[-1]:
        raise ValueError(f"end_ids holds {max(suppressed)}: {predictor.name} gives {logits.shape[-1]} logits")
    if suppressed:
        logits[:, list(suppressed)] = float("-inf")
    given = logits.clone() if published else logits
    forbidden = forbidden_ids(predictor) if forbidden is None else forbidden
    closed = torch.tensor([token for token in forbidden if token < logits.shape[-1]], dtype=torch.int64)
    logits.index_fill_(1, closed.to(logits.device), float("-inf"))
    return MaskedLogits(row, position, logits, given, off)


def guided_logits(
    predictor: MaskPredictor,
    canvas: Tensor,
    attention_mask: Tensor | None,
    prompt: Tensor,
    row: Tensor,
    column: Tensor,
    cfg: float,
    at: At = logits_at,
) -> tuple[Tensor, Tensor | None]:
    """Return classifier-free guided logits at N positions, [N, V], and by how much they may be off, float64 [N].

    un + (s + 1) (cond - un), as in LLaDA (Nie et al. 2025): `cond` of the canvas, `un` of the canvas with its prompt
    masked, both in one forward of 2 B rows. s = cfg = 0 is `cond` itself, by one forward of B rows; the error is None
    there, else s + 1 times that of `cond` plus s times that of `un` (`rounding.logit_error`).

    canvas: int64 [B, L]; attention_mask: bool [B, L] or None; prompt: bool [B, L], its columns; row and column:
    int64 [N]. A token that `cond` excludes (-inf) stays excluded. ValueError where the logits have another shape.
    """
    if cfg == 0:
        return at(predictor, canvas, attention_mask, row, column), None
    both = torch.cat([canvas, canvas.masked_fill(prompt, predictor.mask_id)])
    mask = None if attention_mask is None else torch.cat([attention_mask, attention_mask])
    rows = torch.cat([row, row + len(canvas)])
    conditional, unconditional = at(predictor, both, mask, rows, torch.cat([column, column])).chunk(2)
    error = (cfg + 1) * logit_error(conditional) + cfg * logit_error(unconditional)
    logits = unconditional + (cfg + 1) * (conditional - unconditional)
    return logits.masked_fill_(conditional == -torch.inf, -torch.inf), error
