"""Which positions a step commits: ranked in float32, settled in float64 at the cut, and no value looked at."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from rws_decode.compact.row_statistics import RELATIVE
from rws_decode.ranking import rank_rows
from rws_decode.rounding import near_ties, saturated

__all__ = ["Choice", "choose"]

# Positions on each side of the cut whose order is settled in float64, and rows of logits widened at once.
_WINDOW = 4
_CHUNK = 64


class Choice(NamedTuple):
    """A step's order over m masked positions of B rows, as `trace.Trace` describes it: [B, m], then [B]."""

    chosen: Tensor
    value: Tensor
    ties: Tensor
    saturated: Tensor
    near_ties: Tensor
    inexact: Tensor


def choose(logits: Tensor, token: Tensor, log_f: Tensor, factor: Tensor, error: Tensor, k: int) -> Choice:
    """Choose the k positions of largest log-odds -log F(c) in each row, the leftmost among equals.

    logits: [B, m, V], of positions from left to right, -inf where closed; token: int64 [B, m]; log_f: float32 [B, m],
    log F at the row's factor (`row_statistics`); factor: float64 [B]; error: float64 [B, m], by how much logits may be
    off (`rounding.logit_error`); k: at most m.

    The 2 * 4 positions nearest the cut are ranked anew in float64, as `ranking.rank_values` does. Guarantee: where
    `inexact` is False, the set is the one that float64 chooses among all; it is True where further positions lie
    within the error of float32 at the cut. `value` holds what was ranked by, so that choosing again gives this set.

    >>> z = torch.tensor([[[0.0, 1.0, 3.0], [0.0, 2.5, 3.0]]])
    >>> log_f = torch.tensor([[-1.8731, -0.4061]])
    >>> one = torch.ones(1, dtype=torch.float64)
    >>> choose(z, z.argmax(-1), log_f, one, torch.zeros(1, 2), 1).chosen.tolist()
    [[True, False]]
    """
    rows, m = token.shape
    value = -log_f.double()
    order = value.argsort(dim=1, descending=True, stable=True)
    first, stop = max(0, k - _WINDOW), min(m, k + _WINDOW)
    reach = RELATIVE * (1 + value.abs().nan_to_num(posinf=0.0))
    inside = torch.zeros_like(value, dtype=torch.bool)
    if 0 < k < m:
        near = order[:, first:stop]
        inside.scatter_(1, near, True)
        picked = logits.gather(1, near[..., None].expand(-1, -1, logits.shape[-1])).flatten(0, 1)
        scale = factor[:, None].expand(near.shape).flatten()
        parts = zip(picked.split(_CHUNK), token.gather(1, near).flatten().split(_CHUNK), scale.split(_CHUNK), strict=True)
        exact = torch.cat([rank_rows(*part, "log-odds", torch.float64) for part in parts])
        value = value.scatter(1, near, exact.view(near.shape))
        reach = reach.masked_fill(inside, 0.0)
        order = value.argsort(dim=1, descending=True, stable=True)
    chosen = torch.zeros_like(inside).scatter_(1, order[:, :k], True)
    last = value.gather(1, order[:, k - 1 : k])
    # Beyond what float32 gets wrong, the set hangs on the logits: these are the near-ties.
    slack = 2 * factor[:, None] * error.double() + 2.0**-52 * (1 + value.abs().nan_to_num(posinf=0.0))
    low, high = value - reach - slack, value + reach + slack
    everywhere, nowhere = torch.ones_like(chosen), torch.zeros_like(chosen)
    return Choice(
        chosen=chosen,
        value=value,
        ties=(~chosen & (value == last)).sum(dim=1),
        saturated=saturated(value, "log-odds", torch.float64).sum(dim=1),
        near_ties=near_ties(low, high, everywhere, chosen, nowhere),
        inexact=_unsettled(value, reach, inside, chosen),
    )


def _unsettled(value: Tensor, reach: Tensor, inside: Tensor, chosen: Tensor) -> Tensor:
    """Return the rows, bool [B], where a position that only float32 has ranked may belong on the other side."""
    floor = (value - reach).masked_fill(~chosen, torch.inf).amin(dim=1, keepdim=True)
    roof = (value + reach).masked_fill(chosen, -torch.inf).amax(dim=1, keepdim=True)
    wrong = (chosen & ~inside & (value - reach <= roof)) | (~chosen & ~inside & (value + reach >= floor))
    # With nothing on one side there is no cut.
    return (wrong & chosen.any(dim=1, keepdim=True) & (~chosen).any(dim=1, keepdim=True)).any(dim=1)
