"""Choose one of several answers by its reward: samples (best of N, soft best of N, SVDD), or random orders."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rws_decode.extra.steering.ensemble import Ensemble
from rws_decode.extra.steering.particles import log_mean, sampled, tilting
from rws_decode.extra.steering.protocol import Choice, Copies
from rws_decode.strategies.numbers import finite_or_infinite, number


@dataclass(frozen=True)
class BestOf(Copies):
    """Sample N answers and keep the one of most reward, the first among equals (Stiennon et al. 2020, 2009.01325).

    Its KL divergence from the distribution of one sample is at most ln N - (N - 1) / N nats (Beirami et al. 2024,
    2401.01879).
    """

    name = "best-of"
    about = "the answer of most reward among N draws"

    def reward_calls(self, steps: int) -> int:
        """Return the most texts scored for a prompt: its answers."""
        return self.n

    def run(self, ensemble: Ensemble) -> Choice:
        while ensemble.unfinished:
            ensemble.step()
        return Choice(ensemble.values().argmax(axis=1))


@dataclass(frozen=True)
class BestOrder(BestOf):
    """Decode N answers with the best tokens, each in a random order of its own, and keep the one of most reward.

    Within a greedy step a factor of the logits changes the order alone; this is the reward that N orders can reach.
    Copy 0 is random-order with the prompt's seed. strategy: another with a random order, "random-order+spacing:3".
    """

    name = "best-order"
    about = "the answer of most reward among N random orders, with the best words"
    draws = False
    orders = True


@dataclass(frozen=True)
class SoftBestOf(BestOf):
    """Sample N answers and keep one with probability proportional to exp(beta R) (Verdun et al. 2025, 2505.03156).

    As N grows its distribution tends to p exp(beta R) / Z, p that of one sample.
    """

    beta: float = number("weight of the raw reward", metavar="B", default=1.0)
    name = "soft-best-of"
    about = "one of N draws, each with a probability proportional to exp(beta R)"

    def run(self, ensemble: Ensemble) -> Choice:
        """Decode to the end; sample by the rewards. The mean of exp(beta R) estimates Z without bias."""
        while ensemble.unfinished:
            ensemble.step()
        weights = self.beta * ensemble.values()
        return Choice(sampled(weights, ensemble.rngs), log_mean(weights))


@dataclass(frozen=True)
class SVDD(Copies):
    r"""Sample each step N times from one state; continue one sample, with probability proportional to exp(beta V).

    V is the raw reward of the greedy completion after the step, the posterior-mean value of the paper (SVDD-PM), whose
    alpha is 1 / beta; beta = inf takes the sample of most value. With the exact value function the distribution would
    be p exp(beta R) / Z; with this one it is not, for any number of samples.
    """

    beta: float = number("weight of the raw reward", metavar="B", default=1.0, check=finite_or_infinite)
    name = "svdd"
    about = "each step drawn N times, one draw taken by its value (SVDD)"

    def reward_calls(self, steps: int) -> int:
        """Return the most texts scored for a prompt: one for each sample of each step."""
        return self.n * steps

    def run(self, ensemble: Ensemble) -> Choice:
        chosen = np.zeros(len(ensemble.rngs), np.int64)
        while ensemble.unfinished:
            ensemble.step()
            weights = tilting(ensemble.values(), self.beta)
            chosen = sampled(weights, ensemble.rngs)
            ensemble.resample(np.repeat(chosen[:, None], self.n, axis=1))
        return Choice(np.zeros_like(chosen))
