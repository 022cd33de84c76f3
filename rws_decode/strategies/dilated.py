"""DUS: positions in groups that halve their distance from step to step, whatever the logits say."""

from __future__ import annotations

from dataclasses import dataclass

from rws_decode.common.later import Tensor, torch
from rws_decode.strategies.factors import Confidence
from rws_decode.strategies.numbers import check_numbers, number
from rws_decode.strategies.protocol import MaskedPositions


@dataclass(frozen=True)
class Dilated(Confidence):
    """Commit every `stride`-th position of a block, then those between at half the distance, and so on down to 1.

    A block of 32 takes 5 steps with stride 16, half of it, as published (omerlux/DUS abd7723 generate.py, "dilated",
    base 2, nothing masked again; arXiv 2506.19037). Positions are counted from the answer's first, so blocks whose size
    the stride divides all go alike. The authors join a last group that is smaller than the one before it to that one;
    here it stays a step, which matters only where the block is no multiple of the stride.

    >>> at = torch.arange(8)
    >>> view = MaskedPositions(0, 1, 8, at * 0, at)
    >>> Dilated(4).choose(view).nonzero()[:, 0].tolist(), Dilated(4).choose(view._replace(position=at + 1)).sum().item()
    ([0, 4], 2)
    """

    stride: int = number("positions between the first commits", metavar="N", usual=16, least=1)
    name = "dus"
    __post_init__ = check_numbers

    def choose(self, view: MaskedPositions) -> Tensor:
        """Return the positions of each row's first group that is left, bool [N]."""
        group, stride, number_of = torch.full_like(view.position, -1), self.stride, 0
        while stride:
            group = torch.where((group < 0) & (view.position % stride == 0), number_of, group)
            stride, number_of = stride // 2, number_of + 1
        first = torch.full((view.rows,), number_of, device=group.device)
        first = first.scatter_reduce(0, view.row, group, "amin")
        return group == first[view.row]
