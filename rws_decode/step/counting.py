"""Step 4 where the strategy says how many positions go (`protocol.CountingStrategy`), in place of the schedule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from rws_decode.canvas.schedule import PlannedStep
from rws_decode.strategies.protocol import CountingStrategy, MaskedPositions

__all__ = ["Count", "count_for", "due"]


class Count(NamedTuple):
    """How many positions of each of b rows go, once their confidence is known.

    rows: int64 [b], the rows' numbers among the prompts; least, most: int64 [b], what must go, and what can.
    """

    strategy: CountingStrategy
    view: MaskedPositions
    rows: Tensor
    least: Tensor
    most: Tensor

    def of(self, value: Tensor, odds: bool, scale: Tensor, leeway: Tensor | None = None) -> Tensor:
        """Return the numbers, int64 [b]. value: what ranks the N positions, log-odds or else probabilities, [N].

        scale: float64 [N], the factors; leeway: as `MaskedPositions` has it. ValueError for counts of another shape.
        """
        log_odds = value.double() if odds else torch.logit(value.double())
        leeway = torch.zeros_like(scale) if leeway is None else leeway
        counts = torch.as_tensor(self.strategy.count(self.view._replace(log_odds=log_odds, scale=scale, leeway=leeway)))
        if counts.shape != (self.view.rows,) or counts.dtype != torch.int64:
            raise ValueError(
                f"strategy {self.strategy} gives counts of shape {tuple(counts.shape)} and dtype {counts.dtype}: "
                f"int64 ({self.view.rows},), one for each row, is needed"
            )
        return torch.minimum(torch.maximum(counts.to(self.rows.device)[self.rows], self.least), self.most)

    def uncertain(self, low: Tensor, high: Tensor, odds: bool, scale: Tensor, error: Tensor) -> Tensor:
        """Return by how much the numbers may be off as logits are, int64 [b].

        low, high: the least and greatest ranking value of each position; error: of its logits; [N].
        """
        reach = scale * error.to(scale.device)
        return self.of(high, odds, scale, reach) - self.of(low, odds, scale, -reach)


def count_for(
    strategy: CountingStrategy,
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
    size = plan[0].stop
    steps = len(plan) // (plan[-1].stop // size)
    current = block.to(torch.uint8).argmax(dim=1) // size
    return torch.where((current + 1) * steps <= step + 1, block.sum(dim=1), 1)
