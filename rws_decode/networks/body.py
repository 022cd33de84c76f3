"""The network below a head, lean where it can be, and replayed where asked."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from rws_decode.networks.graphs import Replays
from rws_decode.networks.llama import LeanLlama


class Body:
    """Final hidden states of a transformers model, by `LeanLlama` and `Replays`, made when first needed.

    model: a decoder without its head; causal: whether a position sees only those before it. A model whose weights were
    moved is laid out, and recorded, again.
    """

    def __init__(self, model: Any, *, causal: bool) -> None:
        self.model = model
        self.causal = causal
        self.replays = Replays()
        self._lean: LeanLlama | None = None
        self._made_from: object = None

    @property
    def supported(self) -> bool:
        """Return whether the model is one that `LeanLlama` computes."""
        return LeanLlama.supported(self.model)

    def __call__(
        self, ids: Tensor, seen: Tensor | None = None, positions: Tensor | None = None, *, replay: bool = True
    ) -> Tensor:
        """Return hidden states [B, L, d], as `LeanLlama` does; with `replay` they are lost with the next call."""
        lean = self._current()
        if not replay:
            return lean(ids, seen, positions)
        return self.replays("the forward", lean, ids, seen, positions)

    def _current(self) -> LeanLlama:
        if self._lean is None or self._made_from != self._weights():
            self._lean, self.replays = LeanLlama(self.model, causal=self.causal), Replays()
            self._made_from = self._weights()
        return self._lean

    def _weights(self) -> tuple[Any, ...]:
        # What moves a model moves its first layer; addresses alone could be used again on another device.
        first = self.model.layers[0].self_attn.q_proj.weight
        return first.device, first.dtype, first.data_ptr()
