"""What the decoder asks of a mask predictor, and the abilities that a predictor may have on top of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from rws_decode.checkpoints.files import Checkpoint
from rws_decode.common.arguments import is_id
from rws_decode.text.dialogue import Dialogue, as_dialogue
from rws_decode.text.words import END

_DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


@runtime_checkable
class MaskPredictor(Protocol):
    """A model that predicts all masked tokens of a canvas at once, with the text codec that goes with it.

    `name`: goes into traces; `device`: where canvases are made; `mask_id`; `pad_id`: never committed unless it is
    also `end_id`, None if there is none; `end_id`: ends the answer's text, None if there is none; `forbidden_ids`:
    further tokens that are never committed; `vocab_size`: token ids are below it, None if unknown; `max_length`:
    longest canvas, None if any.
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


@runtime_checkable
class LogitsAt(Protocol):
    """A predictor that can compute the logits of some positions alone. A vocabulary is much to compute for each."""

    def logits_at(self, canvas: Tensor, attention_mask: Tensor | None, row: Tensor, column: Tensor) -> Tensor:
        """Return logits [N, V] at N positions, row and column int64 [N], in a tensor that may be written to."""
        ...


@runtime_checkable
class KeepsKeys(Protocol):
    """A predictor that can compute some columns beside the keys and values that others had before, if `keeps_keys`."""

    @property
    def keeps_keys(self) -> bool: ...

    def logits_within(
        self, canvas: Tensor, attention_mask: Tensor | None, row: Tensor, column: Tensor, keys: Any
    ) -> Tensor:
        """Return logits [N, V] at N places; `keys` says what is computed (`step.kept_keys.Keys`)."""
        ...

    def source(self, attention_mask: Tensor | None, row: Tensor, column: Tensor) -> Tensor:
        """Return the columns whose logits predict these."""
        ...


@runtime_checkable
class KnowsProbability(Protocol):
    """A predictor whose answers have a probability: its conditionals are those of one distribution."""

    def log_prob(self, prompt: Sequence[int], answer: Sequence[int]) -> float:
        """Return log p(answer | prompt), nats, of ids; `prompt` may have gaps, which the answer fills."""
        ...


@runtime_checkable
class EndsWith(Protocol):
    """A predictor with other tokens that end the answer's text than `end_id`: `end_ids` holds all of them."""

    @property
    def end_ids(self) -> Sequence[int]: ...


@runtime_checkable
class ReadsDialogue(Protocol):
    """A predictor that reads a dialogue turn by turn."""

    def encode_dialogue(self, dialogue: Dialogue) -> list[int]:
        """Return the ids that stand before the answer, as `encode_prompt` does for one text."""
        ...


@runtime_checkable
class FillsBlocks(Protocol):
    """A predictor whose tokens see no later block: `block` tokens each, counted back from the end of a row."""

    @property
    def block(self) -> int: ...


@runtime_checkable
class FromCheckpoint(Protocol):
    """A predictor that knows its files: `checkpoint`, None where it was made from a network in memory."""

    checkpoint: Checkpoint | None


@runtime_checkable
class HasCaps(Protocol):
    """A predictor whose files say how long an answer is, "max_new_tokens", or prompt and answer, "max_length"."""

    @property
    def caps(self) -> Mapping[str, int]: ...


@runtime_checkable
class HasTokenizer(Protocol):
    """A predictor with a tokenizer of transformers, or None for its text."""

    @property
    def tokenizer(self) -> Any: ...


@runtime_checkable
class NamesUnknownWords(Protocol):
    """A predictor of whole words, which leaves out of a prompt what stands up to the last word it does not know."""

    def unknown_words(self, text: str) -> list[str]:
        """Return the different words of a text that the predictor does not know, in their order."""
        ...


