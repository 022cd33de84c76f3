"""What the decoder asks of a mask predictor, and the abilities that a predictor may have on top of it."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import takewhile
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from rws_decode.common.arguments import is_id
from rws_decode.text.dialogue import Dialogue, as_dialogue
from rws_decode.text.words import END

_DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
_LARGE = 2**25  # bytes of logits from which an allocator gives memory back to the system each time


@runtime_checkable
class MaskPredictor(Protocol):
    """A model that predicts all masked tokens of a canvas at once, with the text codec that goes with it.

    `name`: goes into traces; `device`: where canvases are made; `mask_id`; `pad_id`: never committed unless it is
    also `end_id`, None if there is none; `end_id`: ends the answer's text, None if there is none; `forbidden_ids`:
    further tokens that are never committed; `vocab_size`: token ids are below it, None if unknown; `max_length`:
    longest canvas, None if any.

    A predictor may have besides: `logits_at(canvas, attention_mask, row, column)`, the logits [N, V] of N positions
    alone, in a tensor that may be written to; `logits_dtype`, known before there are logits; `block`, where tokens see
    no later block, of so many tokens counted back from the end of a row; `end_ids`, all tokens that end the answer's
    text; `tokenizer`, of transformers; `encode_dialogue(dialogue)`, ids as `encode_prompt` gives them, turn by turn;
    `pieces(ids)`, the text of each token by itself; `unknown_words(text)`, of a predictor of whole words that reads a
    prompt from after the last of them on; `log_prob(prompt, answer)`, nats, of ids, gaps filled, where its conditionals
    are those of one distribution; `caps`, "max_new_tokens" or "max_length" of its files; `checkpoint`, its files, None
    for a network in memory; `keeps_keys`, where its network, `model`, computes some columns beside keys that others
    had before, and `source` tells which columns predict a place (the option `key_cache`).
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
        """Return the ids before the answer, n masks for each gap [MASK:n] in it; ValueError without a tokenizer."""
        ...

    def decode_prompt(self, ids: Sequence[int]) -> str | None:
        """Return the text of a prompt given by ids, special tokens left out; None without a tokenizer."""
        ...

    def decode_answer(self, ids: Sequence[int]) -> str | None:
        """Return the text before the first `end_id`, special tokens left out; None without a tokenizer."""
        ...


def logits_at(
    predictor: MaskPredictor, canvas: Tensor, attention_mask: Tensor | None, row: Tensor, column: Tensor
) -> Tensor:
    """Return the logits [N, V] at N positions of a canvas; all logits are computed if the predictor has no `logits_at`.

    canvas: int64 [B, L]; attention_mask: bool [B, L] or None; row and column: int64 [N]. ValueError if the predictor
    returns another shape than [N, V] or [B, L, V], or integers.
    """
    return logits_reader(predictor)(predictor, canvas, attention_mask, row, column)


def logits_reader(predictor: MaskPredictor) -> Callable[..., Tensor]:
    """Return what reads a predictor's logits as `logits_at` does."""
    return _some_logits if hasattr(predictor, "logits_at") else partial(_all_logits, [])


def _some_logits(predictor: Any, canvas: Tensor, attention_mask: Tensor | None, row: Tensor, column: Tensor) -> Tensor:
    logits = checked_logits(predictor, predictor.logits_at(canvas, attention_mask, row, column))
    if logits.ndim != 2 or len(logits) != len(row):
        raise ValueError(
            f"predictor {predictor.name} returned logits of shape {tuple(logits.shape)} for {len(row)} positions: "
            "[N, V] is needed"
        )
    return logits


def _all_logits(
    kept: list[np.ndarray],
    predictor: MaskPredictor,
    canvas: Tensor,
    attention_mask: Tensor | None,
    row: Tensor,
    column: Tensor,
) -> Tensor:
    logits = checked_logits(predictor, predictor.logits(canvas, attention_mask))
    if logits.ndim != 3 or logits.shape[:2] != canvas.shape:
        shapes = f"{tuple(logits.shape)} for a canvas {tuple(canvas.shape)}"
        raise ValueError(f"predictor {predictor.name} returned logits of shape {shapes}: [B, L, V] is needed")
    shape = (len(row), logits.shape[-1])
    size = math.prod(shape) * logits.itemsize
    if logits.device.type != "cpu" or logits.requires_grad or size < _LARGE:
        return logits[row, column]
    copy = torch.from_numpy(_memory(kept, size)[:size]).view(logits.dtype).view(shape)
    begin = 0
    for number, count in zip(*(each.tolist() for each in row.unique_consecutive(return_counts=True)), strict=True):
        end = begin + count
        torch.index_select(logits[number], 0, column[begin:end], out=copy[begin:end])
        begin = end
    return copy


