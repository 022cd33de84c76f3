"""The layers around the step: for strategies that count, look ahead or remember, and for words drawn at the commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from rws_decode.canvas.batches import due, row_bytes
from rws_decode.extra.blocks.kept_keys import keeping
from rws_decode.extra.revising.layers import editing, revising, said
from rws_decode.step.completion import Choice, Completion, Done, TokenSampler
from rws_decode.step.forward import MaskedLogits
from rws_decode.step.step import Decoder, Run, State, forward
from rws_decode.strategies.counted import entropies, in_rows
from rws_decode.strategies.protocol import Look, MaskedPositions, abilities_of, doubts_of


class Count(NamedTuple):
    """How many positions of each of b rows go, once their confidence is known.

    rows: int64 [b], the rows' numbers among the prompts; least, most: int64 [b], what must go, and what can. seen: what
    answers a look that was asked before.
    """

    strategy: Any
    view: MaskedPositions
    rows: Tensor
    least: Tensor
    most: Tensor
    seen: Look | None = None

    def of(self, value: Tensor, odds: bool, scale: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return the numbers, and which positions wait; ValueError for counts of another shape."""
        view = self._at(value, odds, scale, torch.zeros_like(scale))
        if abilities_of(self.strategy).counts:
            return self._within(self._counts(view)), None
        chosen = self._chosen(view)
        counts = in_rows(chosen, view.row, view.rows)
        return self._within(counts), ~chosen & (counts[view.row] > 0)

    def uncertain(self, low: Tensor, high: Tensor, odds: bool, scale: Tensor, error: Tensor) -> Tensor:
        """Return how many positions logits that are off by their error would add or take away, int64 [b]."""
        reach = scale * error.to(scale.device)
        ends = (self._at(at, odds, scale, by) for at, by in ((low, -reach), (high, reach)))
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

    def _chosen(self, view: MaskedPositions) -> Tensor:
        return said(self.strategy, "a choice", self.strategy.choose(view), view.row.bool())


def counting(run: Run) -> Run:
    """Return the step with as many commits as the strategy counts, or with those that it chooses."""

    def step(decoder: Decoder, state: State) -> tuple[State, Done]:
        def complete(_: Decoder, state: State, seen: MaskedLogits) -> Completion:
            completion = decoder.complete(decoder, state, seen)
            block, view = completion.block, completion.view
            least = due(block, state.step, decoder.plan)
            return completion._replace(commits=Count(decoder.strategy, view, state.rows, least, block.sum(dim=1)))

        return run(replace(decoder, complete=complete), state)

    return step


