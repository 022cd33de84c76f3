"""Simulate how often each interval covers the truth, on data like ours: rare wins and losses, skew, and many zeros.

An interval at 95 % is only worth its name where this share is near 0.95.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp

import numpy as np
from numpy.typing import NDArray

from paper_figures.statistics.intervals import Interval, bootstrap_interval, mean_interval
from paper_figures.statistics.paired_proportions import net_share

Values = NDArray[np.float64]
IntervalMethod = Callable[[Values, np.random.Generator, float, int], Interval]


@dataclass(frozen=True)
class Distribution:
    """A distribution with a known mean: `draw(rng, n)` returns n independent values.

    `outcomes` says that the values are +1, 0 and -1, wins and losses of pairs.
    """

    name: str
    draw: Callable[[np.random.Generator, int], Values]
    mean: float
    outcomes: bool = False


def coverage(
    interval: IntervalMethod, distribution: Distribution, n: int, rng: np.random.Generator, simulations: int
) -> float:
    """Return the share of simulated intervals that hold the true mean; its standard error is sqrt(c (1 - c) / N)."""
    samples = [distribution.draw(rng, n) for _ in range(simulations)]
    ends = [interval(sample, rng, 0.95, 499) for sample in samples]
    return float(np.mean([low <= distribution.mean <= high for _, low, high in ends]))


def _rare(wins: float, losses: float) -> Callable[[np.random.Generator, int], Values]:
    def draw(rng: np.random.Generator, n: int) -> Values:
        return rng.choice([1.0, -1.0, 0.0], size=n, p=[wins, losses, 1 - wins - losses])

    return draw


def _many_zeros(draw: Callable[[np.random.Generator, int], Values]) -> Callable[[np.random.Generator, int], Values]:
    return lambda rng, n: np.where(rng.random(n) < 0.2, draw(rng, n), 0.0)


_SIGMA = 0.7  # of the logarithm: more skewed than the perplexities of the recorded answers, 0.3 to 0.6

DISTRIBUTIONS = (
    Distribution("2 % discordant pairs", _rare(0.015, 0.005), 0.01, outcomes=True),
    Distribution("10 % discordant pairs", _rare(0.07, 0.03), 0.04, outcomes=True),
    Distribution("lognormal, sigma 0.7", lambda rng, n: rng.lognormal(0.0, _SIGMA, n), exp(_SIGMA**2 / 2)),
    Distribution("lognormal, sigma 1", lambda rng, n: rng.lognormal(0.0, 1.0, n), exp(0.5)),
    Distribution("80 % zeros, else normal", _many_zeros(lambda rng, n: rng.normal(0.5, 1.0, n)), 0.1),
    Distribution(
        "80 % zeros, else lognormal less 1",
        _many_zeros(lambda rng, n: rng.lognormal(0.0, _SIGMA, n) - 1),
        0.2 * (exp(_SIGMA**2 / 2) - 1),
    ),
)

METHODS: dict[str, IntervalMethod] = {
    "percentile bootstrap": bootstrap_interval,
    "Tango's score": lambda values, rng, level, resamples: net_share(values, level),
    "BCa": mean_interval,
}
