"""What strategies share that count by confidence, and the counts of a recorded run."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rws_decode.common.arguments import at_step, check_table
from rws_decode.strategies.factors import Confidence
from rws_decode.strategies.protocol import CountingStrategy, FactorStrategy, MaskedPositions, asks_reward

__all__ = ["Counted", "RecordedCounts", "ranks_in_rows"]


@dataclass(frozen=True, kw_only=True)
class Counted:
    """The factor of all logits is that of another strategy, so that what counts by confidence can be scaled.

    scaled: Confidence (factor 1), Temperature, RWS or any other strategy with a factor; ValueError for what has none,
    or counts itself.
    """

    scaled: FactorStrategy = field(default_factory=Confidence)

    def __post_init__(self) -> None:
        if not isinstance(self.scaled, FactorStrategy) or isinstance(self.scaled, CountingStrategy):
            raise ValueError(f"scaled is {self.scaled!r}: a strategy with a factor is needed, such as RWS(8.0)")

    @property
    def needs_reward(self) -> bool:
        """Whether the strategy that scales asks for rewards."""
        return self.scaled.needs_reward

    def asks_reward(self, step: int) -> bool:
        """Say whether the strategy that scales asks at a step."""
        return asks_reward(self.scaled, step)

    def factor(self, view: MaskedPositions) -> NDArray[np.float64]:
        """Return the factors of the strategy that scales, [rows]."""
        return self.scaled.factor(view)


@dataclass(frozen=True, kw_only=True)
class RecordedCounts(Counted):
    """The numbers of positions that the steps of a run committed, in the order of the strategy that scales.

    counts: a tuple with one number per step, or one such tuple per row.

    >>> RecordedCounts(counts=(1, 3)).count(MaskedPositions(step=1, rows=2)).tolist()
    [3, 3]
    """

    counts: tuple[int, ...] | tuple[tuple[int, ...], ...]
    name = "recorded-counts"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_table("counts", self.counts, positive=False)

    def count(self, view: MaskedPositions) -> Tensor:
        """Return the recorded numbers of this step, int64 [rows]."""
        return torch.from_numpy(at_step("counts", self.counts, view.step, view.rows).astype(np.int64))


def ranks_in_rows(values: Tensor, view: MaskedPositions) -> tuple[Tensor, Tensor]:
    """Return an order of the N positions, row by row and largest value first, and each one's rank in its row, from 0.

    Both int64 [N]; the leftmost of equals goes first.

    >>> view = MaskedPositions(0, 2, 3, torch.tensor([0, 0, 1]), torch.tensor([0, 1, 0]))
    >>> ranks_in_rows(torch.tensor([1.0, 2.0, 3.0]), view)
    (tensor([1, 0, 2]), tensor([0, 1, 0]))
    """
    order = values.argsort(descending=True, stable=True)
    order = order[view.row[order].argsort(stable=True)]
    begins = torch.searchsorted(view.row[order], view.row[order])
    return order, torch.arange(len(order), device=order.device) - begins
