"""Step 4 where the strategy says how many positions go (`protocol.CountingStrategy`), in place of the schedule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from rws_decode.canvas.schedule import PlannedStep
from rws_decode.strategies.protocol import ChoosingStrategy, CountingStrategy, MaskedPositions, OwnCount


class Seats(NamedTuple):
    """How many positions of each row go, int64 [b], and which of them wait for the others, bool [N] or None."""

    k: Tensor
    waits: Tensor | None


class Fixed(NamedTuple):
    """How many positions of each row go, int64 [b], whatever their confidence."""

    k: Tensor

    def of(self, value: Tensor, odds: bool, scale: Tensor) -> Seats:
        """Return the numbers; no position waits."""
        return Seats(self.k, None)

    def uncertain(self, low: Tensor, high: Tensor, odds: bool, scale: Tensor, error: Tensor) -> Tensor:
        """Return 0 for each row."""
        return torch.zeros_like(self.k)


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


def count_for(
    strategy: OwnCount,
    view: MaskedPositions,
    rows: Tensor,
    block: Tensor,
    step: int,
    plan: Sequence[PlannedStep],
) -> Count:
    """Return the count of a step. block: bool [b, n], the masked positions of each row's block."""
    return Count(strategy, view, rows, due(block, step, plan), block.sum(dim=1))


def due(block: Tensor, step: int, plan: Sequence[PlannedStep]) -> Tensor:
    """Return how many of a block's masked positions must go in a step, int64 [b]: one, or in its last step all.

    block: bool [b, n]. The last step is the one that the schedule has for the block.

    >>> from rws_decode.settings import Shape
    >>> blocks = torch.tensor([[False, True, False, False], [False, False, True, True]])
    >>> [due(blocks, step, Shape(4, 4, 2).plan).tolist() for step in (0, 1, 3)]
    [[1, 1], [1, 1], [1, 2]]
    """
    return torch.where(last_steps(block, step, plan), block.sum(dim=1), 1)


def last_steps(block: Tensor, step: int, plan: Sequence[PlannedStep]) -> Tensor:
    """Return the rows for whose block the schedule has no step after this one, bool [b]. block: as in `due`."""
    size = plan[0].stop
    steps = len(plan) // (plan[-1].stop // size)
    current = block.to(torch.uint8).argmax(dim=1) // size
    return (current + 1) * steps <= step + 1


def current_block(masked: Tensor, plan: Sequence[PlannedStep]) -> Tensor:
    """Return all positions of each row's current block, the first with masks left, bool [b, n]. masked: bool [b, n].

    >>> from rws_decode.settings import Shape
    >>> current_block(torch.tensor([[False, False, False, True]]), Shape(4, 4, 2).plan).tolist()
    [[False, False, True, True]]
    """
    number = torch.arange(masked.shape[1], device=masked.device) // plan[0].stop
    return number == torch.where(masked, number, len(number)).amin(dim=1, keepdim=True)


def remembered(past: Sequence[Past], view: MaskedPositions) -> tuple[Tensor, ...]:
    """Return the logits that the view's positions had one step before, two steps, ..., as far as all rows had them."""
    key = view.row * view.length + view.position
    logits = []
    for row, position, values in past:
        keys = row * view.length + position
        at = torch.searchsorted(keys, key).clamp(max=max(len(keys) - 1, 0))
        if not len(keys) or not bool((keys[at] == key).all()):
            break
        logits.append(values[at])
    return tuple(logits)


class Past(NamedTuple):
    """The logits of all masked positions of a step: prompts' numbers and positions, int64 [N], rising; [N, V]."""

    row: Tensor
    position: Tensor
    logits: Tensor
