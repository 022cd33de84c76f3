"""What a decode starts from: prompts as ids and text, masks after them or in their gaps, then padding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from typing import NamedTuple

import torch
from torch import Tensor

from rws_decode.canvas import Padding
from rws_decode.common.arguments import is_id
from rws_decode.predictors.base import MaskPredictor, ends_of, prompt_ids
from rws_decode.text.dialogue import Dialogue, as_dialogue
from rws_decode.text.gaps import gap_text, row_of


class Prompt(NamedTuple):
    """A prompt as ids, the mask id in its gaps, and as what was said, None without a tokenizer."""

    ids: list[int]
    said: str | Dialogue | None

    @property
    def text(self) -> str | None:
        """Return the prompt as plain text."""
        return None if self.said is None else as_dialogue(self.said).text


class Canvas(NamedTuple):
    """A batch before its first step.

    ids: int64 [B, L]; attention_mask: bool [B, L], False on padding, None where no row is padded; answer: int64 [B, n],
    the columns of each row's masks, rising; prompt: bool [B, L], the columns of its other tokens.
    """

    ids: Tensor
    attention_mask: Tensor | None
    answer: Tensor
    prompt: Tensor

    def of(self, rows: Tensor) -> Canvas:
        """Return the canvas of those rows. rows: bool [B], or int64 [M], each as often as it is named."""
        mask = None if self.attention_mask is None else self.attention_mask[rows]
        return Canvas(self.ids[rows], mask, self.answer[rows], self.prompt[rows])


def encode_prompts(
    predictor: MaskPredictor, prompts: Sequence[str | Dialogue | Sequence[int]], length: int
) -> list[Prompt]:
    """Return each prompt as ids and what was said; ids are taken as they are.

    ValueError, naming the prompt, for ids outside the vocabulary, for gaps that hold other than `length` masks in all,
    and where prompt and answer of `length` tokens together exceed what the predictor reads.

    >>> from rws_decode.predictors import CallablePredictor
    >>> predictor = CallablePredictor(lambda canvas: canvas, mask_id=0, encode=lambda text: [len(text)])
    >>> encode_prompts(predictor, ["abc", [7]], length=2)
    [Prompt(ids=[3], said='abc'), Prompt(ids=[7], said=None)]
    """
    if isinstance(prompts, str | Dialogue) or not isinstance(prompts, Sized) or not len(prompts):
        raise ValueError(f"prompts is {prompts!r}: a list of at least one prompt is needed")
    encoded = []
    for number, prompt in enumerate(prompts):
        said = prompt if isinstance(prompt, str | Dialogue) else None
        if said is not None:
            ids = prompt_ids(predictor, said)
        else:
            if not isinstance(prompt, Iterable) or not all(map(is_id, prompt)):
                raise ValueError(f"prompts[{number}] is {prompt!r}: text or a list of token ids is needed")
            ids = [int(token) for token in prompt]
        limit = float("inf") if predictor.vocab_size is None else predictor.vocab_size
        for token in ids:
            if not 0 <= token < limit:
                raise ValueError(f"prompts[{number}] holds the id {token}: {predictor.name} has ids 0 to {limit - 1}")
        masks = ids.count(predictor.mask_id)
        if masks not in (0, length):
            raise ValueError(
                f"length is {length}: the gaps of prompts[{number}] have length {masks}, give Shape({masks})"
            )
        if predictor.max_length is not None and len(ids) - masks + length > predictor.max_length:
            raise ValueError(
                f"length is {length}: beside the {len(ids) - masks} tokens of prompts[{number}] at most "
                f"{max(predictor.max_length - len(ids) + masks, 0)} fit what {predictor.name} reads"
            )
        encoded.append(Prompt(ids, gap_text(ids, predictor.decode_prompt, predictor.mask_id) if said is None else said))
    return encoded


def lay_out(
    predictor: MaskPredictor, prompts: Sequence[Sequence[int]], length: int, padding: Padding = "right"
) -> Canvas:
    """Return the canvas of prompts, `length` masks in the gaps of each or after it, and padding on one side.

    Padding goes up to the longest row. The attention mask is None where all rows are equally long, so that fast
    attention kernels can be used.

    >>> from rws_decode.predictors import CallablePredictor
    >>> predictor = CallablePredictor(lambda canvas: canvas, mask_id=0, pad_id=9)
    >>> canvas = lay_out(predictor, [[5], [6, 7]], length=2)
    >>> canvas.ids.tolist(), canvas.answer.tolist()
    ([[5, 0, 0, 9], [6, 7, 0, 0]], [[1, 2], [2, 3]])
    >>> gaps = lay_out(predictor, [[5], [0, 6, 0, 7]], length=2, padding="left")
    >>> gaps.ids.tolist(), gaps.answer.tolist()
    ([[9, 5, 0, 0], [0, 6, 0, 7]], [[2, 3], [0, 2]])
    """
    rows = [row_of(prompt, predictor.mask_id, length) for prompt in prompts]
    width = max(map(len, rows))
    # Padding is hidden by the attention mask: any id will do where the predictor has none for it.
    filler = predictor.mask_id if predictor.pad_id is None else predictor.pad_id
    ids = torch.full((len(rows), width), filler, dtype=torch.int64)
    real = torch.zeros_like(ids, dtype=torch.bool)
    for number, row in enumerate(rows):
        first = width - len(row) if padding == "left" else 0
        ids[number, first : first + len(row)] = torch.tensor(row, dtype=torch.int64)
        real[number, first : first + len(row)] = True
    masked = real & (ids == predictor.mask_id)
    return Canvas(
        ids.to(predictor.device),
        None if bool(real.all()) else real.to(predictor.device),
        masked.nonzero()[:, 1].view(len(rows), length).to(predictor.device),
        (real & ~masked).to(predictor.device),
    )


def forbidden_ids(predictor: MaskPredictor) -> list[int]:
    """Return the ids never committed, sorted: mask, padding (unless it also ends text), declared ones.

    >>> from rws_decode.predictors import CallablePredictor
    >>> forbidden_ids(CallablePredictor(lambda canvas: canvas, mask_id=4, pad_id=0, forbidden_ids=[2]))
    [0, 2, 4]
    """
    padding = () if predictor.pad_id is None or predictor.pad_id in ends_of(predictor) else (predictor.pad_id,)
    return sorted({predictor.mask_id, *padding, *predictor.forbidden_ids})
