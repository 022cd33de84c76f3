"""LoPA: commit what is sure enough, and the one more of which most is known afterwards."""

from __future__ import annotations

from dataclasses import dataclass

from rws_decode.common.later import Tensor, torch
from rws_decode.strategies.counted import Counted, entropies, least_odds, ranks_in_rows
from rws_decode.strategies.numbers import number
from rws_decode.strategies.protocol import MaskedPositions
from rws_theory.checks import whole


@dataclass(frozen=True, repr=False)
class LoPA(Counted):
    threshold: float = number(
        "the least probability of what is committed", metavar="P", usual=0.9, range="between 0 and 1"
    )
    hypotheses: int = 3
    name = "lopa"

    def __post_init__(self) -> None:
        super().__post_init__()
        least_odds(self.threshold)
        whole("hypotheses", self.hypotheses, example="3")

    def choose(self, view: MaskedPositions) -> Tensor:
        sure = -entropies(view.logits, view.scale)
        anchor = view.log_odds > least_odds(self.threshold)
        none = torch.zeros(view.rows, dtype=torch.bool, device=anchor.device).index_put((view.row,), anchor, accumulate=True)
        order, rank = ranks_in_rows(sure, view.row)
        first = torch.empty_like(anchor).index_put((order,), rank == 0)
        anchor = anchor | (first & ~none[view.row])
        if bool(view.leeway.any()):
            return anchor
        order, rank = ranks_in_rows(sure.masked_fill(anchor, -torch.inf), view.row)
        place = torch.empty_like(rank).index_put((order,), rank)
        rows, at = view.row.unique(return_inverse=True)
        sets = torch.stack([anchor | (place == j) for j in range(self.hypotheses - 1)] + [anchor])  # [h, N]
        table = torch.zeros(len(sets), len(rows), view.length, dtype=torch.bool, device=at.device)
        table[:, at, view.position] = sets
        which = torch.arange(len(rows), device=at.device).repeat_interleave(len(sets))
        numb = torch.arange(len(sets), device=at.device).repeat(len(rows))
        chosen = table[numb, which]
        scale = view.scale.new_ones(len(rows)).index_put((at,), view.scale)[which]
        left = (view.masked[rows[which]] & ~chosen).sum(dim=1).clamp(min=1)
        mean = view.look(rows[which], chosen, scale).sum(dim=1) / left
        best = mean.reshape(len(rows), len(sets)).argmin(dim=1)
        return sets[best[at], torch.arange(len(at), device=at.device)]
