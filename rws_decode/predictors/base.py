"""What the decoder asks of a mask predictor, and any function as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from rws_decode.canvas.dialogue import Dialogue, as_dialogue

__all__ = ["CallablePredictor", "MaskPredictor", "before_end", "ends_of", "logits_at", "prompt_ids", "without_mask"]


@runtime_checkable
class MaskPredictor(Protocol):
    """A model of all masked tokens of a canvas at once, with the text codec that goes with it.

    `name`: goes into traces; `device`: where canvases are made; `mask_id`; `pad_id`: never committed unless it is
    also `end_id`, None if there is none; `end_id`: ends the answer's text, None if there is none; `forbidden_ids`:
    further tokens that are never committed; `vocab_size`: token ids are below it, None if unknown; `max_length`:
    longest canvas, None if any.

    A predictor may have an attribute `end_ids`, all tokens that end the answer's text, where there are others than
    `end_id`, and a method `logits_at(canvas, attention_mask, row, column) -> [N, V]` too, the logits of N places
    alone, int64 [N] each, in a tensor that may be written to: the decoder asks for no others, and a vocabulary is much
    to compute for every column. Where it reads turns, a method `encode_dialogue(dialogue)` is `encode_prompt` of a
    `dialogue.Dialogue`; without it a dialogue is read as its plain text.
    """

    @property
    def name(self) -> str: ...

    @property
    def device(self) -> torch.device: ...

    @property
    def mask_id(self) -> int: ...

    @property
    def pad_id(self) -> int | None: ...

    @property
    def end_id(self) -> int | None: ...

    @property
    def forbidden_ids(self) -> Sequence[int]: ...

    @property
    def vocab_size(self) -> int | None: ...

    @property
    def max_length(self) -> int | None: ...

    def logits(self, canvas: Tensor, attention_mask: Tensor | None) -> Tensor:
        """Return logits [B, L, V].

        canvas: int64 [B, L]; attention_mask: bool [B, L], False on padding, which stands on one side of each row,
        None if no row is padded.
        """
        ...

    def encode_prompt(self, text: str) -> list[int]:
        """Return the ids that stand before the answer, none of them a mask; ValueError without a tokenizer."""
        ...

    def decode_prompt(self, ids: Sequence[int]) -> str | None:
        """Return the text of a prompt given by ids, special tokens left out; None without a tokenizer."""
        ...

    def decode_answer(self, ids: Sequence[int]) -> str | None:
        """Return the text before the first `end_id`, special tokens left out; None without a tokenizer."""
        ...


class CallablePredictor:
    """A mask predictor from any function of the canvas: int64 [B, L] -> logits [B, L, V].

    encode: text -> prompt ids; decode: ids -> text, given the ids before the first end_id; without them there is no
    text. Padding never reaches the function: rows of different lengths are given to it one at a time.

    >>> table = torch.tensor([0.0, 2.0, 1.0])
    >>> predictor = CallablePredictor(lambda canvas: table.expand(*canvas.shape, 3), mask_id=0)
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
        self.mask_id = mask_id
        self.pad_id = pad_id
        self.end_id = end_id
        self.forbidden_ids = tuple(forbidden_ids)
        self.vocab_size = vocab_size
        self.max_length = max_length
        self._function = function
        self._encode = encode
        self._decode = decode

    def logits(self, canvas: Tensor, attention_mask: Tensor | None) -> Tensor:
        """Return the function's logits [B, L, V]; 0 on padding."""
        if attention_mask is None:
            return self._function(canvas)
        rows = [self._function(row[None, kept])[0] for row, kept in zip(canvas, attention_mask, strict=True)]
        logits = rows[0].new_zeros(*canvas.shape, rows[0].shape[-1])
        logits[attention_mask] = torch.cat(rows)
        return logits

    def encode_prompt(self, text: str) -> list[int]:
        """Return the prompt's ids; ValueError without `encode`, or where they hold the mask."""
        if self._encode is None:
            raise ValueError(f"prompt is text: predictor {self.name} has no tokenizer, give token ids")
        return without_mask(self._encode(text), self.mask_id, text)

    def decode_prompt(self, ids: Sequence[int]) -> str | None:
        """Return the prompt's text, None without `decode`."""
        return None if self._decode is None else self._decode(list(ids))

    def decode_answer(self, ids: Sequence[int]) -> str | None:
        """Return the text before the first end_id, None without `decode`."""
        return None if self._decode is None else self._decode(before_end(ids, ends_of(self)))


