"""Step 4: rank the block's positions under their factors, and choose the first k; the leftmost of equals first."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from rws_decode.canvas.end_of_text import Ends
from rws_decode.settings import Options, Precision, Ranking
from rws_decode.step.completion import Completion, Ranked
from rws_decode.step.rounding import exact_at_the_cut, in_parts, on_host

_CHUNK = 2**15  # float64 numbers that stay in a core's cache while several operations pass over them


def dtype_of(precision: Precision, own: torch.dtype) -> torch.dtype:
    """Return the dtype that a precision names; "model" is the logits' own."""
    return own if precision == "model" else getattr(torch, precision)


def rank_values(
    logits: Tensor,
    token: Tensor,
    factor: Tensor | float,
    ranking: Ranking = "log-odds",
    precision: Precision = "float64",
) -> Tensor:
    """Return the confidence of `token` under the logits times `factor`, by which positions are ranked; float64 [N].

    Step 4 of the paper's algorithm. With scaled logits c z and chosen token t, "probability" and "topk" are
    softmax(c z)_t, computed throughout in `precision` (the scalar itself is applied as PyTorch applies a Python
    number), as public decoders do: it reaches exactly 1 once c times the top-two margin passes about 6 in bfloat16,
    17 in float32. "log-odds" is logit(softmax(c z)_t) = -logsumexp_{k != t} c (z_k - z_t): the same order, as logit
    is increasing, but it never saturates at finite logits; with delta the lead of t over the next token it is within
    4 eps (c |delta| + log V) of the exact value, eps that of `precision` (2^-52 in float64) and logits that it holds.

    logits: [N, V], any floating dtype; -inf marks a token that cannot be committed. token: int64 [N]. factor:
    positive, one number or [N]; ValueError for others. Returns +inf log-odds where no other token is possible.

    >>> z = torch.tensor([[0.0, 1.0, 3.0], [0.0, 30.0, 60.0]])
    >>> best = z.argmax(-1)
    >>> rank_values(z, best, 2.0).round(decimals=4).tolist()
    [3.8731, 60.0]
    >>> rank_values(z, best, 8.0, "probability", "float32").tolist()
    [0.9999998807907104, 1.0]
    """
    scale = torch.as_tensor(factor, dtype=torch.float64, device=logits.device).expand(logits.shape[0])
    if not all(0 < float(end) < torch.inf for end in (scale.aminmax() if scale.shape[0] else ())):
        raise ValueError(f"factor is {factor}: it must be positive and finite")
    return _values(logits, token, scale, ranking, dtype_of(precision, logits.dtype))


def _values(logits: Tensor, token: Tensor, scale: Tensor, ranking: Ranking, dtype: torch.dtype) -> Tensor:
    # PyTorch multiplies a bfloat16 tensor by a Python number in float32 and rounds once; do the same per row.
    scale = scale if dtype == torch.float64 else scale.float()
    long = logits.device.type == "cpu" and logits.shape[1] > 2 * _CHUNK
    if long and ranking == "log-odds" and dtype == torch.float64:
        return _long_log_odds(logits, token, scale)
    parts = [rank_rows(z, t, c, ranking, dtype) for z, t, c in in_parts(logits, token, scale)]
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def rank_rows(logits: Tensor, token: Tensor, factor: Tensor, ranking: Ranking, dtype: torch.dtype) -> Tensor:
    """Return `rank_values` of all rows at once, unchecked. factor: [N], in the dtype of scaling."""
    picked = token[:, None]
    # The product is in the wider of the two dtypes, that of scaling.
    if ranking != "log-odds":
        scaled = (logits.to(dtype) * factor[:, None]).to(dtype)
        return torch.softmax(scaled, dim=-1).gather(1, picked)[:, 0].double()
    gaps = logits.to(dtype, copy=True)
    gaps -= gaps.gather(1, picked)
    gaps.scatter_(1, picked, float("-inf")).mul_(factor[:, None])
    # In place, the operations of `torch.logsumexp` in their order, hence the same bits.
    top = gaps.amax(dim=-1, keepdim=True).nan_to_num_(torch.nan, 0.0, 0.0)
    total = gaps.sub_(top).exp_().sum(dim=-1)
    return -(total.log_() + top[:, 0]).double()


def _long_log_odds(logits: Tensor, token: Tensor, scale: Tensor) -> Tensor:
    """Return the log-odds that `rank_rows` does, to the bit, of rows longer than a core's cache holds; float64 [N].

    The row's exponentials are made chunk by chunk, and summed as a whole, since the sum's order decides its bits.
    """
    log_odds, powers = torch.empty_like(scale), logits.new_empty(1, logits.shape[1], dtype=torch.float64)
    chunks = powers[0].split(_CHUNK)
    for index, (place, factor) in enumerate(zip(token.tolist(), scale.tolist(), strict=True)):
        row, best = logits[index], float(logits[index, place])
        # Rounding keeps the order: the largest gap is that of the largest other logit.
        second = max(float(side.amax()) for side in (row[:place], row[place + 1 :]) if len(side))
        top = (second - best) * factor
        top = 0.0 if math.isinf(top) else top
        for chunk, part in zip(chunks, row.split(_CHUNK), strict=True):
            chunk.copy_(part).sub_(best)
            if factor != 1:
                chunk.mul_(factor)
            chunk.sub_(top).exp_()
        powers[0, place] = 0.0
        log_odds[index : index + 1] = -(powers.sum(dim=-1).log_() + top)
    return log_odds


