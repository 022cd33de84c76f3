"""Simulate how often each interval covers the truth, on data like ours: rare wins and losses, skew, and many zeros.

An interval at 95 % is only worth its name where this share is near 0.95.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from paper_figures.statistics.intervals import Interval, bootstrap_interval
from paper_figures.statistics.means import mean_interval
from paper_figures.statistics.paired_proportions import net_share
from paper_figures.statistics.resampling import check_resampling

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
    interval: IntervalMethod,
    distribution: Distribution,
    n: int,
    rng: np.random.Generator,
    simulations: int = 1000,
    *,
    resamples: int = 499,
    level: float = 0.95,
) -> float:
    """Return the share of simulated intervals that hold the true mean.

    `interval` takes n values, a generator, the level and the number of resamples. The standard error of a coverage
    c is sqrt(c (1 - c) / simulations). ValueError is raised for simulations or n below 1, and for a level or resamples
    that no interval has.

    >>> coverage(METHODS["percentile bootstrap"], DISTRIBUTIONS[0], 16, np.random.default_rng(0), 100)  # not 0.95
    0.3
    """
    if simulations < 1 or n < 1:
        raise ValueError(f"simulations is {simulations} and n {n}: numbers of at least 1 are needed")
    check_resampling(level, resamples)
    samples = [distribution.draw(rng, n) for _ in range(simulations)]
    ends = [interval(sample, rng, level, resamples) for sample in samples]
    return float(np.mean([low <= distribution.mean <= high for _, low, high in ends]))


def coverage_table(
    rng: np.random.Generator,
    simulations: int = 1000,
    *,
    sizes: Sequence[int] = (16, 64, 400),
    resamples: int = 499,
    level: float = 0.95,
) -> list[dict[str, Any]]:
    """Return rows of distribution, n, method and coverage, for all of `DISTRIBUTIONS` and the methods that fit them.

    "Tango's score" is only for outcomes, and the others but the percentile bootstrap only for other values. The methods
    see the same samples. It takes about a second for 16 simulations. ValueError is raised as by :func:`coverage`.

    >>> rows = coverage_table(np.random.default_rng(0), 50, sizes=[16], resamples=99)
    >>> rows[1]
    {'distribution': '2 % discordant pairs', 'n': 16, 'method': "Tango's score", 'coverage': 1.0}
    """
    rows: list[dict[str, Any]] = []
    for distribution in DISTRIBUTIONS:
        for n in sizes:
            seed = int(rng.integers(2**63))  # one for all methods, so that they see the same samples
            for method, interval in METHODS.items():
                if method == "percentile bootstrap" or (method == "Tango's score") == distribution.outcomes:
                    generator = np.random.default_rng(seed)
                    share = coverage(
                        interval, distribution, n, generator, simulations, resamples=resamples, level=level
                    )
                    rows.append({"distribution": distribution.name, "n": n, "method": method, "coverage": share})
    return rows


def _rare(wins: float, losses: float) -> Callable[[np.random.Generator, int], Values]:
    def draw(rng: np.random.Generator, n: int) -> Values:
        return rng.choice([1.0, -1.0, 0.0], size=n, p=[wins, losses, 1 - wins - losses])

    return draw


def _many_zeros(draw: Callable[[np.random.Generator, int], Values]) -> Callable[[np.random.Generator, int], Values]:
    return lambda rng, n: np.where(rng.random(n) < 0.2, draw(rng, n), 0.0)


def _t_interval(values: Values, rng: np.random.Generator, level: float, resamples: int) -> Interval:
    if np.ptp(values) == 0:
        return mean_interval(values, rng, level, resamples)
    test: Any = stats.ttest_1samp(values, 0.0)
    ends = test.confidence_interval(level)
    return Interval(float(values.mean()), float(ends.low), float(ends.high))


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
    "studentised": lambda values, rng, level, resamples: mean_interval(
        values, rng, level, resamples, method="studentised"
    ),
    "t": _t_interval,
}
