"""Step 4: rank the block's positions under their factors, and commit the first k; the leftmost of equals first."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from rws_decode.canvas.end_of_text import PUBLISHED
from rws_decode.settings import Options
from rws_decode.step import rounding
from rws_decode.step.confidence import dtype_of, rank_values
from rws_decode.step.forward import Completion
from rws_decode.strategies.protocol import OrderStrategy, Strategy, order_of, sensitivity_of


class Choice(NamedTuple):
    """What a step commits, and its order, as `trace.Trace` describes the fields: [b, n], then [b]."""

    value: Tensor
    chosen: Tensor
    unscaled: Tensor
    ties: Tensor
    saturated: Tensor
    inexact: Tensor
    near_ties: Tensor


def commit(strategy: Strategy, completion: Completion, factor: Tensor, answer: Tensor, options: Options) -> Choice:
    """Choose the positions of each row that go first, in the order that the options ask for.

    They are `completion.commits`, or those that a strategy counts or chooses (`counting.Count`).
    factor: float64, one for each prompt of the decode; answer: int64 [b, n], the canvas columns of the answers.
    Log-odds in float64 are settled exactly where float64 cannot tell positions at the cut apart
    (`rounding.exact_at_the_cut`).
    ValueError for a factor that is not positive, or an order of another shape or with NaN.
    """
    view, logits = completion.view, completion.published
    odds = options.ranking == "log-odds"
    places, eligible = (completion.row, view.position), completion.block
    scale = factor.to(logits.device)[view.row]
    dtype = dtype_of(options.precision, logits)
    # The published loop gives what waits confidence 0, and has one torch.topk for all.
    at_once = options.end_of_text == PUBLISHED and options.ranking == "topk"

    def grid(values: Tensor) -> Tensor:
        return torch.zeros_like(answer, dtype=values.dtype).index_put(places, values)

    def confidence(factors: Tensor) -> tuple[Tensor, Tensor, int | Tensor, Tensor]:
        """Return exact log-odds at these factors, what the options rank by, how many go, and which wait."""
        exact = value = rank_values(logits, view.candidate, factors)
        if not odds or dtype != torch.float64:
            value = rank_values(logits, view.candidate, factors, options.ranking, options.precision)
        if at_once:
            value = value.masked_fill(completion.deferred[places], 0.0)
        k, deferred = completion.commits, completion.deferred
        if not isinstance(k, int):
            k, waits = k.of(value, odds, factors)
            deferred = deferred if waits is None else deferred | grid(waits)
        settled = rounding.exact_at_the_cut(grid(exact), logits, factors, places, eligible, deferred, k)[places]
        return settled, settled if value is exact else value, k, deferred

    exact, value, k, deferred = confidence(scale)
    # What the scale, or the strategy's own order, changes: confidence at factor 1 would commit these.
    plain = (value, k, deferred) if bool((scale == 1).all()) else confidence(torch.ones_like(scale))[1:]
    ranked = value
    if isinstance(strategy, OrderStrategy):
        value = order_of(strategy, view._replace(scale=scale, log_odds=exact))
        reach = sensitivity_of(strategy) * completion.error * scale
        low, high = value - reach, value + reach
    else:
        low, high = rounding.value_range(exact, logits, completion.error, scale, options.ranking, dtype)

    select = select_top
    if options.ranking == "topk":
        select = partial(select_topk, columns=answer, width=completion.width, dtype=dtype)
    none = torch.zeros_like(deferred)
    chosen, ties = select_deferring(select, grid(value), eligible, none if at_once else deferred, k)
    unscaled = chosen
    if plain[0] is not ranked or value is not ranked:
        unscaled = select_deferring(select, grid(plain[0]), eligible, none if at_once else plain[2], plain[1]).chosen
    inexact = torch.zeros_like(ties, dtype=torch.bool)
    if value is not exact and not isinstance(strategy, OrderStrategy):
        best = select_deferring(select_top, grid(exact), eligible, deferred, k)
        inexact = (best.chosen != chosen).any(dim=1)
    near = rounding.near_ties(grid(low), grid(high), eligible, chosen, deferred)
    if not isinstance(completion.commits, int):
        near = torch.maximum(near, completion.commits.uncertain(low, high, odds, scale, completion.error))
    by_odds = isinstance(strategy, OrderStrategy) or odds
    return Choice(
        value=grid(value),
        chosen=chosen,
        unscaled=unscaled,
        ties=ties,
        saturated=grid(rounding.saturated(exact, "log-odds", dtype) if by_odds else value == 1).sum(dim=1),
        inexact=inexact,
        near_ties=near,
    )


class Selection(NamedTuple):
    """The outcome of `select_top`: chosen, bool [B, n]; ties, int64 [B], candidates level with the last chosen one."""

    chosen: Tensor
    ties: Tensor


def select_top(values: Tensor, candidates: Tensor, k: int | Tensor) -> Selection:
    """Choose the k candidates of largest value in each row; among equal values the leftmost goes first.

    The top-k commit of Step 4 of the paper's algorithm, with the tie rule that it leaves open. values: [B, n];
    candidates: bool [B, n]; k: one number or int64 [B], at most the candidates of that row. Guarantee: exact
    comparison of the values given; `ties` counts the candidates equal to the k-th value that did not fit, so it is 0
    exactly where the chosen set does not depend on the tie rule. ValueError for NaN among the candidates' values or
    for a k out of range.

    >>> values = torch.tensor([[0.5, 1.0, 1.0, 1.0, 2.0]])
    >>> select_top(values, torch.tensor([[True, True, True, True, False]]), 2)
    Selection(chosen=tensor([[False,  True,  True, False, False]]), ties=tensor([1]))
    """
    if values.ndim != 2 or values.shape != candidates.shape:
        shapes = f"{tuple(values.shape)} and {tuple(candidates.shape)}"
        raise ValueError(f"values and candidates have shapes {shapes}: one shape [B, n] is needed")
    seats = torch.as_tensor(k, device=values.device).expand(values.shape[0])
    available = candidates.sum(dim=1)
    if bool(((seats < 0) | (seats > available)).any()):
        raise ValueError(
            f"k is {seats.tolist()}: each at least 0 and at most its row's candidates, {available.tolist()}"
        )
    if bool((values.isnan() & candidates).any()):
        raise ValueError("values holds NaN at a candidate: NaN has no rank")
    # Two stable sorts: candidates first, larger values first, leftmost first, even where values are infinite.
    order = torch.argsort(values, dim=1, descending=True, stable=True)
    candidates_first = torch.argsort((~candidates).gather(1, order).to(torch.uint8), dim=1, stable=True)
    order = order.gather(1, candidates_first)
    fits = torch.arange(values.shape[1], device=values.device)[None, :] < seats[:, None]
    chosen = torch.zeros_like(candidates).scatter_(1, order, fits)
    if values.shape[1] == 0:
        return Selection(chosen, torch.zeros_like(seats))
    last = values.gather(1, order.gather(1, (seats - 1).clamp(min=0)[:, None]))
    level = candidates & ~chosen & (values == last)
    return Selection(chosen, torch.where(seats > 0, level.sum(dim=1), 0))


def select_topk(
    values: Tensor, candidates: Tensor, k: int | Tensor, *, columns: Tensor, width: int, dtype: torch.dtype
) -> Selection:
    """Choose the k candidates of largest value in each row by `torch.topk`, as public decoders do.

    What ties break by is PyTorch's affair: it depends on device, dtype and the length of the row, so the confidences
    are laid out as the official LLaDA loop has them, over all `width` columns of the canvas, -inf elsewhere, in
    `dtype`. columns: int64 [B, n], the canvas column of each value; the rest as in `select_top`, whose tie count it
    shares. Guarantee: the same set as `select_top` wherever `ties` is 0 and `dtype` holds the values.

    >>> values = torch.tensor([[0.5, 1.0, 0.25]])
    >>> everywhere, columns = torch.ones(1, 3, dtype=torch.bool), torch.tensor([[4, 5, 6]])
    >>> select_topk(values, everywhere, 1, columns=columns, width=7, dtype=torch.float32).chosen.tolist()
    [[False, True, False]]
    """
    leftmost = select_top(values, candidates, k)
    canvas = torch.full((len(values), width), float("-inf"), dtype=dtype, device=values.device)
    canvas.scatter_(1, columns, values.to(dtype).masked_fill(~candidates, float("-inf")))
    picked = torch.zeros_like(canvas, dtype=torch.bool)
    for row, number in enumerate(leftmost.chosen.sum(dim=1).tolist()):
        picked[row, torch.topk(canvas[row], number).indices] = True
    return Selection(picked.gather(1, columns), leftmost.ties)


def select_deferring(
    select: Callable[[Tensor, Tensor, Tensor], Selection],
    values: Tensor,
    candidates: Tensor,
    deferred: Tensor,
    k: int | Tensor,
) -> Selection:
    """Choose k candidates, those that are `deferred` (bool [B, n]) only once no other is left; by `select` within each.

    `ties` counts those at the cut, which lies in one of the two groups.

    >>> values, everywhere = torch.tensor([[3.0, 2.0, 1.0]]), torch.ones(1, 3, dtype=torch.bool)
    >>> select_deferring(select_top, values, everywhere, torch.tensor([[True, False, False]]), 2).chosen.tolist()
    [[False, True, True]]
    """
    seats = torch.as_tensor(k, device=values.device).expand(values.shape[0])
    if not bool(deferred.any()):
        return select(values, candidates, seats)
    early, late = candidates & ~deferred, candidates & deferred
    now = torch.minimum(seats, early.sum(dim=1))
    first, second = select(values, early, now), select(values, late, seats - now)
    return Selection(first.chosen | second.chosen, first.ties + second.ties)
