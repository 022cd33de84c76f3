"""Best of N, and soft best of N: whole answers drawn, one taken by its reward."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rws_decode.steering.copies import Copies
from rws_decode.steering.ensemble import Ensemble
from rws_decode.steering.protocol import Choice
from rws_decode.steering.weights import draw, log_mean
from rws_decode.strategies.numbers import number
from rws_theory.checks import finite

__all__ = ["BestOf", "SoftBestOf"]


@dataclass(frozen=True)
class BestOf(Copies):
    """Draw N answers and keep the one of most reward, the first among equals (Stiennon et al. 2020, 2009.01325).

    Its law is at most ln N - (N - 1) / N nats from that of one draw (KL divergence; Beirami et al. 2024, 2401.01879).
    Each answer costs a decode and a reward call. n: N, at least 1. ValueError for another.
    """

    name = "best-of"

    def run(self, ensemble: Ensemble) -> Choice:
        """Decode to the end; take the largest reward."""
        while ensemble.unfinished:
            ensemble.step()
        return Choice(ensemble.values().argmax(axis=1))


@dataclass(frozen=True)
class SoftBestOf(Copies):
    """Draw N answers and keep one with probability proportional to exp(beta R) (Verdun et al. 2025, 2505.03156).

    As N grows its law tends to the tilt p exp(beta R) / Z, p the law of one draw. Each answer costs a decode and a
    reward call. n: N, at least 1; beta: per unit of the raw reward, finite. ValueError for others.
    """

    beta: float = number("weight of the raw reward", metavar="B", default=1.0)
    name = "soft-best-of"

    def __post_init__(self) -> None:
        super().__post_init__()
        finite("beta", self.beta)

    def run(self, ensemble: Ensemble) -> Choice:
        """Decode to the end; draw by the rewards. The mean of exp(beta R) estimates Z without bias."""
        while ensemble.unfinished:
            ensemble.step()
        weights = self.beta * ensemble.values()
        copy = np.array([draw(row, rng) for row, rng in zip(weights, ensemble.rngs, strict=True)])
        return Choice(copy, log_mean(weights))
