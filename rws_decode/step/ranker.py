"""One step's order: the strategy's factor or own values, the positions chosen by them, and what rounding did."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rws_decode.canvas.end_of_text import EndOfText, deferred_positions
from rws_decode.step.exact_cut import exact_at_the_cut
from rws_decode.step.order import Precision, Ranking, dtype_of, rank_values, select_deferring, select_top, select_topk
from rws_decode.step.rounding import near_ties, saturated, value_range
from rws_decode.strategies.protocol import MaskedPositions, OrderStrategy, Strategy

__all__ = ["Ranked", "Ranker"]


class Ranked(NamedTuple):
    """A step of a batch, as `trace.Trace` describes its fields: [B, n], or [B]."""

    factor: NDArray[np.float64]
    value: Tensor
    chosen: Tensor
    ties: Tensor
    saturated: Tensor
    inexact: Tensor
    near_ties: Tensor


class Ranker:
    """Ranks the masked positions of a block and chooses among them, step by step.

    width: the number of canvas columns, which `torch.topk` sees; ending: the end-of-text ids that the policy defers.
    """

    def __init__(
        self,
        strategy: Strategy,
        ranking: Ranking,
        precision: Precision,
        policy: EndOfText,
        ending: Sequence[int],
        width: int,
    ) -> None:
        self.strategy = strategy
        self.ranking: Ranking = ranking
        self.precision: Precision = precision
        self.policy = policy
        self.ending = ending
        self.width = width

    def rank(
        self, view: MaskedPositions, logits: Tensor, error: Tensor, k: int, live: Tensor, row: Tensor, answer: Tensor
    ) -> Ranked:
        """Return values, the k positions chosen in each of b rows, and the counts.

        logits: [N, V], those that are ranked; error: [N], how uncertain they are (`rounding.logit_error`); live: int64
        [b], which of the view's rows these are; row: int64 [N], which of these b each position belongs to; answer:
        int64 [b, n], the canvas columns of their answers.

        ValueError for a strategy whose factor is not positive, or whose order has another shape or holds NaN.
        """
        place, strategy = (row, view.position), self.strategy
        dtype = dtype_of(self.precision, logits)
        own = isinstance(strategy, OrderStrategy)
        factor = np.ones(view.rows) if own else np.asarray(strategy.factor(view), np.float64)
        if factor.shape not in ((), (view.rows,)):
            raise ValueError(
                f"strategy {strategy.name} gives factors of shape {factor.shape}: one for each of {view.rows} rows "
                "is needed"
            )
        factor = np.broadcast_to(factor, view.rows)
        scale = torch.from_numpy(factor.copy()).to(logits.device)[view.row]
        grid = torch.zeros_like(answer, dtype=torch.float64)
        eligible = torch.zeros_like(answer, dtype=torch.bool).index_put(place, torch.ones_like(place[0]).bool())
        deferred = eligible.index_put(place, deferred_positions(view.candidate, self.policy, self.ending))
        exact = rank_values(logits, view.candidate, scale)
        if own:
            value = self._own_values(strategy, view)
            reach = getattr(strategy, "sensitivity", 2.0) * error
            low, high = value - reach, value + reach
        else:
            sorted_out = exact_at_the_cut(grid.index_put(place, exact), logits, scale, place, eligible, deferred, k)
            exact = sorted_out[place]
            known = self.ranking == "log-odds" and dtype == torch.float64
            value = exact if known else rank_values(logits, view.candidate, scale, self.ranking, self.precision)
            low, high = value_range(exact, logits, error, scale, self.ranking, dtype)

        values = grid.index_put(place, value)
        pick = select_top
        if self.ranking == "topk":
            pick = partial(select_topk, columns=answer, width=self.width, dtype=dtype)
        chosen, ties = select_deferring(pick, values, eligible, deferred, k)
        inexact = torch.zeros_like(ties, dtype=torch.bool)
        if not own and value is not exact:
            best = select_deferring(select_top, grid.index_put(place, exact), eligible, deferred, k)
            inexact = (best.chosen != chosen).any(dim=1)
        full = saturated(exact, "log-odds", dtype) if own or self.ranking == "log-odds" else value == 1
        return Ranked(
            factor=factor[live.cpu().numpy()],
            value=values,
            chosen=chosen,
            ties=ties,
            saturated=eligible.index_put(place, full).sum(dim=1),
            inexact=inexact,
            near_ties=near_ties(grid.index_put(place, low), grid.index_put(place, high), eligible, chosen, deferred),
        )

    @staticmethod
    def _own_values(strategy: OrderStrategy, view: MaskedPositions) -> Tensor:
        value = torch.as_tensor(strategy.order(view), device=view.position.device)
        if value.shape != view.position.shape:
            raise ValueError(
                f"strategy {strategy.name} gives an order of shape {tuple(value.shape)}: one number for each of the "
                f"{len(view.position)} positions is needed"
            )
        if bool(value.isnan().any()):
            raise ValueError(f"strategy {strategy.name} gives NaN at step {view.step}: NaN has no rank")
        return value.double()