@runtime_checkable
class SpellsTokens(Protocol):
    """A predictor that knows the text of each token by itself, also of those that its texts leave out."""

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the text of each token; none without a tokenizer."""
        ...


@runtime_checkable
class LogitsDtype(Protocol):
    """A predictor that knows the dtype of its logits before it computes any."""

    @property
    def logits_dtype(self) -> torch.dtype: ...


def logits_at(
    predictor: MaskPredictor, canvas: Tensor, attention_mask: Tensor | None, row: Tensor, column: Tensor
) -> Tensor:
    """Return the logits [N, V] at N positions of a canvas; all logits are computed if the predictor is no `LogitsAt`.

    canvas: int64 [B, L]; attention_mask: bool [B, L] or None; row and column: int64 [N]. ValueError if the predictor
    returns another shape than [N, V] or [B, L, V], or integers.

    >>> from rws_decode.predictors import CallablePredictor
    >>> predictor = CallablePredictor(lambda canvas: torch.eye(3)[canvas], mask_id=0)
    >>> logits_at(predictor, torch.tensor([[2, 0]]), None, torch.tensor([0]), torch.tensor([1])).tolist()
    [[1.0, 0.0, 0.0]]
    """
    return logits_reader(predictor)(predictor, canvas, attention_mask, row, column)


def logits_reader(predictor: MaskPredictor) -> Callable[..., Tensor]:
    """Return what reads a predictor's logits as `logits_at` does: found out once, as asking a Protocol is slow."""
    return _some_logits if isinstance(predictor, LogitsAt) else _all_logits


def _some_logits(predictor: Any, canvas: Tensor, attention_mask: Tensor | None, row: Tensor, column: Tensor) -> Tensor:
    logits = checked_logits(predictor, predictor.logits_at(canvas, attention_mask, row, column))
    if logits.ndim != 2 or len(logits) != len(row):
        raise ValueError(
            f"predictor {predictor.name} returned logits of shape {tuple(logits.shape)} for {len(row)} positions: "
            "[N, V] is needed"
        )
    return logits


def _all_logits(
    predictor: MaskPredictor, canvas: Tensor, attention_mask: Tensor | None, row: Tensor, column: Tensor
) -> Tensor:
    logits = checked_logits(predictor, predictor.logits(canvas, attention_mask))
    if logits.ndim != 3 or logits.shape[:2] != canvas.shape:
        shapes = f"{tuple(logits.shape)} for a canvas {tuple(canvas.shape)}"
        raise ValueError(f"predictor {predictor.name} returned logits of shape {shapes}: [B, L, V] is needed")
    return logits[row, column]


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
    """Return the tokens of a predictor's block; None if it is no `FillsBlocks`, and sees the whole canvas.

    >>> from rws_decode.predictors import CallablePredictor
    >>> block_of(CallablePredictor(lambda canvas: canvas, mask_id=0)) is None
    True
    """
    return predictor.block if isinstance(predictor, FillsBlocks) else None


def logit_bytes_of(predictor: MaskPredictor) -> int:
    """Return the bytes of one logit; those of float32 if the predictor is no `LogitsDtype`.

    >>> from rws_decode.predictors import CallablePredictor
    >>> logit_bytes_of(CallablePredictor(lambda canvas: canvas, mask_id=0))
    4
    """
    return (predictor.logits_dtype if isinstance(predictor, LogitsDtype) else torch.float32).itemsize


def tokenizer_of(predictor: MaskPredictor) -> Any:
    """Return the predictor's tokenizer, None if it is no `HasTokenizer`."""
    return predictor.tokenizer if isinstance(predictor, HasTokenizer) else None


def answer_room(predictor: object, tokens: int) -> float:
    """Return how many tokens a predictor's caps leave after a prompt of so many; inf if it is no `HasCaps`."""
    caps = predictor.caps if isinstance(predictor, HasCaps) else {}
    return min(caps.get("max_new_tokens", math.inf), caps.get("max_length", math.inf) - tokens)


