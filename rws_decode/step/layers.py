"""Layers around the step: strategies that count positions, extras, and tokens sampled at the commit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from rws_decode.canvas.schedule import due
from rws_decode.common.plugins import hook
from rws_decode.step.completion import Choice, Completion, MaskedLogits, TokenSampler
from rws_decode.step.step import Decoder, Done, State, Step
from rws_decode.strategies.counted import in_rows
from rws_decode.strategies.protocol import Look, MaskedPositions, abilities_of, doubts_of


class Count(NamedTuple):
    """How many positions of each of b rows go, once their confidence is known.

    rows: int64 [b], the rows' numbers among the prompts; least, most: int64 [b], what must go, and what can. seen: what
    answers a look that was asked before. As many as the schedule says go by an order, which is asked for its doubts.
    """

    strategy: Any
    view: MaskedPositions
    rows: Tensor
    least: Tensor
    most: Tensor
    seen: Look | None = None

    def seeing(self, view: MaskedPositions) -> Count:
        return self._replace(view=view)

    def of(self, value: Tensor, odds: bool, scale: Tensor) -> tuple[int | Tensor, Tensor | None]:
        """Return the numbers, and which positions wait; ValueError for counts of another shape."""
        if not abilities_of(self.strategy).own_count:
            return self.view.commits, None
        view = self._at(value, odds, scale, torch.zeros_like(scale))
        if abilities_of(self.strategy).counts:
            return self._within(self._counts(view)), None
        chosen = said(self.strategy, "a choice", self.strategy.choose(view), view.row.bool())
        counts = in_rows(chosen, view.row, view.rows)
        return self._within(counts), ~chosen & (counts[view.row] > 0)

    def uncertain(self, low: Tensor, high: Tensor, odds: bool, scale: Tensor, error: Tensor) -> Tensor:
        """Return how many positions logits that are off by their error would add or take away, int64 [b]."""
        reach = scale * error.to(scale.device)
        ends = (self._at(bound, odds, scale, by) for bound, by in ((low, -reach), (high, reach)))
        views = [view._replace(look=self.seen) for view in ends]
        if abilities_of(self.strategy).counts:
            fewest, most = (self._within(self._counts(view)) for view in views)
            return most - fewest
        return in_rows(doubts_of(self.strategy, *views), self.view.row, self.view.rows)[self.rows]

    def _at(self, value: Tensor, odds: bool, scale: Tensor, leeway: Tensor) -> MaskedPositions:
        log_odds = value.double() if odds else torch.logit(value.double())
        return self.view._replace(log_odds=log_odds, scale=scale, leeway=leeway)

    def _within(self, counts: Tensor) -> Tensor:
        return torch.minimum(torch.maximum(counts[self.rows], self.least), self.most)

    def _counts(self, view: MaskedPositions) -> Tensor:
        counts = said(self.strategy, "counts", self.strategy.count(view), view.row.new_zeros(view.rows))
        if bool((counts < 0).any()):
            raise ValueError(f"strategy {self.strategy} counts {int(counts.min())} positions: at least 0 is needed")
        return counts


def counting(run: Step) -> Step:
    """Return the step with as many commits as the strategy counts, or with those that it chooses, or doubts."""

    def step(decoder: Decoder, state: State) -> tuple[State, Done]:
        def complete(_: Decoder, state: State, logits: MaskedLogits) -> Completion:
            completion = decoder.complete(decoder, state, logits)
            block, view = completion.block, completion.view
            least = due(block, state.step, decoder.plan)
            return completion._replace(commits=Count(decoder.strategy, view, state.rows, least, block.sum(dim=1)))

        return run(replace(decoder, complete=complete), state)

    return step


def layered(decoder: Decoder) -> Decoder:
    """Return the decoder with a layer around its step for each thing that its strategy does besides.

    A layer hands the step within it a decoder of its own, whose forward, completion or choice it has wrapped. The
    innermost wraps last: what is counted has been remembered and may look ahead.
    """
    able = abilities_of(decoder.strategy)
    layers: list[Callable[[Step], Step]] = []
    if able.own_count or able.doubts:
        layers.append(counting)
    if able.hypotheses:
        layers.append(hook("looking", f"strategy is {decoder.strategy!r}"))
    if able.memory:
        layers.append(hook("remembering", f"strategy is {decoder.strategy!r}"))
    if able.revises is not None:
        layers.append(hook("revising", f"strategy is {decoder.strategy!r}"))
    if able.edits is not None:
        layers.append(hook("editing", f"strategy is {decoder.strategy!r}"))
    if decoder.options.key_cache != "none":
        layers.append(hook("key-cache", f"key_cache is {decoder.options.key_cache!r}"))
    for layer in layers:
        decoder = replace(decoder, step=layer(decoder.step))
    return replace(decoder, going=unfinished) if able.own_count else decoder


def unfinished(decoder: Decoder, state: State) -> State:
    """Return the rows with masks left: a strategy that counts may be done with one before the plan is."""
    return state.of(state.masked.any(dim=1))


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
    """Return the decoder that samples tokens at the chosen positions only, with its own sampler."""
    return with_words(decoder, lambda step, row, position, logits: decoder.sampler.draw(logits, row).token)


def said(strategy: object, what: str, values: Tensor, like: Tensor) -> Tensor:
    """Return what a strategy said, on the device of `like`; ValueError unless it has its shape and dtype."""
    values = torch.as_tensor(values, device=like.device)
    if values.shape != like.shape or values.dtype != like.dtype:
        raise ValueError(
            f"strategy {strategy} gives {what} of shape {tuple(values.shape)} and dtype {values.dtype}: "
            f"{str(like.dtype).removeprefix('torch.')} {tuple(like.shape)} is needed"
        )
    return values
