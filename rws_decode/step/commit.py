"""Step 4: rank the block's positions under their factors, commit the first k, and count what rounding did."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from rws_decode.settings import Options
from rws_decode.step.cut import select_deferring, select_top, select_topk
from rws_decode.step.exact_cut import exact_at_the_cut
from rws_decode.step.order import dtype_of, rank_values
from rws_decode.step.rounding import near_ties, saturated, value_range
from rws_decode.strategies.protocol import OrderStrategy, Strategy, order_of, sensitivity_of

if TYPE_CHECKING:
    from rws_decode.step.step import Completion

__all__ = ["Choice", "commit"]


class Choice(NamedTuple):
    """What a step commits, and its order, as `trace.Trace` describes the fields: [b, n], then [b]."""

    value: Tensor
    chosen: Tensor
    ties: Tensor
    saturated: Tensor
    inexact: Tensor
    near_ties: Tensor


def commit(strategy: Strategy, completion: Completion, factor: Tensor, answer: Tensor, options: Options) -> Choice:
    """Choose the `completion.commits` positions of each row that go first, in the order that the options ask for.

    factor: float64, one for each prompt of the decode; answer: int64 [b, n], the canvas columns of the answers.
    Log-odds in float64 are settled exactly where float64 cannot tell positions at the cut apart (`exact_cut`).
    ValueError for a factor that is not positive, or an order of another shape or with NaN.
    """
    view, logits, k = completion.view, completion.published, completion.commits
    places, eligible, deferred = (completion.row, view.position), completion.block, completion.deferred
    scale = factor.to(logits.device)[view.row]
    dtype = dtype_of(options.precision, logits)

    def grid(values: Tensor) -> Tensor:
        return torch.zeros_like(answer, dtype=values.dtype).index_put(places, values)

    exact = rank_values(logits, view.candidate, scale)
    if isinstance(strategy, OrderStrategy):
        value = order_of(strategy, view)
        reach = sensitivity_of(strategy) * completion.error
        low, high = value - reach, value + reach
    else:
        exact = exact_at_the_cut(grid(exact), logits, scale, places, eligible, deferred, k)[places]
        as_they_are = options.ranking == "log-odds" and dtype == torch.float64
        value = exact if as_they_are else rank_values(logits, view.candidate, scale, options.ranking, options.precision)
        low, high = value_range(exact, logits, completion.error, scale, options.ranking, dtype)

    select = select_top
    if options.ranking == "topk":
        select = partial(select_topk, columns=answer, width=completion.width, dtype=dtype)
    chosen, ties = select_deferring(select, grid(value), eligible, deferred, k)
    inexact = torch.zeros_like(ties, dtype=torch.bool)
    if value is not exact and not isinstance(strategy, OrderStrategy):
        best = select_deferring(select_top, grid(exact), eligible, deferred, k)
        inexact = (best.chosen != chosen).any(dim=1)
    by_odds = isinstance(strategy, OrderStrategy) or options.ranking == "log-odds"
    return Choice(
        value=grid(value),
        chosen=chosen,
        ties=ties,
        saturated=grid(saturated(exact, "log-odds", dtype) if by_odds else value == 1).sum(dim=1),
        inexact=inexact,
        near_ties=near_ties(grid(low), grid(high), eligible, chosen, deferred),
    )
