"""A layer around the step for a strategy that says how many positions go (`protocol.CountingStrategy`)."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from rws_decode.canvas.blocks import due
from rws_decode.step.completion import Completion, Done, Seats
from rws_decode.step.forward import MaskedLogits
from rws_decode.step.step import Decoder, Run, State
from rws_decode.strategies.protocol import ChoosingStrategy, CountingStrategy, MaskedPositions, OwnCount


class Count(NamedTuple):
    """How many positions of each of b rows go, once their confidence is known.

    rows: int64 [b], the rows' numbers among the prompts; least, most: int64 [b], what must go, and what can.
    """

    strategy: OwnCount
    view: MaskedPositions
    rows: Tensor
    least: Tensor
    most: Tensor

    def of(self, value: Tensor, odds: bool, scale: Tensor) -> Seats:
        """Return the numbers, and which positions wait. value: what ranks the N positions, log-odds or probabilities.

        scale: float64 [N], the factors. ValueError for counts of another shape.
        """
        view = self._at(value, odds, scale, torch.zeros_like(scale))
        if isinstance(self.strategy, CountingStrategy):
            return Seats(self._within(self._counts(view)), None)
        chosen = self._chosen(view)
        counts = _in_rows(chosen, view)
        return Seats(self._within(counts), ~chosen & (counts[view.row] > 0))

    def uncertain(self, low: Tensor, high: Tensor, odds: bool, scale: Tensor, error: Tensor) -> Tensor:
        """Return how many positions logits that are off by their error would add or take away, int64 [b].

        low, high: the least and greatest ranking value of each position; error: of its logits; [N].
        """
        reach = scale * error.to(scale.device)
        views = [self._at(at, odds, scale, by) for at, by in ((low, -reach), (high, reach))]
        if isinstance(self.strategy, CountingStrategy):
            fewest, most = (self._within(self._counts(view)) for view in views)
            return most - fewest
        fewest, most = (self._chosen(view) for view in views)
        return _in_rows(fewest != most, self.view)[self.rows]

    def _at(self, value: Tensor, odds: bool, scale: Tensor, leeway: Tensor) -> MaskedPositions:
        log_odds = value.double() if odds else torch.logit(value.double())
        return self.view._replace(log_odds=log_odds, scale=scale, leeway=leeway)

    def _within(self, counts: Tensor) -> Tensor:
        return torch.minimum(torch.maximum(counts[self.rows], self.least), self.most)

    def _counts(self, view: MaskedPositions) -> Tensor:
        assert isinstance(self.strategy, CountingStrategy)
        counts = self._checked("counts", self.strategy.count(view), (view.rows,), torch.int64)
        if bool((counts < 0).any()):
            raise ValueError(f"strategy {self.strategy} counts {int(counts.min())} positions: at least 0 is needed")
        return counts

    def _chosen(self, view: MaskedPositions) -> Tensor:
        assert isinstance(self.strategy, ChoosingStrategy)
        return self._checked("a choice", self.strategy.choose(view), tuple(view.row.shape), torch.bool)

    def _checked(self, what: str, values: Tensor, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        values = torch.as_tensor(values)
        if values.shape != shape or values.dtype != dtype:
            raise ValueError(
                f"strategy {self.strategy} gives {what} of shape {tuple(values.shape)} and dtype {values.dtype}: "
                f"{str(dtype).removeprefix('torch.')} {shape} is needed"
            )
        return values.to(self.rows.device)


def _in_rows(holds: Tensor, view: MaskedPositions) -> Tensor:
    """Return how many of the N positions hold a condition in each row, int64 [rows]. holds: bool [N]."""
    counts = torch.zeros(view.rows, dtype=torch.int64, device=holds.device)
    return counts.index_add(0, view.row, holds.long())


def counting(run: Run) -> Run:
    """Return the step with as many commits as the strategy counts, or with those that it chooses."""

    def step(decoder: Decoder, state: State) -> tuple[State, Done]:
        strategy = decoder.strategy
        assert isinstance(strategy, OwnCount)

        def complete(_: Decoder, state: State, seen: MaskedLogits) -> Completion:
            completion = decoder.complete(decoder, state, seen)
            block, view = completion.block, completion.view
            least = due(block, state.step, decoder.plan)
            return completion._replace(commits=Count(strategy, view, state.rows, least, block.sum(dim=1)))

        return run(replace(decoder, complete=complete), state)

    return step
