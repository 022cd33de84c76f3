"""A predictor's logits at places, without copying a value to the host."""

from __future__ import annotations

import torch
from torch import Tensor

from rws_decode.canvas.layout import Canvas
from rws_decode.extra.compact.llama import Body
from rws_decode.extra.compact.savings import CompactSavings
from rws_decode.predictors.base import MaskPredictor, forbidden_ids, logits_at
from rws_decode.predictors.bidirectional import BidirectionalPredictor


class Network:
    """The logits of one batch's canvases, closed tokens at -inf.

    Llama-like predictors run their `llama.Body`; others their own forward, which may look at values. closed:
    further tokens than the forbidden ones (`layout.forbidden_ids`) that are never committed.
    """

    def __init__(self, predictor: MaskPredictor, canvas: Canvas, closed: list[int], savings: CompactSavings) -> None:
        self.predictor = predictor
        self.mask = canvas.attention_mask
        self.savings = savings
        self.forbidden = sorted({*forbidden_ids(predictor), *closed})
        self._closed: Tensor | None = None
        self.body: Body | None = None
        if isinstance(predictor, BidirectionalPredictor) and savings.graphs:
            body = Body.of(predictor, predictor.model.model, causal=False)
            self.body = body if body.supported else None
        self.visible: Tensor | None = None
        self.positions: Tensor | None = None
        if isinstance(predictor, BidirectionalPredictor):
            self.visible = predictor.visible(self.mask, canvas.ids)
        if self.mask is not None:
            self.positions = (self.mask.long().cumsum(dim=1) - 1).clamp(min=0)

    def logits(self, ids: Tensor, row: Tensor, column: Tensor) -> Tensor:
        """Return the logits [N, V] that predict N places of canvas ids int64 [B, L]; row, column: int64 [N]."""
        if self.body is None:
            logits = (
                logits_at(self.predictor, ids, self.mask, row, column)
                if self.savings.places
                else self.predictor.logits(ids, self.mask)[row, column]
            )
        else:
            assert isinstance(self.predictor, BidirectionalPredictor)
            hidden = self.body(ids, self.visible, self.positions)
            source = self.predictor.source(self.mask, row, column)
            head = self.predictor.model.lm_head
            logits = head(hidden[row, source]) if self.savings.places else head(hidden)[row, source]
        if self._closed is None:
            # Ids beyond the head's rows have no logit.
            below = [token for token in self.forbidden if token < logits.shape[-1]]
            self._closed = sent(torch.tensor(below, dtype=torch.int64), logits.device)
        return logits.index_fill_(1, self._closed, -torch.inf)


def sent(host: Tensor, device: torch.device) -> Tensor:
    """Return a tensor of the host on the device, without waiting for the device."""
    # A copy from memory that is not pinned would wait.
    return host.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else host.to(device)
