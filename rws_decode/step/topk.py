"""The choice of public decoders: `torch.topk` over the canvas, whose ties are PyTorch's affair."""

from __future__ import annotations

import torch
from torch import Tensor

from rws_decode.step.cut import Selection, select_top

__all__ = ["select_topk"]


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
