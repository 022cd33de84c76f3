"""Every function of the theory against its definition at 50 digits or in fractions, within its documented error."""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import exact_ranks
import mpmath
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from mpmath import mpf
from numpy.typing import NDArray
from references import exact_values

import rws_theory
from rws_theory import classify_pairs, gaps, generation_order_deviation, log_odds, max_probability, testing, tilting
from rws_theory.selection import same_at_every_scale
from rws_theory.worlds import MASK, JointTable, MarkovChain, reward_statistics, table_reward

Floats = NDArray[np.float64]
EPS = mpf(2) ** -52
TINY = mpf(2) ** -1074  # the smallest float: what underflow may cost
HUGE = float(np.finfo(np.float64).max)


def within(computed: Any, exact: Any, bound: Any) -> None:
    """Assert that a float is within its documented error; exact and bound: mpf."""
    assert abs(mpf(float(computed)) - exact) <= bound


def rounded(computed: Any, exact: Fraction) -> None:
    assert float(computed) == float(exact)


def many() -> Any:
    """Enough digits for differences of what is 1e-300 and 1."""
    return mpmath.workdps(700)


def exact_gaps(x: Floats) -> list[mpf]:
    allowed = sorted(mpf(float(v)) for v in x if np.isfinite(v))
    return [allowed[-1] - v for v in allowed[-2::-1]]


@given(testing.wide_logits(), testing.wide_scales())
@example(np.array([0.0, -5e-324]), 1e-300)
@example(np.array([1e300, -1e300, 1e300]), 1e300)
def test_log_odds_and_confidence(x: Floats, r: float) -> None:
    computed = log_odds(x, r)
    with mpmath.workdps(50):
        u = exact_gaps(x)
        if not u or r * u[0] > HUGE:
            assert computed == np.inf
            return
        total = mpmath.fsum(mpmath.exp(-r * gap) for gap in u)
        within(computed, -mpmath.log(total), 4 * EPS * (r * u[0] + mpmath.log(x.size)) + TINY)
        exact = 1 / (1 + total)
        within(max_probability(x, r), exact, 4 * EPS * (1 + mpmath.log(x.size)) * exact)


@pytest.mark.parametrize(("size", "r"), [(5_000, 1e-3), (5_000, 30.0), (126_464, 1.0)])
def test_log_odds_of_a_whole_vocabulary(size: int, r: float) -> None:
    x = np.random.default_rng(size).normal(scale=3.0, size=size)
    computed = log_odds(x, r)
    top = float(x.max())
    others = np.sort(x)[:-1]
    # In blocks of equal rounding: fsum is exact, exp is good to an ulp.
    total = math.fsum(np.exp(np.longdouble(r) * (others.astype(np.longdouble) - top)).astype(np.float64))
    within(computed, -mpmath.log(mpf(total)), 4 * float(EPS) * (r * (top - float(others[-1])) + math.log(size)))


@given(testing.wide_logits())
def test_gap_statistics(x: Floats) -> None:
    statistics = rws_theory.gap_statistics(x)
    allowed = sorted(exact_values(x), reverse=True)
    exact = [allowed[0] - v for v in allowed[1:]]
    assert gaps(x).tolist() == [float(u) for u in exact] + [np.inf] * (x.size - len(allowed))
    assert float(statistics.smallest) == (float(exact[0]) if exact else np.inf)
    assert int(statistics.multiplicity) == (exact.count(exact[0]) if exact else 0)
    assert abs(Fraction(float(statistics.total)) - sum(exact)) <= Fraction(x.size, 2**53) * sum(exact)


@given(testing.wide_numbers(), testing.wide_numbers(), testing.wide_scales(5e-324, 1e308))
@example(1e308, -1e308, 1e308)
@example(-1.7e308, 1.7e308, 5e-324)
def test_normalised_reward(raw: float, mean: float, std: float) -> None:
    computed = float(rws_theory.normalise(raw, mean, std))
    exact = (Fraction(raw) - Fraction(mean)) / Fraction(std)
    if abs(exact) > Fraction(HUGE) * (1 - Fraction(1, 2**50)):
        assert abs(computed) >= HUGE * (1 - 2**-50) and (computed > 0) == (exact > 0)
    else:
        assert abs(Fraction(computed) - exact) <= abs(exact) / 2**52 + Fraction(5e-324)


