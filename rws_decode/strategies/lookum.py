"""LookUM (Lee et al. 2025, arXiv 2511.05563): lookahead unmasking, paths verified by what they leave uncertain."""

from __future__ import annotations

from dataclasses import dataclass

from rws_decode.common.later import Tensor, torch
from rws_decode.strategies.lookahead import Lookahead, Tried, gumbel, leading
from rws_decode.strategies.protocol import MaskedPositions
from rws_theory.checks import finite, whole

__all__ = ["LookUM"]


@dataclass(frozen=True, repr=False)
class LookUM(Lookahead):
    r"""Commit a set a with weight exp(-U(a) / alpha), U = mean_j H_j after a, over what is masked then.

    H_j is the entropy of position j, in nats, under the scaled logits. Path generator: the first set is the most
    confident one, the others are drawn from the `pool` most confident positions, each subset as likely. Verifier: U,
    the paper's mean negative entropy. Selection: one of the sets, importance-weighted step by step (alpha > 0), or the
    best of them (0). hypotheses: the paper's paths, 2 to 3 in its experiments; each costs a forward. pool: 5 there, and
    never fewer than a step commits.

    Left out: its sequential Monte Carlo, which carries several canvases from step to step, its pool by a threshold of
    confidence, and its verifier by confidence. The paper draws the first set too; its alpha is not known to us.

    >>> LookUM(2)
    LookUM(hypotheses=2, seed=0, pool=5, alpha=0.0)
    """

    pool: int = 5
    alpha: float = 0.0
    name = "lookum"

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("pool", self.pool, example="5")
        finite("alpha", self.alpha, least=0, example="0.1")

    def proposals(self, view: MaskedPositions) -> Tensor:
        """Return uniform numbers within the pool and -inf outside, [hypotheses - 1, N]."""
        assert view.look is not None
        inside = leading(view.log_odds, view, max(self.pool, view.look.commits))
        noise = self.uniform(view, self.hypotheses - 1, view.length, 0)[view.row, :, view.position].T
        return noise.masked_fill(~inside, -torch.inf)

    def score(self, view: MaskedPositions, tried: Tried) -> Tensor:
        """Return minus the mean entropy left, with alpha times Gumbel noise, float64 [H]."""
        if self.alpha == 0:
            return -tried.left
        noise = gumbel(self.uniform(view, self.hypotheses, 1, 1))[tried.row, tried.number, 0]
        return self.alpha * noise - tried.left
