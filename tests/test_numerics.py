"""Every function of the theory against its definition at 50 digits or in fractions, within its documented error."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
import strategies
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from mpmath import mpf
from numpy.typing import NDArray

from rws_theory.confidence import gap_statistics, gaps, log_odds, max_probability
from rws_theory.exact import MASK, JointTable, reward_statistics
from rws_theory.gain import factor_range, inverse_reward, normalise, reward_factor
from rws_theory.markov import MarkovChain
from rws_theory.masked_decoding import table_reward
from rws_theory.tilting import (
    log_partition,
    rises_with_log_p,
    scaled_reward_mean,
    scaled_reward_slope,
    tilt,
    tilted_cumulants,
    tilted_gain,
    variance_identity,
)

pytestmark = pytest.mark.filterwarnings("error")

Floats = NDArray[np.float64]
EPS = mpf(2) ** -52
TINY = mpf(2) ** -1074  # the smallest float: what underflow may cost
HUGE = float(np.finfo(np.float64).max)


def within(found: Any, exact: Any, bound: Any) -> None:
    """Assert that a float is within its documented error; exact and bound: mpf."""
    assert abs(mpf(float(found)) - exact) <= bound


def rounded(found: Any, exact: Fraction) -> None:
    """Assert that a float is the one nearest to a fraction."""
    assert float(found) == float(exact)


def fifty() -> Any:
    return mpmath.workdps(50)


def many() -> Any:
    """Enough digits for differences of what is 1e-300 and 1."""
    return mpmath.workdps(700)


def exact_gaps(x: Floats) -> list[mpf]:
    """Gaps of the other allowed tokens at the working precision, ascending."""
    allowed = sorted(mpf(float(v)) for v in x if np.isfinite(v))
    return [allowed[-1] - v for v in allowed[-2::-1]]


# --- confidence -------------------------------------------------------------------------------------------------------


@given(strategies.wide_logits(), strategies.wide_scales())
@example(np.array([0.0, -5e-324]), 1e-300)
@example(np.array([1e300, -1e300, 1e300]), 1e300)
def test_log_odds_and_confidence(x: Floats, r: float) -> None:
    found = log_odds(x, r)
    with fifty():
        u = exact_gaps(x)
        if not u or r * u[0] > HUGE:
            assert found == np.inf
            return
        total = mpmath.fsum(mpmath.exp(-r * gap) for gap in u)
        within(found, -mpmath.log(total), 4 * EPS * (r * u[0] + mpmath.log(x.size)) + TINY)
        exact = 1 / (1 + total)
        within(max_probability(x, r), exact, 4 * EPS * (1 + mpmath.log(x.size)) * exact)


@pytest.mark.parametrize("size", [5_000, 126_464])
@pytest.mark.parametrize("r", [1e-3, 1.0, 30.0])
def test_log_odds_of_a_whole_vocabulary(size: int, r: float) -> None:
    x = np.random.default_rng(size).normal(scale=3.0, size=size)
    found = log_odds(x, r)
    top = float(x.max())
    others = np.sort(x)[:-1]
    # In blocks of equal rounding: fsum is exact, exp is good to an ulp.
    total = math.fsum(np.exp(np.longdouble(r) * (others.astype(np.longdouble) - top)).astype(np.float64))
    within(found, -mpmath.log(mpf(total)), 4 * float(EPS) * (r * (top - float(others[-1])) + math.log(size)))


@given(strategies.wide_logits())
def test_gap_statistics(x: Floats) -> None:
    statistics = gap_statistics(x)
    allowed = sorted(strategies.exact(x), reverse=True)
    exact = [allowed[0] - v for v in allowed[1:]]
    assert gaps(x).tolist() == [float(u) for u in exact] + [np.inf] * (x.size - len(allowed))
    assert float(statistics.smallest) == (float(exact[0]) if exact else np.inf)
    assert int(statistics.multiplicity) == (exact.count(exact[0]) if exact else 0)
    assert abs(Fraction(float(statistics.total)) - sum(exact)) <= Fraction(x.size, 2**53) * sum(exact)


# --- gain -------------------------------------------------------------------------------------------------------------


@given(strategies.wide_numbers(), strategies.wide_numbers(), strategies.wide_scales(5e-324, 1e308))
@example(1e308, -1e308, 1e308)
@example(-1.7e308, 1.7e308, 5e-324)
def test_normalised_reward(raw: float, mean: float, std: float) -> None:
    found = float(normalise(raw, mean, std))
    exact = (Fraction(raw) - Fraction(mean)) / Fraction(std)
    if abs(exact) > Fraction(HUGE) * (1 - Fraction(1, 2**50)):
        assert abs(found) >= HUGE * (1 - 2**-50) and (found > 0) == (exact > 0)
    else:
        assert abs(Fraction(found) - exact) <= abs(exact) / 2**52 + Fraction(5e-324)


@given(strategies.rewards(), strategies.wide_scales(1e-150, 1e300), strategies.wide_scales(2.3e-308, 1e6))
def test_reward_factor_and_its_range(reward: float, reward_scale: float, eps: float) -> None:
    assume(reward_scale * math.sqrt(eps) > 1e-300)
    found = float(reward_factor(reward, reward_scale, eps))
    with fifty():
        scale, least = mpf(reward_scale), mpf(eps)
        exact = scale * mpmath.sqrt(1 / (1 + mpmath.exp(-mpf(reward))) + least)
        within(found, exact, 2 * EPS * exact)
        low, high = factor_range(reward_scale, eps)
        within(low, scale * mpmath.sqrt(least), EPS * low)
        within(high, scale * mpmath.sqrt(1 + least), mpf(3) / 2 * EPS * high)
    assert low <= found <= high


@given(st.floats(0, 1), st.booleans(), strategies.wide_scales(1e-6, 1e6), strategies.wide_scales(1e-12, 1e3))
def test_inverse_of_the_reward_factor(where: float, near: bool, reward_scale: float, eps: float) -> None:
    low, high = factor_range(reward_scale, eps)
    factor = min(max(low * (1 + where**8 * 1e-3) if near else low + where * (high - low), low), high)
    found = float(inverse_reward(factor, reward_scale, eps))
    if factor in (low, high):
        assert found == (-np.inf if factor == low else np.inf)
        return
    with fifty():
        exact = (mpf(factor) / mpf(reward_scale)) ** 2 - mpf(eps)
        bound = 3 * EPS * (exact + mpf(eps)) + EPS * abs(found) * exact * (1 - exact)
        within(1 / (1 + mpmath.exp(-mpf(found))), exact, bound)


# --- tilting ----------------------------------------------------------------------------------------------------------


class Tilted:
    """p_r of its definition at the working precision, and the sizes that its errors depend on."""

    def __init__(self, log_p: Floats, reward: Floats, r: float, c: float = 1.0) -> None:
        open_ = np.isfinite(log_p)
        self.log_p = [mpf(float(v)) for v in log_p[open_]]
        self.reward = [mpf(float(v)) for v in reward[open_]]
        logs = [c * v + r * w for v, w in zip(self.log_p, self.reward, strict=True)]
        top = max(logs)
        weights = [mpmath.exp(v - top) for v in logs]
        total = mpmath.fsum(weights)
        self.log_total = top + mpmath.log(total)
        self.probabilities = [w / total for w in weights]
        best = logs.index(top)
        steps = zip(self.log_p, self.reward, strict=True)
        # How far log p + r R of each state is from the likeliest one's, were nothing to cancel.
        self.moves = [abs(c * (v - self.log_p[best])) + abs(r * (w - self.reward[best])) for v, w in steps]
        self.n = len(weights)
        self.move = max((m for m, p in zip(self.moves, self.probabilities, strict=True) if p > 1e-320), default=mpf(0))

    def mean(self, values: Sequence[mpf]) -> mpf:
        return mpmath.fsum(p * v for p, v in zip(self.probabilities, values, strict=True))

    def centred(self, values: Sequence[mpf]) -> list[mpf]:
        mean = self.mean(values)
        return [v - mean for v in values]

    def absolute(self, values: Sequence[mpf], power: int = 1) -> mpf:
        return self.mean([abs(x) ** power for x in self.centred(values)])

    @property
    def noise(self) -> mpf:
        """The relative error of a probability that counts."""
        return EPS * (self.n + self.move)

    def lost(self, values: Sequence[mpf], power: int = 1) -> mpf:
        """What states too unlikely for a float may add."""
        return TINY * self.n * (1 + max(abs(x) for x in self.centred(values)) ** power)


def cumulants(values: Sequence[mpf], probabilities: Sequence[mpf], order: int) -> list[mpf]:
    """The first cumulants from moments about the first value: kappa_n = m_n - sum C(n - 1, m - 1) kappa_m m_{n - m}."""
    states = [(p, v - values[0]) for p, v in zip(probabilities, values, strict=True)]
    raw = [mpmath.fsum(p * v**n for p, v in states) for n in range(order + 1)]
    kappa = [mpf(0)] * (order + 1)
    for n in range(1, order + 1):
        kappa[n] = raw[n] - mpmath.fsum(mpmath.binomial(n - 1, m - 1) * kappa[m] * raw[n - m] for m in range(1, n))
    return [kappa[1] + values[0], *kappa[2:]]


@given(strategies.wide_tilts())
@example((np.array([-1e308, 1e308]), np.array([0.0, 0.0]), 1.0))
def test_tilted_probabilities(case: tuple[Floats, Floats, float]) -> None:
    log_p, reward, r = case
    found = tilt(log_p, reward, r)
    assert (np.isneginf(found) >= ~np.isfinite(log_p)).all()
    with many():
        exact = Tilted(log_p, reward, r)
        moved = exact.mean(exact.moves)
        levels = zip(exact.log_p, exact.reward, exact.moves, found[np.isfinite(log_p)], strict=True)
        for level, value, move, one in levels:
            expected = level + r * value - exact.log_total
            if abs(expected) < HUGE:
                within(one, expected, EPS * (exact.n + 2 * (move + moved)))


@given(strategies.wide_tilts())
@example((np.array([1e6, 1e6]), np.array([0.0, 1.0]), 1e-3))
@example((np.array([0.0, 0.0]), np.array([0.0, 1.0]), 1e-20))
def test_log_partition(case: tuple[Floats, Floats, float]) -> None:
    log_p, reward, r = case
    with many():
        base, exact = Tilted(log_p, reward, 0.0), Tilted(log_p, reward, r)
        expected = exact.log_total - base.log_total
        size = abs(r) * max(map(abs, base.reward))
        spread = abs(r) * max(map(abs, base.centred(base.reward)))
        moved = base.mean(base.moves) + exact.mean(exact.moves)
        small = EPS * (base.n + base.move) * size
        large = EPS * (exact.n + moved + size)
        bound = 3 * small if spread <= 0.99 else 3 * (small + large) if spread < 1.01 else 3 * large
        within(log_partition(log_p, reward, r), expected, bound + TINY * base.n * (1 + size))


@given(strategies.wide_tilts(), st.integers(1, 8))
def test_tilted_cumulants(case: tuple[Floats, Floats, float], order: int) -> None:
    log_p, reward, r = case
    with many():
        exact = Tilted(log_p, reward, r)
        span = max(abs(x) for x in exact.centred(exact.reward))
        assume(span**order < mpf(10) ** 300)
        expected = cumulants(exact.reward, exact.probabilities, order)
        found = tilted_cumulants(log_p, reward, r, order)
        for n, (one, kappa) in enumerate(zip(found, expected, strict=True), start=1):
            bound = math.factorial(n) * exact.noise * exact.absolute(exact.reward, n)
            within(one, kappa, 3 * bound + EPS * abs(kappa) + exact.lost(exact.reward, n))


@given(strategies.wide_tilts())
def test_tilted_gain(case: tuple[Floats, Floats, float]) -> None:
    log_p, reward, r = case
    found = float(tilted_gain(log_p, reward, r))
    with many():
        base, exact = Tilted(log_p, reward, 0.0), Tilted(log_p, reward, r)
        expected = exact.mean(exact.reward) - base.mean(base.reward)
        noise = EPS * (base.n + base.move + exact.move)
        within(found, expected, 2 * noise * abs(expected) + base.lost(base.reward) + exact.lost(exact.reward))
    assert found * r >= 0


@settings(deadline=None, max_examples=max(20, settings().max_examples // 5))  # each is an adaptive quadrature
@given(strategies.tilted_inputs(bound=3.0, reward_bound=3.0), st.floats(0.1, 8), st.booleans())
def test_the_sides_of_the_variance_identity(inputs: tuple[Floats, Floats], size: float, down: bool) -> None:
    log_p, reward = inputs
    r = -size if down else size
    found = variance_identity(log_p, reward, r)
    with many():
        base, exact = Tilted(log_p, reward, 0.0), Tilted(log_p, reward, r)
        gain = exact.mean(exact.reward) - base.mean(base.reward)
        variance = exact.absolute(exact.reward, 2)
        within(found.gain, gain, 2 * EPS * (base.n + base.move + exact.move) * abs(gain) + TINY)
        within(found.printed, r * variance, 6 * exact.noise * abs(r) * variance + TINY)
        at = Tilted(log_p, reward, found.scale)
        within(found.corrected, found.scale and r * at.absolute(at.reward, 2), 1e-14 * abs(gain) + TINY)
        within(found.integral, gain, mpf(found.integral_error) + mpf(1e-13) * abs(gain) + TINY)


@given(strategies.wide_tilts())
def test_mean_and_slope_of_a_scaled_reward(case: tuple[Floats, Floats, float]) -> None:
    log_p, reward, c = case
    with many():
        exact = Tilted(log_p, reward, 0.0, c)
        mean = exact.mean(exact.reward)
        bound = 2 * exact.noise * exact.absolute(exact.reward) + EPS * abs(mean) + exact.lost(exact.reward)
        within(scaled_reward_mean(log_p, reward, c), mean, bound)
        pairs = list(zip(exact.centred(exact.log_p), exact.centred(exact.reward), strict=True))
        assume(max(abs(x * y) for x, y in pairs) < mpf(10) ** 300)
        slope = exact.mean([x * y for x, y in pairs])
        both = mpmath.sqrt(exact.absolute(exact.log_p, 2) * exact.absolute(exact.reward, 2))
        lost = TINY * exact.n * (1 + max(abs(x * y) for x, y in pairs))
        within(scaled_reward_slope(log_p, reward, c), slope, 2 * exact.noise * both + lost)


@given(strategies.wide_tilts())
@example((np.array([0.0, -1.0, -2.0]), np.array([0.0, 1e308, -1e308]), 1.0))
def test_rising_with_log_p_compares_every_two_states(case: tuple[Floats, Floats, float]) -> None:
    log_p, reward, _ = case
    states = [s for s in zip(log_p.tolist(), reward.tolist(), strict=True) if s[0] > -np.inf]
    pairs = itertools.product(states, repeat=2)
    rises = all((x[1] <= y[1]) if x[0] < y[0] else (x[0] > y[0] or x[1] == y[1]) for x, y in pairs)
    assert rises_with_log_p(log_p, reward) is rises


# --- exact models -----------------------------------------------------------------------------------------------------


def pinned(log_p: Floats, canvas: Sequence[int]) -> list[tuple[tuple[int, ...], mpf]]:
    """Sequences that agree with the canvas, with their unnormalised probabilities."""
    found = []
    for tokens in itertools.product(range(log_p.shape[0]), repeat=log_p.ndim):
        if log_p[tokens] > -np.inf and all(s in (MASK, t) for s, t in zip(canvas, tokens, strict=True)):
            found.append((tokens, mpmath.exp(mpf(float(log_p[tokens])))))
    return found


@given(strategies.wide_tables())
def test_conditionals_of_a_table(case: tuple[Floats, list[int]]) -> None:
    log_p, canvas = case
    table = JointTable(log_p)
    with fifty():
        whole = mpmath.fsum(p for _, p in pinned(log_p, [MASK] * log_p.ndim))
        shown = pinned(log_p, canvas)
        revealed = mpmath.fsum(p for _, p in shown)
        found = table.conditionals(canvas)
        floor = 1 + mpmath.log(log_p.size)
        for i, token in itertools.product(range(log_p.ndim), range(log_p.shape[0])):
            exact = mpmath.fsum(p for tokens, p in shown if tokens[i] == token)
            if not exact:
                assert np.isneginf(found[i, token])
            else:
                within(found[i, token], mpmath.log(exact / revealed), EPS * (3 * floor - 2 * mpmath.log(exact / whole)))
        for tokens, p in shown:
            exact = mpmath.log(p / whole)
            within(table.log_probability(tokens), exact, EPS * (floor + abs(exact)))


@given(strategies.wide_tables(), st.integers(0, 2**32))
def test_reward_statistics_and_normalisation(case: tuple[Floats, list[int]], seed: int) -> None:
    log_p, _ = case
    rng = np.random.default_rng(seed)
    rewards = rng.standard_normal(log_p.shape) * 10.0 ** rng.integers(-6, 7) + rng.choice([0.0, 1e3, -1e6])
    with fifty():
        exact = Tilted(log_p.ravel(), rewards.ravel(), 0.0)
        mean, deviation = exact.mean(exact.reward), mpmath.sqrt(exact.absolute(exact.reward, 2))
        lost = mpmath.sqrt(exact.lost(exact.reward, 2))
        found = reward_statistics(JointTable(log_p), rewards)
        off = 2 * exact.noise * exact.absolute(exact.reward) + EPS * abs(mean) + lost
        within(found[0], mean, off)
        within(found[1], deviation, 2 * exact.noise * deviation + lost)
        if deviation > 1e-100:
            tokens = tuple(int(v) for v in rng.integers(0, log_p.shape[0], log_p.ndim))
            expected = (mpf(float(rewards[tokens])) - mean) / deviation
            bound = off / deviation + 3 * exact.noise * abs(expected) + lost
            within(table_reward(JointTable(log_p), rewards)(tokens), expected, bound)


def exact_chain(initial: Floats, steps: Floats) -> tuple[list[mpf], list[list[mpf]]]:
    """The probabilities of a chain, normalised."""

    def normalised(row: Floats) -> list[mpf]:
        weights = [mpmath.exp(mpf(float(v))) if v > -np.inf else mpf(0) for v in row]
        total = mpmath.fsum(weights)
        return [w / total for w in weights]

    return normalised(initial), [normalised(row) for row in steps]


def probability_of(chain: tuple[list[mpf], list[list[mpf]]], canvas: Sequence[int]) -> mpf:
    """The probability of the revealed tokens."""
    first, step = chain
    words = range(len(first))
    now = [first[v] if canvas[0] in (MASK, v) else mpf(0) for v in words]
    for shown in canvas[1:]:
        now = [mpmath.fsum(now[u] * step[u][v] for u in words) if shown in (MASK, v) else mpf(0) for v in words]
    return mpmath.fsum(now)


@given(strategies.wide_chains())
def test_conditionals_of_a_chain(case: tuple[Floats, Floats, list[int]]) -> None:
    initial, steps, canvas = case
    chain, length = MarkovChain(initial, steps), len(canvas)
    with fifty():
        exact = exact_chain(initial, steps)
        revealed = probability_of(exact, canvas)
        assume(revealed > 0)
        found = chain.conditionals(canvas)
        floor = 1 + mpmath.log(initial.size)
        for i, token in itertools.product(range(length), range(initial.size)):
            joint = probability_of(exact, [*canvas[:i], token, *canvas[i + 1 :]]) if canvas[i] in (MASK, token) else 0
            if not joint:
                assert np.isneginf(found[i, token])
            else:
                bound = 2 * EPS * (length * floor - length * mpmath.log(joint))
                within(found[i, token], mpmath.log(joint / revealed), bound)
        tokens = [0 if shown == MASK else shown for shown in canvas]
        if p := probability_of(exact, tokens):
            within(chain.log_probability(tokens), mpmath.log(p), EPS * (length * floor + abs(mpmath.log(p)) * 2))


@given(strategies.wide_chains(), st.sampled_from([1, 2, 3, 10, 40]))
@example((np.zeros(3), np.zeros((3, 3)), [0]), 40)
def test_log_probability_statistics_of_a_chain(case: tuple[Floats, Floats, list[int]], length: int) -> None:
    initial, steps, _ = case
    mean, deviation = MarkovChain(initial, steps).log_probability_statistics(length)
    with fifty():
        first, step = exact_chain(initial, steps)
        words = range(initial.size)
        weight = list(first)
        # Moments about 0 of log p, token by token: E[S | x] and E[S^2 | x] times p(x).
        one = [p * mpmath.log(p) if p else mpf(0) for p in first]
        two = [p * mpmath.log(p) ** 2 if p else mpf(0) for p in first]
        for _ in range(length - 1):
            gain = [[mpmath.log(p) if p else mpf(0) for p in row] for row in step]
            pairs = list(itertools.product(words, words))
            nxt = [[mpf(0)] * initial.size for _ in range(3)]
            for u, v in pairs:
                p, g = step[u][v], gain[u][v]
                nxt[0][v] += weight[u] * p
                nxt[1][v] += (one[u] + weight[u] * g) * p
                nxt[2][v] += (two[u] + 2 * one[u] * g + weight[u] * g * g) * p
            weight, one, two = nxt
        exact = mpmath.fsum(one)
        spread = mpmath.sqrt(abs(mpmath.fsum(two) - exact**2))
        size = length * (1 + abs(exact))
        within(mean, exact, 2 * EPS * size)
        within(deviation, spread, 2 * EPS * size)