@given(testing.rewards(), testing.wide_scales(1e-150, 1e300), testing.wide_scales(2.3e-308, 1e6))
def test_reward_factor_and_its_range(reward: float, reward_scale: float, eps: float) -> None:
    assume(reward_scale * math.sqrt(eps) > 1e-300)
    computed = float(rws_theory.reward_factor(reward, reward_scale, eps))
    with mpmath.workdps(50):
        scale, least = mpf(reward_scale), mpf(eps)
        exact = scale * mpmath.sqrt(1 / (1 + mpmath.exp(-mpf(reward))) + least)
        within(computed, exact, 2 * EPS * exact)
        low, high = rws_theory.factor_range(reward_scale, eps)
        within(low, scale * mpmath.sqrt(least), EPS * low)
        within(high, scale * mpmath.sqrt(1 + least), mpf(3) / 2 * EPS * high)
    assert low <= computed <= high


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
        return TINY * self.n * (1 + max(abs(x) for x in self.centred(values)) ** power)


def cumulants(values: Sequence[mpf], probabilities: Sequence[mpf], order: int) -> list[mpf]:
    """The first cumulants from moments about the first value: kappa_n = m_n - sum C(n - 1, m - 1) kappa_m m_{n - m}."""
    states = [(p, v - values[0]) for p, v in zip(probabilities, values, strict=True)]
    raw = [mpmath.fsum(p * v**n for p, v in states) for n in range(order + 1)]
    kappa = [mpf(0)] * (order + 1)
    for n in range(1, order + 1):
        kappa[n] = raw[n] - mpmath.fsum(mpmath.binomial(n - 1, m - 1) * kappa[m] * raw[n - m] for m in range(1, n))
    return [kappa[1] + values[0], *kappa[2:]]


# Constants that hide, in log p + r R rounded, which state is the likeliest.
HIDDEN = np.array([1e150, 1e150]), np.array([-999_995.0, -999_896.0]), 24.0


@given(testing.wide_tilts())
@example((np.array([-1e308, 1e308]), np.array([0.0, 0.0]), 1.0))
@example(HIDDEN)
def test_tilted_probabilities(case: tuple[Floats, Floats, float]) -> None:
    log_p, reward, r = case
    computed = tilting.tilt(log_p, reward, r)
    assert (np.isneginf(computed) >= ~np.isfinite(log_p)).all()
    with many():
        exact = Tilted(log_p, reward, r)
        moved = exact.mean(exact.moves)
        levels = zip(exact.log_p, exact.reward, exact.moves, computed[np.isfinite(log_p)], strict=True)
        for level, value, move, log_probability in levels:
            expected = level + r * value - exact.log_total
            if abs(expected) < HUGE:
                within(log_probability, expected, EPS * (exact.n + 2 * (move + moved)))


@given(testing.wide_tilts(), st.integers(1, 8))
@example(HIDDEN, 8)
@example((np.array([1e18, 1e18 + 128]), np.array([1.0, 0.0]), 100.0), 1)
def test_tilted_cumulants(case: tuple[Floats, Floats, float], order: int) -> None:
    log_p, reward, r = case
    with many():
        exact = Tilted(log_p, reward, r)
        span = max(abs(x) for x in exact.centred(exact.reward))
        assume(span**order < mpf(10) ** 300)
        expected = cumulants(exact.reward, exact.probabilities, order)
        computed = tilting.tilted_cumulants(log_p, reward, r, order)
        for n, (cumulant, kappa) in enumerate(zip(computed, expected, strict=True), start=1):
            bound = math.factorial(n) * exact.noise * exact.absolute(exact.reward, n)
            within(cumulant, kappa, 3 * bound + EPS * abs(kappa) + exact.lost(exact.reward, n))


