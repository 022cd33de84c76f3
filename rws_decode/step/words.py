"""Words that are settled at their commit: the best words choose the positions, and others take their places there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from torch import Tensor

from rws_decode.step.candidate import TokenSampler
from rws_decode.step.completion import Choice, Completion
from rws_decode.step.step import Decoder

Words = Callable[[int, Tensor, Tensor, Tensor], Tensor]
"""Tokens, int64 [M], of the M positions that a step commits: of its number, rows, positions, logits [M, V]."""


def with_words(decoder: Decoder, words: Words) -> Decoder:
    """Return the decoder that completes greedily, chooses by that, and commits other words at the chosen positions."""

    def select(inner: Decoder, completion: Completion, factor: Tensor) -> Choice:
        choice, view = decoder.select(inner, completion, factor), completion.view
        goes = choice.chosen[completion.row, view.position]
        token = words(view.step, view.row[goes], view.position[goes], view.logits[goes])
        tokens = completion.tokens.index_put((completion.row[goes], view.position[goes]), token)
        return choice._replace(completion=choice.completion._replace(tokens=tokens))

    greedy = TokenSampler(0.0, 0, decoder.count)
    return replace(decoder, sampler=greedy, select=select)


def drawn_at_commit(decoder: Decoder) -> Decoder:
    """Return the decoder that draws the words of the positions that go, by its own sampler, once they are chosen."""
    return with_words(decoder, lambda step, row, position, logits: decoder.sampler.draw(logits, row).token)
