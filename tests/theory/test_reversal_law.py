"""The law of reversals: its limits against simulation and quadrature, finite vocabularies, and the freezing scale."""

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rws_theory import classify_pairs
from rws_theory import reversal_law as law
from rws_theory.testing import logit_vectors

Draw = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]
CASES: list[tuple[law.Domain, float]] = [("frechet", 0.5), ("frechet", 3.0), ("weibull", 2.5), ("weibull", 8.0)]


@pytest.mark.parametrize(("domain", "alpha"), [("gumbel", None), *CASES])
def test_limits_are_those_of_a_simulated_poisson_process(domain: law.Domain, alpha: float | None) -> None:
    pairs = 100_000  # the first two points of a Poisson process each, and so the largest two logits of the limit
    gamma = np.random.default_rng(0).standard_exponential((2, pairs, 2)).cumsum(axis=-1)
    a, b = (
        -np.log(gamma) if alpha is None else gamma ** (-1 / alpha) if domain == "frechet" else -(gamma ** (1 / alpha))
    )
    reversed_ = ((a[:, 0] > b[:, 0]) != (a[:, 0] - a[:, 1] > b[:, 0] - b[:, 1])).sum()
    low, high = law.ReversalShare(int(reversed_), pairs).interval(0.999)
    limit = law.reversal_limit(domain, alpha)
    assert low < limit.lower <= limit.upper < high


def by_quadrature(domain: law.Domain, alpha: float) -> float:
    """Integrate over the ratio of the second logits, and over that of one maximum, without special functions."""

    def h(w: Any) -> Any:  # P(the maximum is above what keeps the order): docs/theory.md, section 17
        t = w ** (1 / mpmath.mpf(alpha))
        if domain == "frechet":
            return mpmath.quad(lambda z: alpha * z ** (alpha - 1) * (z / (z + t * (1 - z))) ** alpha, [0, 1])
        return mpmath.quad(lambda y: alpha * y ** (alpha - 1) * max(0, 1 - (1 - y) / t) ** alpha, [1 - t, 1])

    integral: Any = mpmath.quad(lambda w: 12 * w / (1 + w) ** 4 * (1 - w / 2 - h(w)), [0, 0.25, 1])
    return float(integral)


@pytest.mark.parametrize(("domain", "alpha"), CASES[1:3])
def test_integrals_are_those_of_quadrature(domain: law.Domain, alpha: float) -> None:
    limit = law.reversal_limit(domain, alpha)
    assert limit.lower <= limit.upper < limit.lower + 1e-8
    assert by_quadrature(domain, alpha) == pytest.approx((limit.lower + limit.upper) / 2, abs=1e-7)


LAWS: list[tuple[Draw, law.Domain, float | None, float]] = [
    (lambda rng, shape: rng.standard_exponential(shape), "gumbel", None, 0.02),
    (lambda rng, shape: rng.laplace(size=shape), "gumbel", None, 0.02),
    (lambda rng, shape: rng.standard_normal(shape), "gumbel", None, 0.03),
    (lambda rng, shape: rng.random(shape) ** (-1 / 3), "frechet", 3.0, 0.02),
    (lambda rng, shape: -(rng.random(shape) ** (1 / 3)), "weibull", 3.0, 0.02),
    (lambda rng, shape: rng.random(shape), "weibull", 1.0, 0.04),
]


@pytest.mark.parametrize(("draw", "domain", "alpha", "bias"), LAWS)
def test_a_thousand_tokens_are_near_the_limit(draw: Draw, domain: law.Domain, alpha: float | None, bias: float) -> None:
    rng, limit = np.random.default_rng(1), law.reversal_limit(domain, alpha)
    share = law.end_reversals(draw(rng, (3000, 1024)), draw(rng, (3000, 1024)))
    low, high = share.interval(0.999)
    assert low - bias < limit.lower and limit.upper < high + bias
    assert low <= share.share <= high


@given(st.integers(2, 6).flatmap(lambda d: st.tuples(*[logit_vectors(d, d, bound=9.0)] * 2)))
def test_a_pair_that_crosses_an_odd_number_of_times_is_reversed(pair: tuple[np.ndarray, np.ndarray]) -> None:
    a, b = (np.sort(np.round(64 * x) / 64)[None] for x in pair)  # what float64 sums exactly
    if not np.isfinite([a, b]).all() or (a[0, -1] - a).sum() == (b[0, -1] - b).sum():
        return
    if a[0, -1] - a[0, -2] == b[0, -1] - b[0, -2]:
        return
    classes = classify_pairs(a, b)
    share = law.end_reversals(a, b)
    if classes.complete[0] and classes.bound[0] <= 1:  # a tangency counts once, but has even multiplicity
        assert share.reversed == classes.count[0] % 2
    assert share.pairs == 1


def test_normal_logits_freeze() -> None:
    rng = np.random.default_rng(4)
    drawn = {d: rng.standard_normal((2, 2000, d)) for d in (16, 1024)}
    few, many = (law.scale_reversals(a, b, np.array([0.4, 4.0]) * law.freezing_scale(d)) for d, (a, b) in drawn.items())
    assert many[0].interval()[1] < few[0].interval()[0]  # below the scale reversals die out as the vocabulary grows
    assert many[1].interval()[0] > 0.2  # and above they do not
    assert law.freezing_scale(1024, 2.0) == pytest.approx(math.sqrt(2 * math.log(1024)) / 2)
