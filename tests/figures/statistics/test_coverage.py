"""How often the intervals cover the truth on data like ours, at the sizes that the studies use."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from examples import examples
from interval_coverage import DISTRIBUTIONS, METHODS, coverage

from paper_figures.statistics.intervals import clustered_interval

BY_NAME = {distribution.name: distribution for distribution in DISTRIBUTIONS}
SIMULATIONS = examples(8000)


def _coverage(method: str, name: str, n: int) -> float:
    return coverage(METHODS[method], BY_NAME[name], n, np.random.default_rng(0), SIMULATIONS)


def _noise(share: float) -> float:
    """Return three standard errors of a simulated share."""
    return 3 * sqrt(share * (1 - share) / SIMULATIONS)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=BY_NAME)
def test_the_stated_mean_is_the_mean_of_the_draws(distribution) -> None:
    draws = distribution.draw(np.random.default_rng(0), 10**6)
    assert distribution.mean == pytest.approx(draws.mean(), abs=5 * draws.std() / 1000)
    assert distribution.outcomes == set(draws).issubset({-1.0, 0.0, 1.0})


@pytest.mark.parametrize(
    ("method", "name", "n", "measured"),
    [
        ("Tango's score", "2 % discordant pairs", 400, 0.94),
        ("Tango's score", "10 % discordant pairs", 64, 0.955),
        ("Tango's score", "10 % discordant pairs", 400, 0.951),
        ("BCa", "lognormal, sigma 0.7", 64, 0.927),
        ("BCa", "lognormal, sigma 0.7", 400, 0.944),
        ("BCa", "lognormal, sigma 1", 400, 0.935),
        ("BCa", "80 % zeros, else normal", 400, 0.945),
        ("BCa", "80 % zeros, else lognormal less 1", 400, 0.924),
    ],
)
def test_coverage_is_near_the_level_at_the_sizes_used(method: str, name: str, n: int, measured: float) -> None:
    """The coverages measured by 7,000 simulations (Tango's: summed over all counts) are met but for noise."""
    assert _coverage(method, name, n) >= measured - _noise(measured)


@pytest.mark.parametrize(
    ("name", "measured"),
    [
        ("2 % discordant pairs", 0.222),
        ("10 % discordant pairs", 0.675),
        ("lognormal, sigma 0.7", 0.878),
        ("80 % zeros, else normal", 0.79),
    ],
)
def test_the_percentile_bootstrap_covers_too_seldom_at_sixteen(name: str, measured: float) -> None:
    share = _coverage("percentile bootstrap", name, 16)
    assert share == pytest.approx(measured, abs=_noise(measured)) and share < 0.95 - 0.03
    if BY_NAME[name].outcomes:
        assert _coverage("Tango's score", name, 16) > share + 0.03


RECORDED = (100, 80, 56, 33, 29, 28, 22, 20, 18, 9, 5)  # openings of each address in the record


@pytest.mark.parametrize(("sizes", "measured"), [((20,) * 12, 0.9555), (None, 0.9335), (RECORDED, 0.905)])
def test_the_interval_over_groups_covers_at_twelve(sizes: tuple[int, ...] | None, measured: float) -> None:
    """The coverages measured by 4,000 simulations: a group's values share half a deviation. None: sizes vary."""
    rng, simulations, covered = np.random.default_rng(1), examples(1000), 0
    for _ in range(simulations):
        drawn = sizes or rng.integers(2, 40, 12)
        groups = np.repeat(np.arange(len(drawn)), drawn)
        values = rng.normal(size=len(groups)) + 0.5 * rng.normal(size=len(drawn))[groups]
        _, low, high = clustered_interval(values, groups)
        covered += low <= 0 <= high
    assert covered / simulations == pytest.approx(measured, abs=4 * sqrt(measured * (1 - measured) / simulations))
