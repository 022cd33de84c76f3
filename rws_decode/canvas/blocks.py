"""The current block of each row of a batch, and how many of its positions a step must commit."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from rws_decode.canvas.schedule import PlannedStep


def due(block: Tensor, step: int, plan: Sequence[PlannedStep]) -> Tensor:
    """Return how many of a block's masked positions must go in a step, int64 [b]: one, or in its last step all.

    block: bool [b, n]. The last step is the one that the schedule has for the block.
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
