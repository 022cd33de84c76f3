"""An order that knows the answer: what the best choice of positions could do, where a truth is at hand."""

from __future__ import annotations

from dataclasses import dataclass

from rws_decode.common.later import NDArray, Tensor, np, torch
from rws_decode.strategies.counted import Counted
from rws_decode.strategies.protocol import MaskedPositions

__all__ = ["OracleOrder"]


@dataclass(frozen=True, repr=False, eq=False)
class OracleOrder(Counted):
    """The positions whose candidate is the true token first, the most confident of them first; then the others.

    No decoder can have it: it shows what order alone could do at most when it takes one step at a time. truth: int64
    [n], or one row for each prompt, [B, n].

    >>> odds, at = torch.tensor([2.0, 1.0], dtype=torch.float64), torch.tensor([0, 1])
    >>> view = MaskedPositions(0, 1, 2, at * 0, at, candidate=torch.tensor([5, 6]), log_odds=odds)
    >>> OracleOrder(np.array([4, 6])).order(view).argmax().item()
    1
    """

    truth: NDArray[np.int64]
    name = "oracle-order"

    def __post_init__(self) -> None:
        super().__post_init__()
        values = np.asarray(self.truth)
        if values.ndim not in (1, 2) or values.dtype.kind != "i":
            raise ValueError(
                f"truth is {values.dtype} {values.shape}: the answer's token ids, [n] or [rows, n], are needed"
            )

    def order(self, view: MaskedPositions) -> Tensor:
        """Return the confidence of each position, and 2 more where its candidate is true, float64 [N]."""
        table = np.broadcast_to(np.asarray(self.truth), (view.rows, np.asarray(self.truth).shape[-1]))
        if table.shape[1] != view.length:
            raise ValueError(f"truth has {table.shape[1]} tokens: the answer has {view.length}")
        true = torch.from_numpy(table.copy()).to(view.candidate.device)[view.row, view.position]
        return torch.sigmoid(view.log_odds) + 2.0 * (view.candidate == true)
