"""What rounding does to an order: exact order at the cut, near-ties, and positions saturated at probability 1."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import reduce

import numpy as np
import torch
from torch import Tensor

from rws_decode.settings import Ranking

# Units of rounding (eps of the dtype, relative to a position's largest logit) by which logits may change with the
# batch, the padding or the device. Half precision accumulates in float32, so its errors are few units.
ROUNDING_UNITS = {torch.float64: 64, torch.float32: 64, torch.bfloat16: 8, torch.float16: 8}


def rows_at_once(logits: Tensor) -> int:
    """Return how many rows are widened at once: on a CPU those that stay in a core's cache, else 64 MiB in float64."""
    return max(1, (2**16 if logits.device.type == "cpu" else 2**23) // logits.shape[-1])


def in_parts(logits: Tensor, *others: Tensor) -> Iterable[tuple[Tensor, ...]]:
    """Return logits [N, V] and what belongs to their rows, [N] each, `rows_at_once` at a time."""
    most, tensors = rows_at_once(logits), (logits, *others)
    return [tensors] if logits.shape[0] <= most else zip(*(each.split(most) for each in tensors), strict=True)


def logit_error(logits: Tensor) -> Tensor:
    """Return by how much each row's logits may differ for the same canvas in another batch; float64 [N], in logits.

    `ROUNDING_UNITS` of the dtype times its eps times the row's largest finite |logit|: a stated tolerance above what
    networks show, not a bound that holds for every network. logits: [N, V]; -inf does not count.
    """
    return ROUNDING_UNITS[logits.dtype] * torch.finfo(logits.dtype).eps * _largest(logits)


def _largest(logits: Tensor) -> Tensor:
    pieces = logits.split(2**16, dim=1)
    find = _largest_of if len(pieces) == 1 else _largest_by_ends
    columns = [torch.cat([find(part) for (part,) in in_parts(some)]) for some in pieces]
    return reduce(torch.maximum, columns).double()


def _largest_of(part: Tensor) -> Tensor:
    return part.nan_to_num(math.nan, math.inf, 0.0).abs_().amax(-1)


def _largest_by_ends(part: Tensor) -> Tensor:
    """Return the same without a copy, unless a token is closed: few parts of a long row hold such a one."""
    low = part.amin(-1)
    return _largest_of(part) if bool((low == -math.inf).any()) else torch.maximum(part.amax(-1), -low).abs_()


def value_range(
    exact: Tensor, logits: Tensor, error: Tensor, factor: Tensor, ranking: Ranking, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """Return the least and greatest ranking value of each position if its logits change by at most `error`.

    The log-odds move by at most 2 c (error + eps |z|_max): their gradient has absolute sum 2 c, and scaled logits are
    rounded to `dtype`, as are sums and results. Probabilities are those of the two ends, further out by the rounding of
    a softmax: one eps where it is summed in float32, else 4 + log2 V of them, sums taken in pairs or blocks.
    exact: log-odds in float64 [N]; logits [N, V]; error [N]; factor c [N]; dtype of the ranking. Returns float64 [N]
    each, at most infinite.
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
    rounded_once = dtype in (torch.bfloat16, torch.float16)
    relative = eps * (1 if rounded_once else 4 + math.log2(logits.shape[-1]))
    return torch.sigmoid(low) * (1 - relative), (torch.sigmoid(high) * (1 + relative)).clamp(max=1.0)


def at_the_cut(eligible: Tensor, deferred: Tensor | None, k: int | Tensor) -> tuple[Tensor, Tensor]:
    """Return the positions among which a choice of k is made, bool [B, n], and how many of them are chosen, int64 [B].

    Those that are not deferred if there are more than k of them; else the deferred ones, for what is left of k. None:
    nothing is deferred, and all compete.
    """
    if deferred is None:
        return eligible, torch.as_tensor(k, device=eligible.device).expand(eligible.shape[0])
    early = eligible & ~deferred
    spare = k - early.sum(dim=1)
    return torch.where((spare < 0)[:, None], early, eligible & deferred), torch.where(spare < 0, k, spare)


def near_ties(low: Tensor, high: Tensor, eligible: Tensor, chosen: Tensor, deferred: Tensor | None) -> Tensor:
    """Count the positions that rounding could move across the cut: int64 [B].

    low, high: ranges of the ranking values, [B, n]. Counted are chosen positions whose range reaches down to that of
    one left out, and those left out whose range reaches up to that of a chosen one, among the eligible positions of the
    group (deferred or not) in which the cut falls. Guarantee: 0 exactly where every chosen range lies above every
    other, so that no change within the ranges changes the set.
    """
    group = eligible if deferred is None else at_the_cut(eligible, deferred, chosen.sum(dim=1))[0]
    inside, outside = group & chosen, group & ~chosen
    floor = low.masked_fill(~inside, float("inf")).amin(dim=1, keepdim=True)
    roof = high.masked_fill(~outside, float("-inf")).amax(dim=1, keepdim=True)
    # With nothing on one side there is no cut to cross.
    crossable = inside.any(dim=1, keepdim=True) & outside.any(dim=1, keepdim=True)
    return (crossable & ((inside & (low <= roof)) | (outside & (high >= floor)))).sum(dim=1)


def saturated(log_odds: Tensor, dtype: torch.dtype) -> Tensor:
    """Return where the probability is exactly 1.0 in `dtype`, which cannot tell such positions apart; bool."""
    return torch.sigmoid(log_odds.to(dtype)) == 1


def exact_at_the_cut(
    values: Tensor,
    logits: Tensor,
    scale: Tensor,
    places: tuple[Tensor, Tensor],
    eligible: Tensor,
    deferred: Tensor | None,
    k: int | Tensor,
) -> Tensor:
    """Return log-odds by which the exact top k is chosen, exact ties leftmost; float64 [B, n].

    Where the values on both sides of the cut are closer than float64 computes them, the positions concerned are
    compared by `rws_theory.selection_path` at their factor, from the logits as they are, and their values are set to
    neighbouring numbers in that order, to the same number where they tie exactly. Others keep theirs.

    values: float64 [B, n], log-odds at the factors; logits: [N, V]; scale: float64 [N], factors; places: row and
    position, int64 [N], of each of the N in the grid; eligible, deferred: bool [B, n], or None for none; k: of a row.
    """
    group, seats = (eligible, k) if deferred is None else at_the_cut(eligible, deferred, k)
    contested, seats, value = group.numpy(force=True), on_host(seats, len(values)), values.numpy(force=True)
    open_ = (seats > 0) & (seats < contested.sum(axis=1, keepdims=True))
    ordered, row = np.sort(np.where(contested, -value, np.inf), axis=1), np.arange(len(value))[:, None]
    last = -ordered[row, np.maximum(seats - 1, 0)]
    first_out = -ordered[row, np.minimum(seats, value.shape[1] - 1)]
    # The error of a sum of V exponentials and of its largest argument, several times over.
    size = np.abs(last)
    unsure = 4 * (logits.shape[-1] + 2048) * 2.0**-52 * (1 + size)
    with np.errstate(invalid="ignore"):
        close = open_ & (size < np.inf) & (last - first_out <= unsure)
    if not close.any():
        return values
    values = values.clone()
    for number in close.nonzero()[0].tolist():
        own, end = value[number], float(last[number, 0])
        level = contested[number] & (np.abs(own - end) <= 2 * unsure[number])
        of_row = (places[0] == number) & torch.from_numpy(level).to(places[1].device)[places[1]]
        ahead = int((contested[number] & ~level & (own > end)).sum())
        rows = logits[of_row].double().cpu().numpy()
        order = _order(rows, int(seats[number, 0]) - ahead, float(scale[of_row][0]))
        steps = {-1: math.nextafter(end, -math.inf), 0: end, 1: math.nextafter(end, math.inf)}
        moved = torch.tensor([steps[place] for place in order], dtype=torch.float64, device=values.device)
        values[number, places[1][of_row]] = moved
    return values


def on_host(k: int | Tensor, rows: int) -> np.ndarray:
    """Return the number of each row, int64 [rows, 1]."""
    return np.full((rows, 1), k) if isinstance(k, int) else k.numpy(force=True).reshape(-1, 1)


def _order(rows: np.ndarray, seats: int, scale: float) -> list[int]:
    """Return 1 for rows of the top `seats` at the scale, -1 for others, 0 for those that tie across the cut."""
    from rws_theory.selection import same_at_every_scale, selection_path  # here, as few decodes come to need FLINT

    chosen = set(selection_path(rows, seats, scale, scale).pieces[0].selected)
    order = [1 if index in chosen else -1 for index in range(len(rows))]
    for group in same_at_every_scale(rows):
        if len({order[index] for index in group}) == 2:
            for index in group:
                order[index] = 0
    return order
