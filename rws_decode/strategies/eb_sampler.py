"""EB-Sampler (Ben-Hamu et al. 2025, arXiv 2505.24857): as many positions a step as a bound on entropy allows."""

from __future__ import annotations

from dataclasses import dataclass

from rws_decode.common.later import Tensor, torch
from rws_decode.strategies.counted import Counted, entropies, ranks_in_rows
from rws_decode.strategies.numbers import number
from rws_decode.strategies.orders import Entropy
from rws_decode.strategies.protocol import MaskedPositions
from rws_theory.checks import finite

__all__ = ["EntropyBound"]


@dataclass(frozen=True, repr=False)
class EntropyBound(Counted):
    r"""Commit the largest set, the most confident first, with sum H(p_i) - max H(p_i) <= gamma; at least one.

    H is the entropy, in nats, of each position's distribution under the scaled logits. The bound is on the total
    correlation of the set, what is lost by taking its tokens as independent: sum H(p_i) - H(joint), and the joint
    entropy is at least the largest H(p_i). Public copies of the rule take the least entropy first, or the most
    confident. gamma: at least 0; with 0, more than one position goes only if all but one
    are certain.

    >>> z = torch.tensor([[0.0, 9.0], [0.0, 8.0], [0.0, 0.1]], dtype=torch.float64)
    >>> zero, scaled = torch.zeros(3, dtype=torch.int64), {"scale": torch.ones(3), "leeway": torch.zeros(3)}
    >>> view = MaskedPositions(0, 1, 3, zero, torch.arange(3), z, zero, log_odds=z[:, 1], **scaled)
    >>> [EntropyBound(gamma).count(view).tolist() for gamma in (0.0, 0.01, 1.0)]
    [[1], [3], [3]]
    """

    gamma: float = number("nats of entropy that a step may leave open", metavar="NATS", usual=0.1)
    name = "entropy-bound"

    def __post_init__(self) -> None:
        super().__post_init__()
        finite("gamma", self.gamma, least=0, example="0.1")

    def count(self, view: MaskedPositions) -> Tensor:
        """Return how many positions of each row go, int64 [rows]."""
        order, rank = ranks_in_rows(view.log_odds, view)
        entropy = (entropies(view.logits, view.scale) - Entropy.sensitivity * view.leeway).clamp(min=0)
        width = int(rank.max()) + 1 if len(rank) else 1
        grid = torch.full((view.rows, width), torch.inf, dtype=torch.float64, device=rank.device)
        grid = grid.index_put((view.row[order], rank), entropy[order])
        bound = grid.cumsum(dim=1) - grid.cummax(dim=1).values
        return (bound <= self.gamma).sum(dim=1)
