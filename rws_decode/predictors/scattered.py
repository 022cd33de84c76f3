"""A world as a mask predictor whose words stand at other positions of the answer: the same law in another order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from rws_decode.predictors.base import before_end
from rws_decode.predictors.world import WorldPredictor
from rws_theory.worlds.backoff import Ints
from rws_theory.worlds.locality import Scattered
from rws_theory.worlds.part_memory import PartMemory


class ScatteredPredictor(WorldPredictor):
    """A world's predictor for answers whose j-th word stands at position order[j] (`rws_theory.worlds.Scattered`).

    The last n positions of a canvas are the answer, n = len(order), and those before them are the context in reading
    order. Logits are exact for this canvas. `decode_answer` puts words back into reading order and cuts at the end of
    text there; the canvas has no end, so end_id is None. ValueError for a canvas shorter than n.

    memory: parts of canvases in reading order, which predictors of one world in several orders may share.

    >>> from rws_decode.text.words import Words
    >>> from rws_theory.worlds import NGram
    >>> words = Words(["peace", "and", "war"])
    >>> world = WorldPredictor(NGram.fit([words.ids("peace and war and peace")], order=2, vocabulary=3), words)
    >>> ScatteredPredictor(world, np.array([2, 0, 1])).decode_answer([1, 2, 0])
    'peace and war'
    """

    def __init__(self, base: WorldPredictor, order: Ints, memory: PartMemory | None = None) -> None:
        super().__init__(base.world, base.words, name=f"{base.name}, scattered", examples=base.examples)
        self.order = Scattered(base.world, order).order  # checked there
        self.end_id = None
        if memory is not None:
            self.memory = memory
        self._order, self._place = torch.from_numpy(self.order), torch.from_numpy(np.argsort(self.order))

    def logits_at(self, canvas: Tensor, attention_mask: Tensor | None, row: Tensor, column: Tensor) -> Tensor:
        """Return the log-probabilities [N, V + 1] at N positions, row rising."""
        n = self.order.size
        canvas, column = canvas.clone(), column.clone()
        for number in row.unique().tolist():
            end = canvas.shape[1] if attention_mask is None else int(attention_mask[number].nonzero()[-1]) + 1
            if end < n:
                raise ValueError(f"canvas has {end} positions: {n} are needed, as many as the order has")
            begin = end - n
            canvas[number, begin:end] = canvas[number, begin:end][self._order]
            moved = (row == number) & (column >= begin)
            column[moved] = begin + self._place[column[moved] - begin]
        return super().logits_at(canvas, attention_mask, row, column)

    def log_prob(self, prompt: Sequence[int], answer: Sequence[int]) -> float:
        """Return log p(answer | prompt), nats, of ids at their positions; ValueError for a prompt with gaps."""
        if self.mask_id in prompt:
            raise ValueError("prompt has gaps: a scattered answer follows its prompt, give one without masks")
        return super().log_prob(prompt, [answer[position] for position in self.order.tolist()])

    def decode_answer(self, ids: Sequence[int]) -> str | None:
        """Return the text of an answer in reading order, before its first end of text."""
        ends = () if self.words.end is None else (self.words.end,)
        read = [ids[position] for position in self.order.tolist() if position < len(ids)]
        return self.words.text(before_end(read, ends))