def pieces_of(predictor: MaskPredictor, ids: Sequence[int]) -> dict[str, str]:
    """Return the text of each token by its id in decimal; empty without a tokenizer.

    If the predictor is no `SpellsTokens`, that of a prompt of the token alone. The mask and the ends of text, which its
    texts do not hold, have names then.

    >>> from rws_decode.predictors import CallablePredictor
    >>> predictor = CallablePredictor(lambda canvas: canvas, mask_id=0, end_id=1, decode=lambda ids: f"w{ids[0]}")
    >>> pieces_of(predictor, [0, 1, 7])
    {'0': '[MASK]', '1': '<end>', '7': 'w7'}
    """
    if isinstance(predictor, SpellsTokens):
        return {str(token): piece for token, piece in zip(ids, predictor.pieces(ids), strict=False)}
    named = {predictor.mask_id: "[MASK]"} | dict.fromkeys(ends_of(predictor), END)
    texts = {token: predictor.decode_prompt([token]) for token in ids if token not in named}
    if None in texts.values():
        return {}
    return {str(token): texts.get(token) or named.get(token, "") for token in ids}


def ends_of(predictor: MaskPredictor) -> tuple[int, ...]:
    """Return all tokens that end the answer's text; `end_id` alone if the predictor is no `EndsWith`.

    >>> from rws_decode.predictors import CallablePredictor
    >>> ends_of(CallablePredictor(lambda canvas: canvas, mask_id=0, end_id=5))
    (5,)
    """
    if isinstance(predictor, EndsWith):
        return tuple(predictor.end_ids)
    return () if predictor.end_id is None else (predictor.end_id,)


def forbidden_ids(predictor: MaskPredictor) -> list[int]:
    """Return the ids never committed, sorted: mask, padding (unless it also ends text), declared ones.

    >>> from rws_decode.predictors import CallablePredictor
    >>> forbidden_ids(CallablePredictor(lambda canvas: canvas, mask_id=4, pad_id=0, forbidden_ids=[2]))
    [0, 2, 4]
    """
    padding = () if predictor.pad_id is None or predictor.pad_id in ends_of(predictor) else (predictor.pad_id,)
    return sorted({predictor.mask_id, *padding, *predictor.forbidden_ids})


def checked_mask(
    mask_id: Any, name: str, limit: int | None, ends: Iterable[object] = (), vocabulary: Mapping[str, int] | None = None
) -> int:
    """Return a predictor's mask as an int; ValueError unless it is a token id below the limit, and ends no text.

    name: of the predictor; ends: its end-of-text ids; vocabulary: the ids of its tokenizer, for the message.

    >>> checked_mask(4, "tiny", 5, ends=[3])
    4
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
    """Return the ids before the first of `ends`, all of them if there is none.

    >>> before_end([7, 8, 2, 9], [2])
    [7, 8]
    """
    return list(takewhile(lambda token: token not in ends, map(int, ids)))


def prompt_ids(predictor: MaskPredictor, prompt: str | Dialogue) -> list[int]:
    """Return the ids of a text or a dialogue; a dialogue is read as plain text if the predictor is no `ReadsDialogue`.

    A dialogue of one turn has the ids of its text. ValueError as in `encode_prompt`.

    >>> from rws_decode.predictors import CallablePredictor
    >>> predictor = CallablePredictor(lambda canvas: canvas, mask_id=0, encode=lambda text: [len(text)])
    >>> prompt_ids(predictor, Dialogue(("a", "b", "c"))) == prompt_ids(predictor, "a answer : b question : c")
    True
    """
    dialogue = as_dialogue(prompt)
    if isinstance(predictor, ReadsDialogue) and len(dialogue.turns) > 1:
        return predictor.encode_dialogue(dialogue)
    return predictor.encode_prompt(dialogue.text)


def without_mask(ids: list[int], mask_id: int, text: str) -> list[int]:
    """Return the prompt's ids unchanged; ValueError if they contain the mask, which only an answer may."""
    if mask_id in ids:
        raise ValueError(f"prompt {text[:60]!r} encodes to the mask token {mask_id}: a prompt is text without masks")
    return ids
