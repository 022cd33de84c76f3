"""Which positions a step commits: ranked in float32, at the cut in float64, without a copy of a value to the host."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from rws_decode.extra.compact.row_statistics import RELATIVE
from rws_decode.step.rounding import near_ties, saturated
from rws_decode.step.select import rank_rows

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

    The 2 * 4 positions nearest the cut are ranked anew in float64, as `select.rank_values` does. Guarantee: where
    `inexact` is False, the set is the one that float64 chooses among all. It is True where further positions lie within
    the error of float32 of the cut (`row_statistics.log_f_error`); there the order is that of float32. `value` holds
    the values ranked by, so that choosing again gives this set.
    """
    m = token.shape[1]
    ranked = -log_f.double()
    order = ranked.argsort(dim=1, descending=True, stable=True)
    reach = RELATIVE * (1 + ranked.abs().nan_to_num(posinf=0.0))
    first, stop = max(0, k - _WINDOW), min(m, k + _WINDOW)
    value, inexact = ranked, torch.zeros_like(order[:, 0], dtype=torch.bool)
    if 0 < k < m:
        # Values fall along the order, and so do the ends of their ranges: the nearest ones outside stand for all.
        low, high = (ranked - reach).gather(1, order), (ranked + reach).gather(1, order)
        if first > 0:
            inexact = inexact | (low[:, first - 1] <= high[:, k])
        if stop < m:
            inexact = inexact | (high[:, stop] >= low[:, k - 1])
        near = order[:, first:stop]
        picked = logits.gather(1, near[..., None].expand(-1, -1, logits.shape[-1])).flatten(0, 1)
        scale = factor[:, None].expand(near.shape).flatten()
        parts = (picked.split(_CHUNK), token.gather(1, near).flatten().split(_CHUNK), scale.split(_CHUNK))
        exact = [rank_rows(*part, "log-odds", torch.float64) for part in zip(*parts, strict=True)]
        settled = ranked.scatter(1, near, torch.cat(exact).view(near.shape))
        # Values of both precisions side by side would separate positions that are level.
        value = torch.where(inexact[:, None], ranked, settled)
        order = value.argsort(dim=1, descending=True, stable=True)
    chosen = torch.zeros_like(order, dtype=torch.bool).scatter_(1, order[:, :k], True)
    last = value.gather(1, order[:, k - 1 : k])
    slack = reach + 2 * factor[:, None] * error.double()
    everywhere = torch.ones_like(chosen)
    return Choice(
        chosen=chosen,
        value=value,
        ties=(~chosen & (value == last)).sum(dim=1),
        saturated=saturated(value, torch.float64).sum(dim=1),
        near_ties=near_ties(value - slack, value + slack, everywhere, chosen, None),
        inexact=inexact,
    )
