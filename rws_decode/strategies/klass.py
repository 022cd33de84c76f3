"""KLASS (Kim et al. 2025, arXiv 2511.05664): the positions that are confident and whose prediction has come to rest."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from rws_decode.common.later import Tensor, torch
from rws_decode.strategies.counted import Counted, least_odds
from rws_decode.strategies.numbers import number
from rws_decode.strategies.protocol import MaskedPositions
from rws_theory.checks import finite, whole

__all__ = ["Klass"]


@dataclass(frozen=True, repr=False)
class Klass(Counted):
    r"""Commit all positions of probability tau or more whose distribution moved by less than eps in the last steps.

    It moved by KL(p_t || p_{t-1}), p = softmax(c z) with the present factor c; `rest` steps in turn must stay below
    `divergence`, eps in nats. Where no position is both, the most confident one goes. The first `rest` steps of a
    decode commit one position each; a later block is compared with the steps before it, where the authors' code waits
    in each block. threshold: tau. Their code's own values are 0.9, 0.01 and 2; their scripts for LLaDA have tau from
    0.6 to 0.9 and eps from 0.01 to 0.015, with a step for each token.

    >>> z = torch.tensor([[0.0, 5.0], [0.0, 5.0]], dtype=torch.float64)
    >>> moved = torch.tensor([[0.0, 5.0], [0.0, 1.0]], dtype=torch.float64)
    >>> zero, at = torch.zeros(2, dtype=torch.float64), torch.tensor([0, 1])
    >>> view = MaskedPositions(2, 1, 2, at * 0, at, z, at * 0 + 1, log_odds=z[:, 1], scale=zero + 1, leeway=zero)
    >>> Klass(0.9).choose(view._replace(before=(z, z))), Klass(0.9).choose(view._replace(before=(z, moved)))
    (tensor([True, True]), tensor([ True, False]))
    """

    threshold: float = number("the least probability of what is committed", metavar="P", usual=0.9)
    divergence: float = 0.01
    rest: int = 2
    name = "klass"

    def __post_init__(self) -> None:
        super().__post_init__()
        least_odds(self.threshold)
        finite("divergence", self.divergence, above=0)
        whole("rest", self.rest, example="2")

    @property
    def memory(self) -> int:
        """How many steps back the logits are needed."""
        return self.rest

    def choose(self, view: MaskedPositions) -> Tensor:
        """Return the positions that are confident and at rest, bool [N]; none before `rest` steps are done."""
        chosen = view.log_odds >= least_odds(self.threshold)
        if len(view.before) < self.rest:
            return torch.zeros_like(chosen)
        steps = [_log_p(logits, view.scale) for logits in (view.logits, *view.before)]
        for now, before in pairwise(steps):
            p = now.exp()
            moved = torch.where(p > 0, p * (now - before), 0.0).sum(dim=-1)
            chosen &= moved < self.divergence
        return chosen


def _log_p(logits: Tensor, scale: Tensor) -> Tensor:
    return (logits.double() * scale[:, None]).log_softmax(dim=-1)
