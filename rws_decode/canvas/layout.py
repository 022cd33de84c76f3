"""The initial canvas: prompts as ids and text, masks after them or in their gaps, then padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from rws_decode.canvas.schedule import Padding
from rws_decode.predictors.base import MaskPredictor
from rws_decode.text.dialogue import Dialogue, as_dialogue, row_of

if TYPE_CHECKING:
    from rws_decode.settings import Options


class Prompt(NamedTuple):
    """A prompt as ids, with the mask id in its gaps, and as a text or dialogue, None without a tokenizer."""

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


def row_bytes(predictor: MaskPredictor, length: int, width: int = 0, options: Options | None = None) -> int | None:
    """Return the bytes that one row's logits take at the first step, all masked; None where V is not known.

    length x V numbers of 4 bytes, held as they come and once more for the current block; twice more under guidance
    (with and without prompt), and for published copies. width: further columns, of which a predictor without
    `logits_at` gives logits too. Half precision takes half of this, float64 twice. Ranking widens 64 positions at a
    time and is not counted, nor are the predictor's own activations.
    """
    if predictor.vocab_size is None:
        return None
    guided = options is not None and options.cfg != 0
    copies = 2 + 2 * guided + 2 * (options is not None and options.ranking == "topk")
    whole = (length + width) * (1 + guided) if width and not hasattr(predictor, "logits_at") else 0
    return 4 * predictor.vocab_size * (length * copies + whole)
