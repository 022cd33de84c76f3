"""How often the intervals cover the truth on data like ours, at the sizes that the studies use."""

from collections.abc import Callable
from math import exp, sqrt

import numpy as np
import pytest
from examples import examples
from scipy.stats import binom

from paper_figures.statistics import bootstrap_interval, clustered_interval, mean_interval, net_share_of_counts

SIGMA = 0.7  # of the logarithm: more skewed than the perplexities of the recorded answers, 0.3 to 0.6
SIMULATIONS = examples(2000)
Draw = Callable[[np.random.Generator, int], np.ndarray]


def _or_zero(draw: Draw) -> Draw:
    return lambda rng, n: np.where(rng.random(n) < 0.2, draw(rng, n), 0.0)


# The data by name: how n values are drawn, and their mean.
SKEWED: dict[str, tuple[Draw, float]] = {
    "lognormal, sigma 0.7": (lambda rng, n: rng.lognormal(0.0, SIGMA, n), exp(SIGMA**2 / 2)),
    "lognormal, sigma 1": (lambda rng, n: rng.lognormal(0.0, 1.0, n), exp(0.5)),
    "80 % zeros, else normal": (_or_zero(lambda rng, n: rng.normal(0.5, 1.0, n)), 0.1),
    "80 % zeros, else lognormal less 1": (
        _or_zero(lambda rng, n: rng.lognormal(0.0, SIGMA, n) - 1),
        0.2 * (exp(SIGMA**2 / 2) - 1),
    ),
}
SHARES = {"2 % discordant pairs": (0.015, 0.005), "10 % discordant pairs": (0.07, 0.03)}  # of wins and losses


def _simulated(interval: Callable[..., tuple[float, float, float]], draw: Draw, mean: float, n: int) -> float:
    rng = np.random.default_rng(0)
    more = () if interval is mean_interval else (rng, 0.95, 499)
    found = [interval(draw(rng, n), *more) for _ in range(SIMULATIONS)]
    return float(np.mean([low <= mean <= high for _, low, high in found]))


def _exact(n: int, win: float, loss: float) -> float:
    """Add up the probabilities of all counts whose interval holds the true net rate."""
    shares, covered = binom.pmf(np.arange(n + 1), n, win + loss), 0.0
    for decided in np.nonzero(shares > 1e-7)[0]:
        for wins in range(decided + 1):
            _, low, high = net_share_of_counts(wins, int(decided) - wins, n)
            if low <= win - loss <= high:
                covered += shares[decided] * binom.pmf(wins, decided, win / (win + loss))
    return covered


def _noise(share: float) -> float:
    """Return three standard errors of a simulated share."""
    return 3 * sqrt(share * (1 - share) / SIMULATIONS)


@pytest.mark.parametrize(
    ("method", "name", "n", "measured"),
    [
        ("Tango's score", "2 % discordant pairs", 400, 0.94),
        ("Tango's score", "10 % discordant pairs", 64, 0.955),
        ("Tango's score", "10 % discordant pairs", 400, 0.951),
        ("ABC", "lognormal, sigma 0.7", 64, 0.931),
        ("ABC", "lognormal, sigma 0.7", 400, 0.946),
        ("ABC", "lognormal, sigma 1", 400, 0.936),
        ("ABC", "80 % zeros, else normal", 400, 0.946),
        ("ABC", "80 % zeros, else lognormal less 1", 400, 0.932),
    ],
)
def test_coverage_is_near_the_level_at_the_sizes_used(method: str, name: str, n: int, measured: float) -> None:
    """The coverages measured by 7,000 simulations (Tango's: summed over all counts) are met but for noise."""
    if method == "ABC":
        assert _simulated(mean_interval, *SKEWED[name], n) >= measured - _noise(measured)
    else:
        assert _exact(n, *SHARES[name]) == pytest.approx(measured, abs=6e-4)


@pytest.mark.parametrize(("win", "loss", "least"), [(0.015, 0.005, 0.99), (0.3, 0.2, 0.93)])
def test_few_pairs_are_covered_too(win: float, loss: float, least: float) -> None:
    assert _exact(16, win, loss) >= least


@pytest.mark.parametrize(("name", "measured"), [("2 % discordant pairs", 0.222), ("lognormal, sigma 0.7", 0.878)])
def test_the_percentile_bootstrap_covers_too_seldom_at_sixteen(name: str, measured: float) -> None:
    win, loss = SHARES.get(name, (0.0, 0.0))

    def outcomes(rng: np.random.Generator, n: int) -> np.ndarray:
        return rng.choice([1.0, -1.0, 0.0], size=n, p=[win, loss, 1 - win - loss])

    draw, mean = SKEWED.get(name, (outcomes, win - loss))
    share = _simulated(bootstrap_interval, draw, mean, 16)
    assert share == pytest.approx(measured, abs=_noise(measured)) and share < 0.95 - 0.03


RECORDED = (100, 80, 56, 33, 29, 28, 22, 20, 18, 9, 5)  # openings of each address in the record
# Prompts of each pair of texts in the record: RWS at s_R = 2 and its constant.
TEXTS = (91, 52, 43, 25, 16, 13, 9, 8, 8, 8, 6, 4, 4, 4, *(3,) * 6, *(2,) * 12, *(1,) * 67)


@pytest.mark.parametrize(
    ("sizes", "own", "measured"),
    [((20,) * 12, 1.0, 0.9525), (None, 1.0, 0.944), (RECORDED, 1.0, 0.946), (TEXTS, 0.0, 0.949)],
)
def test_the_interval_over_groups_covers(sizes: tuple[int, ...] | None, own: float, measured: float) -> None:
    """The coverages measured by 4,000 simulations. None: sizes vary; own: what values of a group do not share."""
    rng, simulations, covered = np.random.default_rng(1), examples(1000), 0
    for _ in range(simulations):
        drawn = sizes or rng.integers(2, 40, 12)
        groups = np.repeat(np.arange(len(drawn)), drawn)
        values = own * rng.normal(size=len(groups)) + 0.5 * rng.normal(size=len(drawn))[groups]
        _, low, high = clustered_interval(values, groups)
        covered += low <= 0 <= high
    assert covered / simulations == pytest.approx(measured, abs=4 * sqrt(measured * (1 - measured) / simulations))
