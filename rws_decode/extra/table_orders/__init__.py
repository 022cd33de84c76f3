"""Orders by a table that Python gives: confidence calibrated by the frequencies of words (PC-Sampler), or the truth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from rws_decode.common.later import NDArray, Tensor, np, torch
from rws_decode.strategies.counted import Counted
from rws_decode.strategies.numbers import checked
from rws_decode.strategies.protocol import Abilities, MaskedPositions


@dataclass(frozen=True, repr=False, eq=False)
class Calibrated(Counted):
    r"""The positions of largest exp(-lambda i) min(-P_i log q(x_i), alpha) first.

    P_i is the confidence of the candidate x_i under the scaled logits, q(x_i) its frequency in a corpus: frequent
    tokens say little, and wait. i is the position in the answer, from 0. frequency: q, float64 [V], positive
    (`token_frequencies`); decay: lambda, at least 0; limit: alpha, positive, in nats. The authors' alpha is 10, their
    lambda 0 to 0.5 by task.

    >>> odds, at = torch.tensor([2.0, 1.0], dtype=torch.float64), torch.tensor([0, 1])
    >>> view = MaskedPositions(0, 1, 2, at * 0, at, torch.zeros(2, 2), candidate=torch.tensor([0, 1]), log_odds=odds)
    >>> Calibrated(np.array([0.9, 0.1])).order(view).round(decimals=3).tolist()
    [0.093, 1.683]
    """

    frequency: NDArray[np.float64]
    decay: float = checked(0.0, least=0, example="0.25")
    limit: float = checked(10.0, above=0)
    name = "calibrated"

    @property
    def abilities(self) -> Abilities:
        # A probability moves by 1 / 2 per logit at most, times the rarest token's surprise.
        return replace(Counted.abilities, sensitivity=0.5 * float(-np.log(np.min(self.frequency))))

    def __post_init__(self) -> None:
        super().__post_init__()
        values = np.asarray(self.frequency)
        if values.ndim != 1 or not (np.isfinite(values).all() and (values > 0).all()):
            raise ValueError("frequency must be positive numbers, one for each token: token_frequencies gives them")

    def order(self, view: MaskedPositions) -> Tensor:
        if view.logits.shape[1] > len(self.frequency):
            raise ValueError(f"frequency has {len(self.frequency)} tokens: the model has {view.logits.shape[1]}")
        surprise = -torch.log(torch.from_numpy(np.asarray(self.frequency, np.float64)))[view.candidate.cpu()]
        calibrated = torch.sigmoid(view.log_odds) * surprise.to(view.log_odds.device)
        return torch.exp(-self.decay * view.position.double()) * calibrated.clamp(max=self.limit)


def token_frequencies(texts: Iterable[Sequence[int]], vocabulary: int) -> NDArray[np.float64]:
    """Return the frequency of each token in texts of ids, float64 [vocabulary].

    Each token counts once more, so that no frequency is 0. ValueError for ids out of range.

    >>> token_frequencies([[0, 0, 1]], 3).round(3).tolist()
    [0.5, 0.333, 0.167]
    """
    counts = np.ones(vocabulary)
    for index, text in enumerate(texts):
        ids = np.asarray(text, dtype=np.int64)
        if ids.size and not (ids.min() >= 0 and ids.max() < vocabulary):
            raise ValueError(f"texts[{index}] holds the id {ids.max()}: ids 0 to {vocabulary - 1} are needed")
        counts += np.bincount(ids, minlength=vocabulary)
    return counts / counts.sum()


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
