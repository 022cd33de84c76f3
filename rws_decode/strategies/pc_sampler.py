"""PC-Sampler (Huang et al. 2025, arXiv 2508.13021): confidence calibrated by frequency, earlier positions first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rws_decode.common.later import NDArray, Tensor, np, torch
from rws_decode.strategies.counted import Counted
from rws_decode.strategies.protocol import MaskedPositions
from rws_theory.checks import finite

__all__ = ["Calibrated", "token_frequencies"]


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
    decay: float = 0.0
    limit: float = 10.0
    name = "calibrated"

    @property
    def sensitivity(self) -> float:
        """By how much a value moves per logit: a probability by 1 / 2 at most, times the rarest token's surprise."""
        return 0.5 * float(-np.log(np.min(self.frequency)))

    def __post_init__(self) -> None:
        super().__post_init__()
        values = np.asarray(self.frequency)
        if values.ndim != 1 or not (np.isfinite(values).all() and (values > 0).all()):
            raise ValueError("frequency must be positive numbers, one for each token: token_frequencies gives them")
        finite("decay", self.decay, least=0, example="0.25")
        finite("limit", self.limit, above=0)

    def order(self, view: MaskedPositions) -> Tensor:
        """Return the calibrated confidence of each position, float64 [N]."""
        if view.logits.shape[1] > len(self.frequency):
            raise ValueError(f"frequency has {len(self.frequency)} tokens: the model has {view.logits.shape[1]}")
        surprise = -torch.log(torch.from_numpy(np.asarray(self.frequency, np.float64)))[view.candidate.cpu()]
        calibrated = torch.sigmoid(view.log_odds) * surprise.to(view.log_odds.device)
        return torch.exp(-self.decay * view.position.double()) * calibrated.clamp(max=self.limit)


def token_frequencies(texts: Iterable[Sequence[int]], vocabulary: int, pseudo: float = 1.0) -> NDArray[np.float64]:
    """Return the frequency of each token in texts of ids, float64 [vocabulary].

    pseudo: counted for each token, so that no frequency is 0. ValueError for ids out of range.

    >>> token_frequencies([[0, 0, 1]], 3).round(3).tolist()
    [0.5, 0.333, 0.167]
    """
    counts = np.full(vocabulary, float(pseudo))
    for number, text in enumerate(texts):
        ids = np.asarray(text, dtype=np.int64)
        if ids.size and not (ids.min() >= 0 and ids.max() < vocabulary):
            raise ValueError(f"texts[{number}] holds the id {ids.max()}: ids 0 to {vocabulary - 1} are needed")
        counts += np.bincount(ids, minlength=vocabulary)
    return counts / counts.sum()