@given(testing.wide_tilts())
def test_tilted_gain(case: tuple[Floats, Floats, float]) -> None:
    log_p, reward, r = case
    computed = float(tilting.tilted_gain(log_p, reward, r))
    with many():
        base, exact = Tilted(log_p, reward, 0.0), Tilted(log_p, reward, r)
        expected = exact.mean(exact.reward) - base.mean(base.reward)
        noise = EPS * (base.n + base.move + exact.move)
        within(computed, expected, 2 * noise * abs(expected) + base.lost(base.reward) + exact.lost(exact.reward))
    assert computed * r >= 0


@settings(max_examples=max(3, settings().max_examples // 5))  # each is an adaptive quadrature
@given(testing.tilted_inputs(bound=3.0, reward_bound=3.0), st.floats(0.1, 8), st.booleans())
def test_the_sides_of_the_variance_identity(inputs: tuple[Floats, Floats], size: float, down: bool) -> None:
    log_p, reward = inputs
    r = -size if down else size
    sides = tilting.variance_identity(log_p, reward, r)
    with many():
        base, exact = Tilted(log_p, reward, 0.0), Tilted(log_p, reward, r)
        gain = exact.mean(exact.reward) - base.mean(base.reward)
        variance = exact.absolute(exact.reward, 2)
        within(sides.gain, gain, 2 * EPS * (base.n + base.move + exact.move) * abs(gain) + TINY)
        within(sides.printed, r * variance, 6 * exact.noise * abs(r) * variance + TINY)
        tilted = Tilted(log_p, reward, sides.scale)
        within(sides.corrected, sides.scale and r * tilted.absolute(tilted.reward, 2), 1e-14 * abs(gain) + TINY)
        within(sides.integral, gain, mpf(sides.integral_error) + mpf(1e-13) * abs(gain) + TINY)


@given(testing.wide_tilts())
@example((np.array([1e18, 1e18 + 128]), np.array([1.0, 0.0]), 0.289))  # 0.289 times both is one float
def test_mean_and_slope_of_a_scaled_reward(case: tuple[Floats, Floats, float]) -> None:
    log_p, reward, c = case
    with many():
        exact = Tilted(log_p, reward, 0.0, c)
        mean = exact.mean(exact.reward)
        bound = 2 * exact.noise * exact.absolute(exact.reward) + EPS * abs(mean) + exact.lost(exact.reward)
        within(tilting.scaled_reward_mean(log_p, reward, c), mean, bound)
        pairs = list(zip(exact.centred(exact.log_p), exact.centred(exact.reward), strict=True))
        assume(max(abs(x * y) for x, y in pairs) < mpf(10) ** 300)
        slope = exact.mean([x * y for x, y in pairs])
        both = mpmath.sqrt(exact.absolute(exact.log_p, 2) * exact.absolute(exact.reward, 2))
        lost = TINY * exact.n * (1 + max(abs(x * y) for x, y in pairs))
        within(tilting.scaled_reward_slope(log_p, reward, c), slope, 2 * exact.noise * both + lost)


def pinned(log_p: Floats, canvas: Sequence[int]) -> list[tuple[tuple[int, ...], mpf]]:
    computed = []
    for tokens in itertools.product(range(log_p.shape[0]), repeat=log_p.ndim):
        if log_p[tokens] > -np.inf and all(s in (MASK, t) for s, t in zip(canvas, tokens, strict=True)):
            computed.append((tokens, mpmath.exp(mpf(float(log_p[tokens])))))
    return computed


@given(testing.wide_tables())
def test_conditionals_of_a_table(case: tuple[Floats, list[int]]) -> None:
    log_p, canvas = case
    table = JointTable(log_p)
    with mpmath.workdps(50):
        whole = mpmath.fsum(p for _, p in pinned(log_p, [MASK] * log_p.ndim))
        shown = pinned(log_p, canvas)
        revealed = mpmath.fsum(p for _, p in shown)
        computed = table.conditionals(canvas)
        floor = 1 + mpmath.log(log_p.size)
        for i, token in itertools.product(range(log_p.ndim), range(log_p.shape[0])):
            exact = mpmath.fsum(p for tokens, p in shown if tokens[i] == token)
            if not exact:
                assert np.isneginf(computed[i, token])
            else:
                bound = EPS * (3 * floor - 2 * mpmath.log(exact / whole))
                within(computed[i, token], mpmath.log(exact / revealed), bound)
        for tokens, p in shown:
            exact = mpmath.log(p / whole)
            within(table.log_prob(tokens), exact, EPS * (floor + abs(exact)))


@given(testing.wide_tables(), st.integers(0, 2**32))
def test_reward_statistics_and_normalisation(case: tuple[Floats, list[int]], seed: int) -> None:
    log_p, _ = case
    rng = np.random.default_rng(seed)
    rewards = rng.standard_normal(log_p.shape) * 10.0 ** rng.integers(-6, 7) + rng.choice([0.0, 1e3, -1e6])
    with mpmath.workdps(50):
        exact = Tilted(log_p.ravel(), rewards.ravel(), 0.0)
        mean, deviation = exact.mean(exact.reward), mpmath.sqrt(exact.absolute(exact.reward, 2))
        lost = mpmath.sqrt(exact.lost(exact.reward, 2))
        computed = reward_statistics(JointTable(log_p), rewards)
        off = 2 * exact.noise * exact.absolute(exact.reward) + EPS * abs(mean) + lost
        within(computed[0], mean, off)
        within(computed[1], deviation, 2 * exact.noise * deviation + lost)
        if deviation > 1e-100:
            tokens = tuple(int(v) for v in rng.integers(0, log_p.shape[0], log_p.ndim))
            expected = (mpf(float(rewards[tokens])) - mean) / deviation
            bound = off / deviation + 3 * exact.noise * abs(expected) + lost
            within(table_reward(JointTable(log_p), rewards)(tokens), expected, bound)


def probability_of(chain: tuple[list[mpf], list[list[mpf]]], canvas: Sequence[int]) -> mpf:
    first, step = chain
    words = range(len(first))
    now = [first[v] if canvas[0] in (MASK, v) else mpf(0) for v in words]
    for shown in canvas[1:]:
        now = [mpmath.fsum(now[u] * step[u][v] for u in words) if shown in (MASK, v) else mpf(0) for v in words]
    return mpmath.fsum(now)


@given(testing.wide_chains())
def test_conditionals_of_a_chain(case: tuple[Floats, Floats, list[int]]) -> None:
    initial, steps, canvas = case
    chain, length = MarkovChain(initial, steps), len(canvas)
    with mpmath.workdps(50):
        rows = [[mpmath.exp(mpf(float(v))) if v > -np.inf else mpf(0) for v in row] for row in (initial, *steps)]
        first, *others = [[w / mpmath.fsum(row) for w in row] for row in rows]
        exact = (first, others)
        revealed = probability_of(exact, canvas)
        assume(revealed > 0)
        computed = chain.conditionals(canvas)
        floor = 1 + mpmath.log(initial.size)
        for i, token in itertools.product(range(length), range(initial.size)):
            joint = probability_of(exact, [*canvas[:i], token, *canvas[i + 1 :]]) if canvas[i] in (MASK, token) else 0
            if not joint:
                assert np.isneginf(computed[i, token])
            else:
                bound = 2 * EPS * (length * floor - length * mpmath.log(joint))
                within(computed[i, token], mpmath.log(joint / revealed), bound)
        tokens = [0 if shown == MASK else shown for shown in canvas]
        if p := probability_of(exact, tokens):
            within(chain.log_prob(tokens), mpmath.log(p), EPS * (length * floor + abs(mpmath.log(p)) * 2))


@given(st.lists(st.integers(0, 5) | st.integers(0, 2**62), min_size=1, max_size=12))
def test_generation_order_deviation(steps: list[int]) -> None:
    ranks = sorted(range(len(steps)), key=lambda i: (steps[i], i))
    tokens = Fraction(sum(abs(o - i) for o, i in enumerate(ranks)), len(steps))
    rounded(generation_order_deviation(steps), tokens)
    exact = Fraction(sum(abs(a - b) for a, b in zip(steps, sorted(steps), strict=True)), len(steps))
    computed = Fraction(float(generation_order_deviation(steps, "steps")))
    assert abs(computed - exact) <= exact * len(steps) / 2**53 + (0 if exact < 2**53 else exact / 2**53)
    if max(steps) < 2**40:
        rounded(computed, exact)


SUBNORMAL = np.array([4.0, 4.0, 4.0, 4.0, 8.0]) * 2.0**-1044, np.array([4.0, 4.0, 4.0, 4.0, -44.0]) * 2.0**-1044


@given(testing.wide_pairs(), testing.scales(0.01, 100.0))
@example(SUBNORMAL, 1.0)  # they cross beyond the largest float
@example((np.array([0.0, 0.0, 1.0]), np.array([1.0, 3.76688292e-253, -1.0])), 1.0)  # they cross at 1.84e252
def test_crossings_at_any_scale_of_the_gaps(pair: tuple[Floats, Floats], r: float) -> None:
    certified = rws_theory.crossings(*pair)
    gaps_of = [exact_ranks.exact_gaps(row) for row in pair]
    for u, sigma, delta in zip(gaps_of, certified.sigma, certified.delta, strict=True):
        rounded(sigma, sum(u, Fraction(0)))
        assert delta == (float(min(u)) if u else np.inf)
    assert certified.sign_at_one == exact_ranks.compared(*gaps_of, Fraction(1))
    assert certified.identical == (sorted(gaps_of[0]) == sorted(gaps_of[1]))
    for crossing in certified.crossings:
        assert crossing.lower <= crossing.root <= crossing.upper
        if crossing.multiplicity is None or crossing.lower == 0 or crossing.upper == np.inf:
            continue
        signs = [exact_ranks.compared(*gaps_of, Fraction(end)) for end in (crossing.lower, crossing.upper)]
        assert signs[0] * signs[1] == (-1) ** crossing.multiplicity
        if crossing.multiplicity == 1:
            assert crossing.upper <= max(crossing.lower * (1 + 2e-12), np.nextafter(crossing.lower, np.inf))
    if certified.complete:
        assert sum(c.multiplicity or 0 for c in certified.crossings) <= certified.bound <= max(pair[0].size - 2, 0)
        if not any(c.lower <= s <= c.upper for c in certified.crossings for s in (r, 1)):
            flips = sum(min(r, 1) < c.root < max(r, 1) for c in certified.crossings if (c.multiplicity or 0) % 2)
            assert exact_ranks.compared(*gaps_of, Fraction(r)) == certified.sign_at_one * (-1) ** flips
    together = classify_pairs(pair[0][None], pair[1][None])
    for name in ("count", "bound", "complete"):
        assert getattr(together, name)[0] == getattr(certified, name)


@settings(max_examples=max(20, settings().max_examples // 2))
@given(testing.selection_cases(), st.integers(-12, 12), st.lists(st.floats(0, 1), min_size=2, max_size=2))
def test_paths_hold_the_exact_top(case: tuple[Floats, int, float, float], power: int, shares: list[float]) -> None:
    z, k, low, high = case
    z, low, high = z * 2.0**power, low * 2.0 ** (power % 5), high * 2.0 ** (power % 5)
    path = rws_theory.selection_path(z, k, low, high)
    ends = [end for piece in path.pieces for end in (piece.lower, piece.upper)]
    ends += [end for bracket in path.brackets for end in (bracket.lower, bracket.upper)]
    between = [low + share * (high - low) for share in shares]
    for c in [*ends[:6], *between]:
        if not low <= c <= high or any(bracket.lower < c < bracket.upper for bracket in path.brackets):
            continue
        if low == high and path.brackets:
            continue
        exact, _ = exact_ranks.exact_top(z.tolist(), k, Fraction(c))
        assert any(set(piece.selected) == exact for piece in path.pieces if piece.lower <= c <= piece.upper), c
    groups = same_at_every_scale(z)
    gaps_of = [sorted(exact_ranks.exact_gaps(row)) for row in z.tolist()]
    for i, j in itertools.combinations(range(len(z)), 2):
        assert any(i in group and j in group for group in groups) == (gaps_of[i] == gaps_of[j])
