"""What rounding does to an order: positions saturated at probability 1, and positions that rounding could reorder."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from rws_decode.settings import Ranking
from rws_decode.step.cut import at_the_cut

__all__ = ["ROUNDING_UNITS", "logit_error", "near_ties", "saturated", "value_range"]

# Units of rounding (eps of the dtype, relative to a position's largest logit) by which logits may change with the
# batch, the padding or the device. Half precision accumulates in float32, so its errors are few units.
ROUNDING_UNITS = {torch.float64: 64, torch.float32: 64, torch.bfloat16: 8, torch.float16: 8}

_CHUNK = 64


def logit_error(logits: Tensor) -> Tensor:
    """Return by how much each row's logits may differ for the same canvas in another batch; float64 [N], in logits.

    `ROUNDING_UNITS` of the dtype times its eps times the row's largest finite |logit|: a stated tolerance above what
    networks show, not a bound that holds for every network. logits: [N, V]; -inf does not count.

    >>> logit_error(torch.tensor([[-8.0, 2.0, float("-inf")]])).tolist() == [64 * 2.0**-23 * 8]
    True
    """
    return ROUNDING_UNITS[logits.dtype] * torch.finfo(logits.dtype).eps * _largest(logits)


def _largest(logits: Tensor) -> Tensor:
    # By few rows at a time: the copies that this makes are as large as what they are made of.
    parts = [rows.masked_fill(rows == -torch.inf, 0).abs().amax(dim=-1) for rows in logits.split(_CHUNK)]
    return torch.cat(parts).double()


def value_range(
    exact: Tensor, logits: Tensor, error: Tensor, factor: Tensor, ranking: Ranking, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """Return the least and greatest ranking value of each position if its logits change by at most `error`.

    The log-odds move by at most 2 c (error + eps |z|_max): their gradient has absolute sum 2 c, and scaled logits are
    rounded to `dtype`, as are sums and results. Probabilities are those of the two ends, further out by the rounding of
    a softmax: one eps where it is summed in float32, else 4 + log2 V of them, sums taken in pairs or blocks.
    exact: log-odds in float64 [N]; logits [N, V]; error [N]; factor c [N]; dtype of the ranking. Returns float64 [N]
    each, at most infinite.

    >>> exact, z = torch.tensor([2.0], dtype=torch.float64), torch.tensor([[0.0, 2.0]])
    >>> low, high = value_range(exact, z, torch.tensor([0.1]), torch.tensor([3.0]), "log-odds", torch.float64)
    >>> round(low.item(), 6), round(high.item(), 6)
    (1.4, 2.6)
    """
    eps = torch.finfo(dtype).eps
    error = error.double()
    if dtype != torch.float64:
        error = error + eps * _largest(logits)
    reach = 2 * factor.double() * error
    # inf - inf has no value: a position that is certain stays so.
    reach = reach + eps * (1 + exact.abs().nan_to_num(posinf=0.0))
    low, high = exact - reach, exact + reach
    if ranking == "log-odds":
        return low, high
    # Half precision is summed in float32 and rounded once; else exponentials, their sum and the quotient round.
    once = dtype in (torch.bfloat16, torch.float16)
    own = eps * (1 if once else 4 + math.log2(logits.shape[-1]))
    return torch.sigmoid(low) * (1 - own), (torch.sigmoid(high) * (1 + own)).clamp(max=1.0)


def near_ties(low: Tensor, high: Tensor, eligible: Tensor, chosen: Tensor, deferred: Tensor) -> Tensor:
    """Count the positions that rounding could move across the cut: int64 [B].

    low, high: ranges of the ranking values, [B, n]. Counted are chosen positions whose range reaches down to that of
    one left out, and those left out whose range reaches up to that of a chosen one, among the eligible positions of the
    group (deferred or not) in which the cut falls. Guarantee: 0 exactly where every chosen range lies above every
    other, so that no change within the ranges changes the set.

    >>> low, high = torch.tensor([[1.0, 1.9, 3.0]]), torch.tensor([[2.0, 2.5, 4.0]])
    >>> everywhere, nowhere = torch.ones(1, 3, dtype=torch.bool), torch.zeros(1, 3, dtype=torch.bool)
    >>> near_ties(low, high, everywhere, torch.tensor([[False, True, True]]), nowhere).tolist()
    [2]
    """
    group, _ = at_the_cut(eligible, deferred, chosen.sum(dim=1))
    inside, outside = group & chosen, group & ~chosen
    floor = low.masked_fill(~inside, float("inf")).amin(dim=1, keepdim=True)
    roof = high.masked_fill(~outside, float("-inf")).amax(dim=1, keepdim=True)
    # With nothing on one side there is no cut to cross.
    crossable = inside.any(dim=1, keepdim=True) & outside.any(dim=1, keepdim=True)
    return (crossable & ((inside & (low <= roof)) | (outside & (high >= floor)))).sum(dim=1)


def saturated(values: Tensor, ranking: Ranking, dtype: torch.dtype) -> Tensor:
    """Return where the probability is exactly 1.0 in `dtype`, bool of the shape of `values`.

    values: ranking values; log-odds v stand for sigmoid(v), computed in `dtype`. Such positions cannot be told apart by
    their probability, however far apart their logits are.

    >>> saturated(torch.tensor([10.0, 30.0], dtype=torch.float64), "log-odds", torch.float32).tolist()
    [False, True]
    """
    return (torch.sigmoid(values.to(dtype)) if ranking == "log-odds" else values) == 1
