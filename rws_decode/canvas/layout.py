"""What a decode starts from: prompts as ids and text, then masks, then padding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import NamedTuple, get_args

import torch
from torch import Tensor

from rws_decode.canvas import Padding
from rws_decode.predictors.base import MaskPredictor, ends_of, prompt_ids
from rws_decode.text.dialogue import Dialogue, as_dialogue

__all__ = ["Canvas", "Prompt", "encode_prompts", "forbidden_ids", "forbidden_tokens", "lay_out"]


class Prompt(NamedTuple):
    """A prompt as the ids that stand before the answer and as what was said, None without a tokenizer."""

    ids: list[int]
    said: str | Dialogue | None

    @property
    def text(self) -> str | None:
        """Return the prompt as plain text."""
        return None if self.said is None else as_dialogue(self.said).text


class Canvas(NamedTuple):
    """A batch before its first step.

    ids: int64 [B, L]; attention_mask: bool [B, L], False on padding, None where no row is padded; answer: int64 [B, n],
    the columns of each row's answer; prompt: bool [B, L], the columns of its prompt.
    """

    ids: Tensor
    attention_mask: Tensor | None
    answer: Tensor
    prompt: Tensor


def encode_prompts(
    predictor: MaskPredictor, prompts: Sequence[str | Dialogue | Sequence[int]], length: int
) -> list[Prompt]:
    """Return each prompt as ids and what was said; ids are taken as they are.

    ValueError, naming the prompt, for ids outside the vocabulary, for the mask id, and where prompt and answer of
    `length` tokens together exceed what the predictor reads.

    >>> from rws_decode.predictors import CallablePredictor
    >>> predictor = CallablePredictor(lambda canvas: canvas, mask_id=0, encode=lambda text: [len(text)])
    >>> encode_prompts(predictor, ["abc", [7]], length=2)
    [Prompt(ids=[3], said='abc'), Prompt(ids=[7], said=None)]
    """
    if isinstance(prompts, str | Dialogue) or not len(prompts):
        raise ValueError(f"prompts is {prompts!r}: a list of at least one prompt is needed")
    encoded = []
    for number, prompt in enumerate(prompts):
        said = prompt if isinstance(prompt, str | Dialogue) else None
        if said is not None:
            ids = prompt_ids(predictor, said)
        else:
            if not isinstance(prompt, Iterable) or not all(isinstance(token, Integral) for token in prompt):
                raise ValueError(f"prompts[{number}] is {prompt!r}: text or a list of token ids is needed")
            ids = [int(token) for token in prompt]
        limit = float("inf") if predictor.vocab_size is None else predictor.vocab_size
        for token in ids:
            if token == predictor.mask_id:
                raise ValueError(f"prompts[{number}] holds the mask id {token}: only answer positions are masked")
            if not 0 <= token < limit:
                raise ValueError(f"prompts[{number}] holds the id {token}: {predictor.name} has ids 0 to {limit - 1}")
        if predictor.max_length is not None and len(ids) + length > predictor.max_length:
            raise ValueError(
                f"length is {length}: after the {len(ids)} tokens of prompts[{number}] at most "
                f"{max(predictor.max_length - len(ids), 0)} fit what {predictor.name} reads"
            )
        encoded.append(Prompt(ids, predictor.decode_prompt(ids) if said is None else said))
    return encoded


def lay_out(
    predictor: MaskPredictor, prompts: Sequence[Sequence[int]], length: int, padding: Padding = "right"
) -> Canvas:
    """Return the canvas of prompts, `length` masks after each, and padding on one side up to the longest row.

    The attention mask is None where all rows are equally long, so that fast attention kernels can be used. ValueError
    for another side than "right" or "left".

    >>> from rws_decode.predictors import CallablePredictor
    >>> predictor = CallablePredictor(lambda canvas: canvas, mask_id=0, pad_id=9)
    >>> canvas = lay_out(predictor, [[5], [6, 7]], length=2)
    >>> canvas.ids.tolist(), canvas.answer.tolist()
    ([[5, 0, 0, 9], [6, 7, 0, 0]], [[1, 2], [2, 3]])
    >>> lay_out(predictor, [[5], [6, 7]], length=2, padding="left").ids.tolist()
    [[9, 5, 0, 0], [6, 7, 0, 0]]
    """
    if padding not in get_args(Padding):
        raise ValueError(f"padding is {padding!r}: it must be one of {', '.join(get_args(Padding))}")
    starts = [len(prompt) for prompt in prompts]
    width = max(starts) + length
    # Padding is hidden by the attention mask: any id will do where the predictor has none for it.
    filler = predictor.mask_id if predictor.pad_id is None else predictor.pad_id
    ids = torch.full((len(prompts), width), filler, dtype=torch.int64)
    lengths = torch.tensor(starts)[:, None]
    first = width - length - lengths if padding == "left" else torch.zeros_like(lengths)
    for row, prompt, begin in zip(ids, prompts, first[:, 0].tolist(), strict=True):
        row[begin : begin + len(prompt)] = torch.tensor(prompt, dtype=torch.int64)
        row[begin + len(prompt) : begin + len(prompt) + length] = predictor.mask_id
    column, start = torch.arange(width), first + lengths
    return Canvas(
        ids.to(predictor.device),
        ((column >= first) & (column < start + length)).to(predictor.device) if len(set(starts)) > 1 else None,
        (start + torch.arange(length)).to(predictor.device),
        ((column >= first) & (column < start)).to(predictor.device),
    )


def forbidden_ids(predictor: MaskPredictor) -> list[int]:
    """Return the ids never committed, sorted: mask, padding (unless it also ends text), declared ones."""
    padding = () if predictor.pad_id is None or predictor.pad_id in ends_of(predictor) else (predictor.pad_id,)
    return sorted({predictor.mask_id, *padding, *predictor.forbidden_ids})


def forbidden_tokens(predictor: MaskPredictor) -> Tensor:
    """Return `forbidden_ids` where the predictor is, int64.

    >>> from rws_decode.predictors import CallablePredictor
    >>> predictor = CallablePredictor(lambda canvas: canvas, mask_id=4, pad_id=0, forbidden_ids=[2])
    >>> forbidden_tokens(predictor).tolist()
    [0, 2, 4]
    """
    return torch.tensor(forbidden_ids(predictor), dtype=torch.int64, device=predictor.device)
