"""SVDD (Li et al. 2024, arXiv 2408.08252): each step is drawn several times, and one draw is taken by its value."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rws_decode.steering.copies import Copies
from rws_decode.steering.ensemble import Ensemble
from rws_decode.steering.protocol import Choice
from rws_decode.steering.weights import draw, tilting
from rws_decode.strategies.numbers import number
from rws_theory.checks import finite

__all__ = ["SVDD"]


@dataclass(frozen=True)
class SVDD(Copies):
    r"""Draw each step N times from one state; go on from one draw, taken with probability proportional to exp(beta V).

    V is the raw reward of the greedy completion after the step, the posterior-mean value of the paper (SVDD-PM), whose
    alpha is 1 / beta; beta = inf takes the draw of most value. With the exact value function the law would be the tilt;
    with this one it is not, however many draws there are.

    n: N, at least 1; beta: per unit of the raw reward. ValueError for others.
    """

    beta: float = number("weight of the raw reward", metavar="B", default=1.0)
    name = "svdd"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.beta != math.inf:
            finite("beta", self.beta, example="1.0, or inf")

    def run(self, ensemble: Ensemble) -> Choice:
        """Decode to the end, all copies from one state in each step."""
        chosen = np.zeros(len(ensemble.rngs), np.int64)
        while ensemble.unfinished:
            ensemble.step()
            weights = tilting(ensemble.values(), self.beta)
            chosen = np.array([draw(row, rng) for row, rng in zip(weights, ensemble.rngs, strict=True)])
            ensemble.resample(np.repeat(chosen[:, None], self.n, axis=1))
        return Choice(np.zeros_like(chosen))