class Hypotheses:
    """Looks at a step's canvases with some of their masks filled by the step's candidates (`protocol.Look`).

    Those of all rows stand in one batch, or in several whose logits take at most `decoder.memory` bytes each, beside
    those of the step. tokens: int64 [b, n], the completed answers.
    """

    def __init__(self, decoder: Decoder, state: State, tokens: Tensor) -> None:
        self._decoder, self._state, self._tokens = decoder, state, tokens
        self.forwards = torch.zeros(len(state.rows), dtype=torch.int64)
        self.calls = 0
        self._answers: dict[tuple[int, bytes], Tensor] = {}

    def seen(self, row: Tensor, chosen: Tensor, scale: Tensor) -> Tensor:
        """Return what was answered before, without a forward; NaN where that was not asked."""
        unknown = torch.full(chosen.shape[1:], torch.nan, dtype=torch.float64, device=chosen.device)
        return torch.stack([self._answers.get(key, unknown) for key in _keys(row, chosen)])

    def __call__(self, row: Tensor, chosen: Tensor, scale: Tensor) -> Tensor:
        """Return the entropy of what each of H hypotheses leaves masked, float64 [H, length], 0 elsewhere."""
        index = torch.searchsorted(self._state.rows, row)
        self.forwards += torch.bincount(index, minlength=len(self.forwards)).cpu()
        open_ = torch.zeros(chosen.shape, dtype=torch.float64, device=chosen.device)
        length, width = chosen.shape[1], self._state.canvas.ids.shape[1]
        size = row_bytes(self._decoder.predictor, length, width, self._decoder.options)
        most = max(1, len(self._state.rows) if size is None else self._decoder.memory // size)
        for part in torch.arange(len(row), device=row.device).split(most):
            after = self._state.at(index[part]).filled(chosen[part], self._tokens[index[part]])
            seen = forward(self._decoder, after)
            self.calls += 1
            if not bool(seen.logits.amax(dim=-1).isfinite().all()):
                name = self._decoder.predictor.name
                raise ValueError(f"predictor {name} gives no finite largest logit after step {after.step}")
            open_[part[seen.row], seen.position] = entropies(seen.logits, scale[part][seen.row])
        self._answers.update(zip(_keys(row, chosen), open_, strict=True))
        return open_


def _keys(row: Tensor, chosen: Tensor) -> list[tuple[int, bytes]]:
    return [(number, places.tobytes()) for number, places in zip(row.tolist(), chosen.cpu().numpy(), strict=True)]


def looking(run: Run) -> Run:
    """Return the step whose strategy can look at what the canvas would be, and which counts the forwards of that."""

    def step(decoder: Decoder, state: State) -> tuple[State, Done]:
        def complete(_: Decoder, state: State, seen: MaskedLogits) -> Completion:
            completion = decoder.complete(decoder, state, seen)
            look = Hypotheses(decoder, state, completion.tokens)
            return completion._replace(view=completion.view._replace(look=look))

        after, done = run(replace(decoder, complete=complete), state)
        look = done.choice.completion.view.look
        assert isinstance(look, Hypotheses)
        commits, choice = done.choice.completion.commits, done.choice
        if isinstance(commits, Count):  # what is asked of rounding afterwards must take no forward
            commits = commits._replace(view=commits.view._replace(look=None), seen=look.seen)
            choice = choice._replace(completion=choice.completion._replace(commits=commits))
        forwards, calls = done.forwards.cpu() + look.forwards, done.calls + look.calls
        return after, done._replace(choice=choice, forwards=forwards, calls=calls)

    return step


class Memory(NamedTuple):
    """What the steps before saw, by the prompts' numbers, the last first."""

    steps: tuple[MaskedLogits, ...] = ()

    def of(self, rows: Tensor) -> Memory:
        """Return the same: positions are found by their prompts' numbers."""
        return self


def remembering(run: Run) -> Run:
    """Return the step whose strategy sees the logits of steps before, as many as it asks for."""

    def step(decoder: Decoder, state: State) -> tuple[State, Done]:
        seen, steps = decoder.forward(decoder, state), abilities_of(decoder.strategy).memory
        past = state.beside.get("memory", Memory()).steps

        def complete(_: Decoder, state: State, seen: MaskedLogits) -> Completion:
            completion = decoder.complete(decoder, state, seen)
            view = completion.view
            return completion._replace(view=view._replace(before=_before(past, view)))

        after, done = run(replace(decoder, forward=lambda _decoder, _state: seen, complete=complete), state)
        kept = (seen._replace(row=state.rows[seen.row], published=seen.logits), *past)[:steps]
        return after._replace(beside={**after.beside, "memory": Memory(kept)}), done

    return step


def _before(past: Sequence[MaskedLogits], view: MaskedPositions) -> tuple[Tensor, ...]:
    """Return the logits that the view's positions had one step before, two steps, ..., as far as all rows had them."""
    key = view.row * view.length + view.position
    logits = []
    for row, position, values, *_ in past:
        keys = row * view.length + position
        at = torch.searchsorted(keys, key).clamp(max=max(len(keys) - 1, 0))
        if not len(keys) or not bool((keys[at] == key).all()):
            break
        logits.append(values[at])
    return tuple(logits)


def layered(decoder: Decoder) -> Decoder:
    """Return the decoder with a layer around its step for each thing that its strategy does besides.

    A layer hands the step within it a decoder of its own, whose forward, completion or choice it has wrapped. The
    innermost wraps last: what is counted has been remembered and may look ahead.
    """
    able = abilities_of(decoder.strategy)
    layers = {
        counting: able.own_count,
        looking: able.hypotheses,
        remembering: able.memory,
        revising: able.revises,
        editing: able.edits is not None,
    }
    for layer, needed in layers.items():
        if needed:
            decoder = replace(decoder, run=layer(decoder.run))
    return decoder if decoder.options.key_cache == "none" else replace(decoder, run=keeping(decoder.run))


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
