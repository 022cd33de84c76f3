"""What the strategies that revise share: numbers of each row, and the first of each row by a value."""

from __future__ import annotations

from rws_decode.common.later import Tensor, torch
from rws_decode.strategies.protocol import CommittedPositions


def in_rows(holds: Tensor, row: Tensor, rows: int) -> Tensor:
    """Return in how many positions of each row a condition holds, int64 [rows]. holds: bool [N]; row: int64 [N].

    >>> in_rows(torch.tensor([True, False, True]), torch.tensor([0, 0, 2]), 3).tolist()
    [1, 0, 1]
    """
    return torch.zeros(rows, dtype=torch.int64, device=row.device).index_add(0, row, holds.long())


def first_in_rows(value: Tensor, count: Tensor, view: CommittedPositions) -> Tensor:
    """Return the committed positions of least value, as many as `count` says, int64 [rows]; of equals the rightmost.

    value: [M]; the answer is bool [M].

    >>> from rws_decode.strategies.protocol import MaskedPositions
    >>> at, one = torch.tensor([0, 1, 2]), torch.zeros(3, dtype=torch.float64)
    >>> view = CommittedPositions(1, 1, 4, at * 0, at, at, one, at * 0, one, 1, MaskedPositions(1, 1, 4))
    >>> first_in_rows(torch.tensor([0.5, 0.2, 0.5]), torch.tensor([2]), view).tolist()
    [False, True, True]
    """
    order = (-view.position).argsort(stable=True)
    order = order[value[order].argsort(stable=True)]
    order = order[view.row[order].argsort(stable=True)]
    begins = torch.searchsorted(view.row[order], view.row[order])
    rank = torch.arange(len(order), device=order.device) - begins
    return torch.zeros_like(view.row, dtype=torch.bool).index_put((order,), rank < count[view.row[order]])
