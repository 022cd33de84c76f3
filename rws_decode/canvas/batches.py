"""The rows of a batch: which prompts are decoded together, at which block each stands, and what a step must commit."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from rws_decode.canvas.schedule import PlannedStep
from rws_decode.predictors.base import LogitsAt, MaskPredictor
from rws_decode.settings import Options


def row_bytes(predictor: MaskPredictor, length: int, width: int = 0, options: Options | None = None) -> int | None:
    """Return the bytes that one row's logits take at the first step, all masked; None where V is not known.

    length x V numbers of 4 bytes, held as they come and once more for the current block; twice more under guidance
    (with and without prompt), and for published copies. width: further columns, of which a predictor without
    `logits_at` gives logits too. Half precision takes half of this, float64 twice. Ranking widens 64 positions at a
    time and is not counted, nor are the predictor's own activations.

    >>> from rws_decode.predictors import CallablePredictor
    >>> row_bytes(CallablePredictor(lambda canvas: canvas, mask_id=0, vocab_size=126_464), 256)
    258998272
    """
    if predictor.vocab_size is None:
        return None
    guided = options is not None and options.cfg != 0
    copies = 2 + 2 * guided + 2 * (options is not None and options.ranking == "topk")
    whole = (length + width) * (1 + guided) if width and not isinstance(predictor, LogitsAt) else 0
    return 4 * predictor.vocab_size * (length * copies + whole)


def batches(
    widths: Sequence[int], row_bytes: int | None, memory: int, spread: float | None = None, *, alone: bool = False
) -> list[list[int]]:
    """Return the indices of the rows of each batch, every row once: sorted by width, as many as fit, at least 1.

    widths: columns of each row; row_bytes: what a row takes, None for unknown (then memory sets no limit); memory:
    bytes; spread: by how large a share a row may be wider than the narrowest of its batch, None for any; alone: each
    row is a batch. Within a batch the indices rise.

    >>> batches([5, 90, 6, 80], row_bytes=10, memory=25), batches([5, 90, 6, 80], None, 0, spread=0.5)
    ([[0, 2], [1, 3]], [[0, 2], [1, 3]])
    """
    most = len(widths) if row_bytes is None else max(1, memory // max(row_bytes, 1))
    most = 1 if alone else most
    groups: list[list[int]] = []
    for row in sorted(range(len(widths)), key=widths.__getitem__):
        too_wide = groups and spread is not None and widths[row] > widths[groups[-1][0]] * (1 + spread)
        if not groups or len(groups[-1]) == most or too_wide:
            groups.append([])
        groups[-1].append(row)
    return [sorted(batch) for batch in groups]


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
    """Return all positions of each row's current block, the first with masks left, bool [b, n]. masked: bool [b, n]."""
    number = torch.arange(masked.shape[1], device=masked.device) // plan[0].stop
    return number == torch.where(masked, number, masked.shape[1]).amin(dim=1, keepdim=True)