def rank(completion: Completion, scale: Tensor, options: Options, ends: Ends) -> Ranked:
    """Return what confidence under factors, float64 [N], says of the positions, exact at the cut."""
    logits, candidate = completion.published, completion.view.candidate
    odds, dtype = options.ranking == "log-odds", dtype_of(options.precision, logits.dtype)
    exact = value = _values(logits, candidate, scale, "log-odds", torch.float64)
    if not odds or dtype != torch.float64:
        value = _values(logits, candidate, scale, options.ranking, dtype)
    if ends.level(options.ranking):
        value = value.masked_fill(completion.view.waits, 0.0)
    deferred, (k, waits) = completion.deferred, completion.commits.of(value, odds, scale)
    if waits is not None:
        waits = completion.grid(waits)
        deferred = waits if deferred is None else deferred | waits
    if deferred is not None and not bool(deferred.any()):
        deferred = None
    # Float64 may not tell the positions on both sides of the cut apart.
    grid, places = completion.grid(exact), (completion.row, completion.view.position)
    settled = exact_at_the_cut(grid, logits, scale, places, completion.block, deferred, k)
    settled = exact if settled is grid else settled[places]
    return Ranked(settled, settled if value is exact else value, k, deferred)


def cut(completion: Completion, ranked: Ranked, value: Tensor, options: Options, ends: Ends) -> Selection:
    """Choose as many positions of largest value as go, those that are deferred only once no other is left."""
    choose: Rule = select_top
    if options.ranking == "topk":
        dtype, canvas = dtype_of(options.precision, completion.published.dtype), completion.canvas
        choose = partial(select_topk, columns=canvas.answer, width=canvas.ids.shape[1], dtype=dtype)
    deferred = None if ends.level(options.ranking) else ranked.deferred
    return select_deferring(choose, completion.grid(value), completion.block, deferred, ranked.k)


class Selection(NamedTuple):
    """The outcome of `select_top`: chosen, bool [B, n]; ties, int64 [B], candidates level with the last chosen one."""

    chosen: Tensor
    ties: Tensor


def select_top(values: Tensor, candidates: Tensor, k: int | Tensor) -> Selection:
    """Choose the k candidates of largest value in each row; among equal values the leftmost goes first.

    The top-k commit of Step 4 of the paper's algorithm, with the tie rule that it leaves open. values: [B, n];
    candidates: bool [B, n]; k: one number or int64 [B], at most the candidates of that row. Guarantee: exact
    comparison of the values given; `ties` counts the candidates equal to the k-th value that did not fit, so it is 0
    exactly where the chosen set does not depend on the tie rule.

    >>> values = torch.tensor([[0.5, 1.0, 1.0, 1.0, 2.0]])
    >>> select_top(values, torch.tensor([[True, True, True, True, False]]), 2)
    Selection(chosen=tensor([[False,  True,  True, False, False]]), ties=tensor([1]))
    """
    value, open_, seats = values.numpy(force=True), candidates.numpy(force=True), on_host(k, len(values))
    row = np.arange(len(value))[:, None]
    # Candidates first, larger values first, leftmost first, even where values are infinite.
    order = np.lexsort((-value, ~open_), axis=-1)
    chosen = np.zeros_like(open_)
    chosen[row, order] = np.arange(value.shape[1]) < seats
    level = open_ & ~chosen & (value == value[row, order[row, np.maximum(seats - 1, 0)]])
    ties = np.where(seats[:, 0] > 0, level.sum(axis=1), 0)
    return Selection(*(torch.from_numpy(each).to(values.device) for each in (chosen, ties)))


def select_topk(
    values: Tensor, candidates: Tensor, k: int | Tensor, *, columns: Tensor, width: int, dtype: torch.dtype
) -> Selection:
    """Choose the k candidates of largest value in each row by `torch.topk`, as public decoders do.

    What ties break by is PyTorch's affair: it depends on device, dtype and the length of the row, so the confidences
    are laid out as the official LLaDA loop has them, over all `width` columns of the canvas, -inf elsewhere, in
    `dtype`. columns: int64 [B, n], the canvas column of each value; the rest as in `select_top`, whose tie count it
    shares. Guarantee: the same set as `select_top` wherever `ties` is 0 and `dtype` holds the values.
    """
    leftmost = select_top(values, candidates, k)
    canvas = torch.full((len(values), width), float("-inf"), dtype=dtype, device=values.device)
    canvas.scatter_(1, columns, values.to(dtype).masked_fill(~candidates, float("-inf")))
    picked = torch.zeros_like(canvas, dtype=torch.bool)
    for row, number in enumerate(leftmost.chosen.sum(dim=1).tolist()):
        picked[row, torch.topk(canvas[row], number).indices] = True
    return Selection(picked.gather(1, columns), leftmost.ties)


Rule = Callable[[Tensor, Tensor, int | Tensor], Selection]  # a way to choose: of values, candidates and k


def select_deferring(
    rule: Rule, values: Tensor, candidates: Tensor, deferred: Tensor | None, k: int | Tensor
) -> Selection:
    """Choose k candidates, those that are `deferred` (bool [B, n], or None) only once no other is left, by `rule`.

    `ties` counts those at the cut, which lies in one of the two groups.
    """
    if deferred is None:
        return rule(values, candidates, k)
    seats = torch.as_tensor(k, device=values.device).expand(values.shape[0])
    early, late = candidates & ~deferred, candidates & deferred
    now = torch.minimum(seats, early.sum(dim=1))
    first, second = rule(values, early, now), rule(values, late, seats - now)
    return Selection(first.chosen | second.chosen, first.ties + second.ties)
