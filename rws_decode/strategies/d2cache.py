"""d2Cache's certainty prior (Jiang et al. 2025): confidence weighed by how much of the neighbourhood is known."""

from __future__ import annotations

from dataclasses import dataclass

from rws_decode.common.later import Tensor, torch
from rws_decode.strategies.counted import Counted
from rws_decode.strategies.numbers import number
from rws_decode.strategies.protocol import MaskedPositions
from rws_theory.checks import finite

__all__ = ["CertaintyPrior"]


@dataclass(frozen=True, repr=False)
class CertaintyPrior(Counted):
    r"""The positions of largest P_i D_i first: D_i = sum_j K(i - j) known_j / sum_j K(i - j), K(d) = exp(-d^2 / 2 s^2).

    P_i is the confidence under the scaled logits, D_i the density of known positions around i: those committed, and as
    many as the answer has before it, where the prompt stands; after it as many, known once the answer's last position
    is. sigma: s, positive, in tokens; a small one writes near to what is written, a large one goes by confidence alone.
    The authors' code divides by one sum for all positions; its order can be another where s is above a quarter of the
    answer.

    >>> odds, at = torch.tensor([2.0, 2.0], dtype=torch.float64), torch.tensor([1, 3])
    >>> masked = torch.tensor([[False, True, True, True]])
    >>> view = MaskedPositions(1, 1, 4, at * 0, at, masked=masked, log_odds=odds)
    >>> near, far = CertaintyPrior(1.0).order(view).tolist()
    >>> near > far
    True
    """

    sigma: float = number("how far a known word is near", metavar="TOKENS", usual=8.0)
    name = "certainty-prior"
    sensitivity = 0.5  # a probability moves by at most 1 / 4 of its log-odds, which move by 2

    def __post_init__(self) -> None:
        super().__post_init__()
        finite("sigma", self.sigma, above=0)

    def order(self, view: MaskedPositions) -> Tensor:
        """Return the confidence times the density of each position, float64 [N]."""
        n = view.length
        known = (~view.masked).double()
        after = known[:, -1:].expand(-1, n)
        known = torch.cat([torch.ones_like(known), known, after], dim=1)  # [B, 3 n]
        place = torch.arange(3 * n, dtype=torch.float64, device=known.device)
        kernel = torch.exp(-((place[n : 2 * n, None] - place) ** 2) / (2 * self.sigma**2))  # [n, 3 n]
        density = (known @ kernel.T) / kernel.sum(dim=1)
        return torch.sigmoid(view.log_odds) * density[view.row, view.position]
