"""Prophet: commit all that is left once the best tokens lead by enough, by less the further the answer is."""

from __future__ import annotations

from dataclasses import dataclass

from rws_decode.common.later import Tensor, torch
from rws_decode.strategies.counted import Counted, in_rows
from rws_decode.strategies.numbers import number
from rws_decode.strategies.protocol import MaskedPositions
from rws_theory.checks import finite


@dataclass(frozen=True, repr=False)
class Prophet(Counted):
    r"""Commit as the schedule says, and all of a block once the mean gap of its two best scaled logits is large enough.

    gap: that mean, in logits, before 33 % of the answer is committed; two thirds of it suffice before 67 %, one third
    after, what the step commits counted: 7.5, 5 and 2.5 as published (pixeli99/Prophet 460afe4 generate_earlyexit.py
    lines 8-25). Here the gap is that of all masked positions of the block, and each block is done by itself; there it
    is that of five positions where the answer is expected, and all blocks are done at once.

    >>> z = torch.tensor([[0.0, 9.0], [0.0, 7.0]], dtype=torch.float64)
    >>> at, one = torch.arange(2), torch.ones(2, dtype=torch.float64)
    >>> masked = torch.tensor([[True, True, True, True]])
    >>> view = MaskedPositions(0, 1, 4, at * 0, at, z, at, masked=masked, scale=one, leeway=one * 0, commits=1)
    >>> [Prophet(gap).count(view).tolist() for gap in (7.5, 8.5)]
    [[2], [1]]
    """

    gap: float = number("logits by which the two best must differ", metavar="LOGITS", default=7.5, range="above 0")
    name = "prophet"

    def __post_init__(self) -> None:
        super().__post_init__()
        finite("gap", self.gap, above=0)

    def count(self, view: MaskedPositions) -> Tensor:
        """Return how many positions of each row go, int64 [rows]."""
        best = view.logits.topk(min(2, view.logits.shape[-1]), dim=-1).values.double()
        lead = (best[:, 0] - best[:, -1]) * view.scale + 2 * view.leeway  # a gap is of two logits
        left = in_rows(torch.ones_like(view.row, dtype=torch.bool), view.row, view.rows)
        mean = torch.zeros(view.rows, dtype=torch.float64, device=lead.device).index_add(0, view.row, lead) / left
        share = 1 - (view.masked.sum(dim=1) - view.commits) / view.length
        thirds = 3 - (share >= 0.33).int() - (share >= 0.67).int()
        return torch.where(mean >= self.gap * thirds / 3, left, left.clamp(max=view.commits))
