"""Positions at the cut that float64 cannot tell apart, put in their exact order."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from rws_decode.step.cut import at_the_cut
from rws_theory.selection import same_at_every_scale, selection_path

__all__ = ["exact_at_the_cut"]


def exact_at_the_cut(
    values: Tensor,
    logits: Tensor,
    scale: Tensor,
    place: tuple[Tensor, Tensor],
    eligible: Tensor,
    deferred: Tensor,
    k: int,
) -> Tensor:
    """Return log-odds by which the exact top k is chosen, exact ties leftmost; float64 [B, n].

    Where the values on both sides of the cut are closer than float64 computes them, the positions concerned are
    compared by `rws_theory.selection_path` at their factor, from the logits as they are, and their values are set to
    neighbouring numbers in that order, to the same number where they tie exactly. Others keep theirs.

    values: float64 [B, n], log-odds at the factors; logits: [N, V]; scale: float64 [N], factors; place: row and
    position, int64 [N], of each of the N in the grid; eligible, deferred: bool [B, n]; k: how many a row commits.

    >>> z = torch.tensor([[5.0, 1.0, 0.0], [5.0, 1.0, -1.0]])  # at c = 64 the third token is lost in rounding
    >>> everywhere, values = torch.ones(1, 2, dtype=torch.bool), torch.tensor([[256.0, 256.0]], dtype=torch.float64)
    >>> place, scale = (torch.tensor([0, 0]), torch.tensor([0, 1])), torch.tensor([64.0, 64.0], dtype=torch.float64)
    >>> found = exact_at_the_cut(values, z, scale, place, everywhere, ~everywhere, 1)
    >>> bool(found[0, 1] > found[0, 0])
    True
    """
    contested, seats = at_the_cut(eligible, deferred, k)
    open_ = (seats > 0) & (seats < contested.sum(dim=1))
    ordered = values.masked_fill(~contested, -torch.inf).sort(dim=1, descending=True).values
    last = ordered.gather(1, (seats - 1).clamp(min=0)[:, None])
    first_out = ordered.gather(1, seats.clamp(max=values.shape[1] - 1)[:, None])
    # The error of a sum of V exponentials and of its largest argument, several times over.
    unsure = 4 * (logits.shape[-1] + 2048) * 2.0**-52 * (1 + last.abs())
    close = open_ & last.isfinite()[:, 0] & (last - first_out <= unsure)[:, 0]
    if not bool(close.any()):
        return values
    values = values.clone()
    for row in close.nonzero()[:, 0].tolist():
        level = contested[row] & ((values[row] - last[row]).abs() <= 2 * unsure[row])
        own = (place[0] == row) & level[place[1]]
        positions = place[1][own]
        ahead = int((contested[row] & ~level & (values[row] > last[row])).sum())
        rows = logits[own].double().cpu().numpy()
        order = _order(rows, int(seats[row]) - ahead, float(scale[own][0]))
        middle = float(last[row])
        steps = {-1: math.nextafter(middle, -math.inf), 0: middle, 1: math.nextafter(middle, math.inf)}
        moved = torch.tensor([steps[number] for number in order], dtype=torch.float64, device=values.device)
        values[row, positions] = moved
    return values


def _order(rows: np.ndarray, seats: int, scale: float) -> list[int]:
    """Return 1 for rows of the top `seats` at the scale, -1 for others, 0 for those that tie across the cut."""
    chosen = set(selection_path(rows, seats, scale, scale).pieces[0].selected)
    order = [1 if index in chosen else -1 for index in range(len(rows))]
    for group in same_at_every_scale(rows):
        if len({order[index] for index in group}) == 2:
            for index in group:
                order[index] = 0
    return order