def _memory(kept: list[np.ndarray], size: int) -> np.ndarray:
    """Return at least so many bytes: those kept from the last call if no tensor lies in them any more, else new ones.

    The system clears each page of new memory as it is first written, and that takes longer than the copy.
    """
    if not kept or len(kept[0]) < size or sys.getrefcount(kept[0]) > 2:  # those of the list and of the call
        kept[:] = [np.empty(size, dtype=np.uint8)]
    return kept[0]


def checked_logits(predictor: MaskPredictor, logits: object) -> Tensor:
    """Return what a predictor returned; ValueError unless it is a dense tensor of floating point."""
    if not isinstance(logits, Tensor):
        raise ValueError(
            f"predictor {predictor.name} returned a {type(logits).__name__}: a tensor of logits is needed, such as "
            "model(canvas).logits"
        )
    if logits.dtype not in _DTYPES or logits.layout != torch.strided:
        kind = logits.dtype if logits.layout == torch.strided else logits.layout
        raise ValueError(f"predictor {predictor.name} returned logits of {kind}: dense floating point is needed")
    return logits


def block_of(predictor: MaskPredictor) -> int | None:
    """Return the tokens of a predictor's block; None if it sees the whole canvas."""
    return getattr(predictor, "block", None)


def answer_room(predictor: object, tokens: int) -> float:
    """Return how many tokens a predictor's caps leave after a prompt of so many; inf without caps."""
    caps = getattr(predictor, "caps", {})
    return min(caps.get("max_new_tokens", math.inf), caps.get("max_length", math.inf) - tokens)


def pieces_of(predictor: Any, ids: Sequence[int]) -> dict[str, str]:
    """Return the text of each token by its id in decimal; empty without a tokenizer.

    If the predictor has no `pieces`, that of a prompt of the token alone. The mask and the ends of text, which its
    texts do not hold, have names then.
    """
    if hasattr(predictor, "pieces"):
        return {str(token): piece for token, piece in zip(ids, predictor.pieces(ids), strict=False)}
    named = {predictor.mask_id: "[MASK]"} | dict.fromkeys(ends_of(predictor), END)
    texts = {token: predictor.decode_prompt([token]) for token in ids if token not in named}
    if None in texts.values():
        return {}
    return {str(token): texts.get(token) or named.get(token, "") for token in ids}


def ends_of(predictor: MaskPredictor) -> tuple[int, ...]:
    """Return all tokens that end the answer's text; `end_id` alone if it has no `end_ids`."""
    if (ends := getattr(predictor, "end_ids", None)) is not None:
        return tuple(ends)
    return () if predictor.end_id is None else (predictor.end_id,)


def forbidden_ids(predictor: MaskPredictor) -> list[int]:
    """Return the ids never committed, sorted: mask, padding (unless it also ends text), declared ones."""
    padding = () if predictor.pad_id is None or predictor.pad_id in ends_of(predictor) else (predictor.pad_id,)
    return sorted({predictor.mask_id, *padding, *predictor.forbidden_ids})


def checked_mask(
    mask_id: Any, name: str, limit: int | None, ends: Iterable[object] = (), vocabulary: Mapping[str, int] | None = None
) -> int:
    """Return a predictor's mask as an int; ValueError unless it is a token id below the limit, and ends no text.

    name: of the predictor; ends: its end-of-text ids; vocabulary: the ids of its tokenizer, for the message.
    """
    if not is_id(mask_id) or mask_id < 0 or (limit is not None and mask_id >= limit):
        named = (vocabulary or {}).get(mask_id) if isinstance(mask_id, str) else None
        right = "a whole number from 0" if named is None else f"mask_id={named} for this token"
        right = "from its tokenizer or as mask_token_id in its config" if mask_id is None else right
        below = "" if limit is None else f" below {limit}"
        raise ValueError(f"mask_id is {mask_id!r:.60}: {name} needs one{below}, {right}")
    if mask_id in ends:
        raise ValueError(
            f"mask_id is {mask_id}: {name} ends its texts by this token, and never commits a mask, give another mask_id"
        )
    return int(mask_id)


def before_end(ids: Sequence[int], ends: Sequence[int]) -> list[int]:
    """Return the ids before the first of `ends`, all of them if there is none."""
    return list(takewhile(lambda token: token not in ends, map(int, ids)))


def prompt_ids(predictor: Any, prompt: str | Dialogue) -> list[int]:
    """Return the ids of a text or a dialogue; a dialogue is read as plain text without `encode_dialogue`.

    A dialogue of one turn has the ids of its text. ValueError as in `encode_prompt`.
    """
    dialogue = as_dialogue(prompt)
    if hasattr(predictor, "encode_dialogue") and len(dialogue.turns) > 1:
        return predictor.encode_dialogue(dialogue)
    return predictor.encode_prompt(dialogue.text)


def without_mask(ids: list[int], mask_id: int, text: str) -> list[int]:
    """Return the prompt's ids unchanged; ValueError if they contain the mask, which only an answer may."""
    if mask_id in ids:
        raise ValueError(f"prompt {text[:60]!r} encodes to the mask token {mask_id}: a prompt is text without masks")
    return ids
