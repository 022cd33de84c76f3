"""The Info-Gain Sampler (Yang et al. 2026, arXiv 2602.18176): what a commit costs, against what it tells."""

from __future__ import annotations

from dataclasses import dataclass

from rws_decode.common.later import Tensor, torch
from rws_decode.strategies.counted import entropies
from rws_decode.strategies.lookahead import Lookahead, Tried, gumbel
from rws_decode.strategies.protocol import MaskedPositions
from rws_theory.checks import finite

__all__ = ["InformationGain"]


@dataclass(frozen=True, repr=False)
class InformationGain(Lookahead):
    r"""Commit the set of largest J(a) = IG(a) - C(a): C = sum_{i in a} H_i, IG = mean H now - mean H after a.

    H_i is the entropy of position i, in nats, under the scaled logits; the means are over all masked positions of the
    answer, before and after the candidates of a are filled in. The mean now is the same for all sets and is left out.
    Each set after the first is drawn without replacement in proportion to exp(P_i / position_temperature), P_i the
    confidence. hypotheses: sets tried at a step, the paper's N (8 in its experiments); each costs a forward.

    Left out of the authors' code: its key-value cache, its filling a block at once where all are certain, a token drawn
    anew for each set, and the winner's forward as that of the next step, which would spare one forward a step.

    >>> InformationGain(8)
    InformationGain(hypotheses=8, seed=0, position_temperature=0.2)
    """

    position_temperature: float = 0.2
    name = "information-gain"

    def __post_init__(self) -> None:
        super().__post_init__()
        finite("position_temperature", self.position_temperature, above=0)

    def proposals(self, view: MaskedPositions) -> Tensor:
        """Return the confidence over the temperature plus Gumbel noise, [hypotheses - 1, N]."""
        noise = gumbel(self.uniform(view, self.hypotheses - 1, view.length, 0))
        return torch.sigmoid(view.log_odds) / self.position_temperature + noise[view.row, :, view.position].T

    def score(self, view: MaskedPositions, tried: Tried) -> Tensor:
        """Return J of each set but for the mean entropy now, float64 [H]."""
        now = torch.zeros(view.rows, view.length, dtype=torch.float64, device=view.row.device)
        now[view.row, view.position] = entropies(view.logits, view.scale)
        return -(now[tried.row] * tried.chosen).sum(dim=1) - tried.left
