"""Any function of the canvas as a mask predictor."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from rws_decode.predictors.base import before_end, checked_logits, checked_mask, ends_of, without_mask
from rws_decode.text.dialogue import gap_ids
from rws_theory.show import quoted


class CallablePredictor:
    """A mask predictor from any function of the canvas: int64 [B, L] -> logits [B, L, V].

    encode: text -> prompt ids. decode: ids before the first end of text -> text. Without these two there is no text.
    The function never sees padding: rows of different lengths are given to it one at a time.

    >>> table = torch.tensor([0.0, 2.0, 1.0])
    >>> predictor = CallablePredictor(lambda canvas: table.expand(*canvas.shape, 3), mask_id=0)
    >>> predictor
    CallablePredictor('callable', mask 0)
    >>> predictor.logits(torch.zeros(1, 2, dtype=torch.int64), None).argmax(-1).tolist()
    [[1, 1]]
    """

    def __init__(
        self,
        function: Callable[[Tensor], Tensor],
        *,
        mask_id: int,
        pad_id: int | None = None,
        end_id: int | None = None,
        forbidden_ids: Sequence[int] = (),
        vocab_size: int | None = None,
        max_length: int | None = None,
        encode: Callable[[str], list[int]] | None = None,
        decode: Callable[[list[int]], str] | None = None,
        name: str = "callable",
        device: str | torch.device = "cpu",
    ) -> None:
        self.name = name
        self.device = torch.device(device)
        self.mask_id = checked_mask(mask_id, f"predictor {name}", vocab_size, [end_id])
        self.pad_id = pad_id
        self.end_id = end_id
        self.forbidden_ids = tuple(forbidden_ids)
        self.vocab_size = vocab_size
        self.max_length = max_length
        self._function = function
        self._encode = encode
        self._decode = decode

    def __repr__(self) -> str:
        tokens = "" if self.vocab_size is None else f", {self.vocab_size:,} tokens"
        return f"CallablePredictor({quoted(self.name, 40)}, mask {self.mask_id}{tokens})"

    def logits(self, canvas: Tensor, attention_mask: Tensor | None) -> Tensor:
        """Return the function's logits [B, L, V]; 0 on padding."""
        if attention_mask is None:
            return self._function(canvas)
        rows = [
            checked_logits(self, self._function(row[None, real]))[0]
            for row, real in zip(canvas, attention_mask, strict=True)
        ]
        logits = rows[0].new_zeros(*canvas.shape, rows[0].shape[-1])
        logits[attention_mask] = torch.cat(rows)
        return logits

    def encode_prompt(self, text: str) -> list[int]:
        """Return the prompt's ids, masks in its gaps [MASK:n]; ValueError without `encode`, or if it gives the mask."""
        if self._encode is None:
            raise ValueError(f"prompt is text: predictor {self.name} has no tokenizer, give token ids")
        encode = self._encode
        return gap_ids(text, lambda part: without_mask(encode(part), self.mask_id, text), self.mask_id)

    def decode_prompt(self, ids: Sequence[int]) -> str | None:
        return None if self._decode is None else self._decode(list(ids))

    def decode_answer(self, ids: Sequence[int]) -> str | None:
        return None if self._decode is None else self._decode(before_end(ids, ends_of(self)))
