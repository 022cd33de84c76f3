"""The effect at equal GOD: the fit, the flip test and its level, against references and simulation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from examples import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from paper_figures.statistics.partial_effect import partial_effect
from paper_figures.statistics.significance import paired_test

Array = NDArray[np.float64]
NUMBERS = st.integers(-3, 3).map(float)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def fitted(d: Array, g: Array) -> tuple[float, float]:
    """Return (alpha, beta) as the normal equations give them; beta 0 where g does not vary."""
    if np.ptp(g) == 0:
        return d.mean(), 0.0
    design = np.stack([np.ones_like(g), g], axis=1)
    alpha, beta = np.linalg.lstsq(design, d, rcond=None)[0]
    return alpha, beta


def studentised(d: Array, g: Array) -> float:
    """Return alpha over its HC3 standard error from the matrices of MacKinnon and White (1985)."""
    alpha, beta = fitted(d, g)
    design = np.stack([np.ones_like(g), g], axis=1) if np.ptp(g) else np.ones((len(g), 1))
    inverse = np.linalg.inv(design.T @ design)
    leverage = np.diag(design @ inverse @ design.T)
    residual = d - alpha - beta * g
    weight = np.where(leverage < 1 - 1e-9, residual / np.maximum(1 - leverage, 1e-9), 0.0)
    error = np.linalg.norm((inverse @ design.T)[0] * weight)  # of the sandwich of the two, the corner
    size = np.abs(d).max()
    if error > 1e-7 * size:
        return alpha / error
    return math.copysign(math.inf, alpha) if abs(alpha) > 1e-7 * size else 0.0


@settings(max_examples=examples(60))
@example([(0.0, 1.0), (1.0, 0.0), (-1.0, 0.0), (0.0, 1.0)])  # alpha is 0 but for rounding
@example([(0.0, 1.0), (1.0, 0.0), (2.0, -1.0)])  # a flip leaves one pair alone with its g
@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=3, max_size=7))
def test_exact_p_counts_every_joint_flip(pairs: list[tuple[float, float]]) -> None:
    d, g = np.array(pairs).T
    effect = partial_effect(d, 0 * d, g, 0 * g, rng(), resamples=128)
    if effect.status != "ok":
        assert min(np.ptp(np.delete(g, out)) for out in range(len(g))) == 0
        return
    assert effect.alpha is not None and effect.beta is not None and effect.p is not None
    assert (effect.alpha.mean, effect.beta.mean) == pytest.approx(fitted(d, g), abs=1e-9)
    assert effect.difference.mean == pytest.approx(effect.alpha.mean + effect.beta.mean * effect.god_difference.mean)
    observed = abs(studentised(d, g))
    far = [
        abs(studentised(signs * d, signs * g)) >= observed * (1 - 1e-6) - 1e-6
        for signs in map(np.array, itertools.product((-1, 1), repeat=len(d)))
    ]
    assert effect.p == pytest.approx(np.mean(far))


def study(source: np.random.Generator, n: int) -> tuple[Array, Array, Array, Array]:
    """Return outcomes and GOD of a method and a control with alpha = 0.5, beta = 0.25."""
    god, control_god = source.integers(4, 40, n) / 8, source.integers(0, 16, n) / 8
    control = source.normal(size=n)
    return control + 0.5 + 0.25 * (god - control_god) + 0.3 * source.normal(size=n), control, god, control_god


def test_intervals_are_the_bootstrap_of_pairs() -> None:
    outcome, control, god, control_god = study(np.random.default_rng(3), 40)
    effect = partial_effect(outcome, control, god, control_god, rng(), resamples=4000)
    d, g = outcome - control, god - control_god
    source = np.random.default_rng(9)
    slow = np.array([fitted(d[picked], g[picked]) for picked in source.integers(40, size=(1500, 40))])
    low, high = np.quantile(slow, [0.025, 0.975], axis=0)
    assert effect.alpha is not None and effect.beta is not None
    assert tuple(effect.alpha) == pytest.approx((fitted(d, g)[0], low[0], high[0]), abs=0.02)
    assert tuple(effect.beta) == pytest.approx((fitted(d, g)[1], low[1], high[1]), abs=0.012)
    assert effect.p == pytest.approx(1 / 4001)


def test_order_does_not_matter_and_exchange_turns_alpha() -> None:
    outcome, control, god, control_god = study(np.random.default_rng(5), 30)
    control += 0.45  # leaves a small alpha, and a p between 0 and 1
    effect = partial_effect(outcome, control, god, control_god, rng(), resamples=500)
    assert effect.alpha is not None and effect.beta is not None and effect.p is not None and effect.p > 1 / 501
    order = np.random.default_rng(1).permutation(30)
    moved = partial_effect(outcome[order], control[order], god[order], control_god[order], rng(), resamples=500)
    assert moved == effect
    turned = partial_effect(control, outcome, control_god, god, rng(), resamples=500)
    assert turned.alpha is not None and turned.beta is not None
    assert tuple(turned.alpha) == pytest.approx((-effect.alpha.mean, -effect.alpha.high, -effect.alpha.low))
    assert tuple(turned.beta) == pytest.approx(tuple(effect.beta))
    assert turned.p == effect.p


def test_p_keeps_its_level_where_only_god_differs() -> None:
    source, found = np.random.default_rng(17), []
    for _ in range(150):
        g = source.normal(2, 1, 40)
        found.append(partial_effect(0.3 * g + source.normal(size=40), 0 * g, g, 0 * g, source, resamples=199).p)
    assert np.mean([p <= 0.05 for p in found if p is not None]) < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 150)


def test_alpha_is_found_where_god_explains_nothing_and_not_where_it_explains_all() -> None:
    source = np.random.default_rng(30)
    g = source.normal(1.5, 1, 200)
    noise = source.normal(size=200)
    apart = partial_effect(0.6 + noise, 0 * g, g, 0 * g, rng(), resamples=999)
    through = partial_effect(0.6 * g + noise, 0 * g, g, 0 * g, rng(), resamples=999)
    assert apart.p is not None and apart.p <= 0.005 and apart.alpha is not None and apart.alpha.low > 0
    assert through.p is not None and through.p > 0.05
    assert through.alpha is not None and through.alpha.low < 0 < through.alpha.high
    assert through.beta is not None and through.beta.low > 0.4


def test_statuses_where_god_tells_nothing() -> None:
    d = np.array([1.0, 2.0, 0.5, 1.5])
    for shift, status in ((0.0, "equal"), (0.7, "constant")):
        god = np.array([0.1, 0.2, 0.3, 0.6]) + shift  # differences of 0.7 up to rounding
        effect = partial_effect(d, 0 * d, god, [0.1, 0.2, 0.3, 0.6], rng())
        assert (effect.status, effect.alpha, effect.beta) == (status, effect.difference, None)
        assert effect.p == paired_test(d, 0 * d, rng()) == 0.125
    for few in (d[:1], d[:2]):
        effect = partial_effect(few, 0 * few, np.arange(few.size), 0 * few, rng())
        assert (effect.n, effect.status, effect.alpha, effect.beta, effect.p) == (few.size, "few", None, None, None)
    single = partial_effect(d, 0 * d, [1.0, 1.0, 5.0, 1.0], 0 * d, rng())
    assert single.status == "few" and single.difference.mean == 1.25


def test_misuse_is_refused() -> None:
    three = [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="control_outcome has 2 values: outcome has 3"):
        partial_effect(three, three[:2], three, three, rng())
    with pytest.raises(ValueError, match="god holds values that are not finite"):
        partial_effect(three, three, [1.0, math.nan, 2.0], three, rng())