def logits_at(
    predictor: MaskPredictor, canvas: Tensor, attention_mask: Tensor | None, row: Tensor, column: Tensor
) -> Tensor:
    """Return the logits of N places of a canvas, [N, V], by the predictor's own `logits_at` where it has one.

    canvas: int64 [B, L]; attention_mask: bool [B, L] or None; row and column: int64 [N]. ValueError for logits of
    another shape than [B, L, V], or [N, V], and for whole numbers.

    >>> predictor = CallablePredictor(lambda canvas: torch.eye(3)[canvas], mask_id=0)
    >>> logits_at(predictor, torch.tensor([[2, 0]]), None, torch.tensor([0]), torch.tensor([1])).tolist()
    [[1.0, 0.0, 0.0]]
    """
    own = getattr(predictor, "logits_at", None)
    if own is not None:
        logits = own(canvas, attention_mask, row, column)
        if logits.ndim != 2 or len(logits) != len(row):
            raise ValueError(
                f"predictor {predictor.name} returned logits of shape {tuple(logits.shape)} for {len(row)} places: "
                "[N, V] is needed"
            )
        return _floating(predictor, logits)
    logits = predictor.logits(canvas, attention_mask)
    if logits.ndim != 3 or logits.shape[:2] != canvas.shape:
        shapes = f"{tuple(logits.shape)} for a canvas {tuple(canvas.shape)}"
        raise ValueError(f"predictor {predictor.name} returned logits of shape {shapes}: [B, L, V] is needed")
    return _floating(predictor, logits[row, column])


def _floating(predictor: MaskPredictor, logits: Tensor) -> Tensor:
    if not logits.is_floating_point():
        raise ValueError(f"predictor {predictor.name} returned logits of {logits.dtype}: floating point is needed")
    return logits


def ends_of(predictor: MaskPredictor) -> tuple[int, ...]:
    """Return all tokens that end the answer's text.

    >>> ends_of(CallablePredictor(lambda canvas: canvas, mask_id=0, end_id=5))
    (5,)
    """
    known = getattr(predictor, "end_ids", None)
    if known is not None:
        return tuple(known)
    return () if predictor.end_id is None else (predictor.end_id,)


def before_end(ids: Sequence[int], ends: Sequence[int]) -> list[int]:
    """Return the ids before the first of `ends`, all of them where there is none.

    >>> before_end([7, 8, 2, 9], [2])
    [7, 8]
    """
    return list(takewhile(lambda token: token not in ends, map(int, ids)))


def prompt_ids(predictor: MaskPredictor, prompt: str | Dialogue) -> list[int]:
    """Return the ids of a text or a dialogue, by the predictor's own `encode_dialogue` where it has one.

    A dialogue of one turn has the ids of its text. ValueError as of `encode_prompt`.

    >>> predictor = CallablePredictor(lambda canvas: canvas, mask_id=0, encode=lambda text: [len(text)])
    >>> prompt_ids(predictor, Dialogue(("a", "b", "c"))) == prompt_ids(predictor, "a answer : b question : c")
    True
    """
    dialogue = as_dialogue(prompt)
    own = getattr(predictor, "encode_dialogue", None)
    return predictor.encode_prompt(dialogue.text) if own is None or len(dialogue.turns) == 1 else own(dialogue)


def without_mask(ids: list[int], mask_id: int, text: str) -> list[int]:
    """Return the prompt's ids unchanged; ValueError where they hold the mask, which the answer alone may."""
    if mask_id in ids:
        raise ValueError(f"prompt {text[:60]!r} encodes to the mask token {mask_id}: a prompt is text without masks")
    return ids
