"""Crossings of two confidence curves: the paper's example, its counterexamples, and exact polynomial references."""

import math
import random
from collections.abc import Callable, Iterable
from fractions import Fraction
from importlib import import_module
from itertools import pairwise

import exact_ranks
import mpmath
import numpy as np
import pytest
from examples import examples
from flint import arb, arb_poly, fmpq
from hypothesis import example, given, settings
from references import polynomial_crossings
from scipy.optimize import brentq
from scipy.special import expit

from rws_theory import Crossings, crossings, testing
from rws_theory.certified.brent import brent_root
from rws_theory.certified.exponential_sum import ExponentialSum, exact_gaps, gap_difference, precision
from rws_theory.certified.taylor import FLOAT64, TaylorModel, taylor_model
from rws_theory.confidence import sigmoid
from rws_theory.testing import from_gaps

isolation_module = import_module("rws_theory.certified.isolation")


def of_gaps(u: object, v: object, **options: float) -> Crossings:
    return crossings(from_gaps(u), from_gaps(v), **options)  # type: ignore[arg-type]


def g_of(u: object, v: object) -> ExponentialSum:
    (x, y), denominator = exact_gaps(from_gaps(u), from_gaps(v))  # type: ignore[arg-type]
    return gap_difference(x, y, denominator)


def exactly(u: Iterable[object], v: Iterable[object]) -> Crossings:
    return crossings([0, *(-Fraction(x) for x in u)], [0, *(-Fraction(x) for x in v)])  # type: ignore[arg-type]


@given(testing.integer_gap_pairs())
@example(([1, 5, 6], [2, 3, 7]))  # equal sums
@example(([2, 2, 3], [1, 3, 3]))
def test_integer_gaps_agree_with_the_exact_roots_of_a_polynomial(pair: tuple[list[int], list[int]]) -> None:
    """SymPy's factors and real roots are the slow reference, for float64 input and for exact input."""
    u, v = pair
    truth = polynomial_crossings(u, v)
    for computed in (of_gaps(u, v), exactly(u, v)):
        assert computed.identical == (u == v) == (computed.sign_at_one == 0)
        assert computed.complete and [c.multiplicity for c in computed.crossings] == [m for _, m in truth]
        for crossing, (root, _) in zip(computed.crossings, truth, strict=True):
            assert crossing.lower < root < crossing.upper and crossing.lower <= crossing.root <= crossing.upper
            assert crossing.upper - crossing.lower <= 1e-12 * crossing.upper
        assert computed.bound >= sum(m for _, m in truth)
        assert all(s.upper <= t.lower for s, t in pairwise(computed.crossings))
    gaps = (exact_ranks.exact_gaps(from_gaps(x)) for x in (u, v))  # type: ignore[arg-type]
    assert computed.sign_at_one == exact_ranks.compared(*gaps, Fraction(1))


@settings(max_examples=examples(100))
@given(testing.integer_gap_pairs())
def test_bound_counts_the_sign_changes_of_the_integrated_counting_function(pair: tuple[list[int], list[int]]) -> None:
    """The slow reference: H at every quarter of a unit, from its definition."""
    u, v = pair
    times = [Fraction(k, 4) for k in range(4 * (max(u + v) + 2))]
    h = [sum(max(t - k, 0) for k in u) - sum(max(t - k, 0) for k in v) for t in times]
    signs = [x > 0 for x in h if x]
    assert of_gaps(u, v).bound == sum(s != t for s, t in pairwise(signs))


@pytest.mark.parametrize("order", [3, 5, 6, 13])
def test_proved_signs_see_through_cancellation(order: int) -> None:
    """Prouhet-Tarry-Escott pairs: g is about r^order near 0; of order 13 float64 and 65 bits cannot tell its sign."""
    numbers = range(1, 2**order + 1)
    u = [float(k) for k in numbers if (k - 1).bit_count() % 2 == 0]
    v = [float(k) for k in numbers if (k - 1).bit_count() % 2 == 1]
    (x, y), denominator = exact_gaps(from_gaps(u), from_gaps(v))
    g = gap_difference(x, y, denominator)
    # sum over u of q^k less that over v is q prod (1 - q^(2^i)), which is positive for 0 < q < 1
    used: set[str] = set()
    assert g.sign(2.0**-9, used) == 1 and (order < 13 or used == {"ball"})
    assert order == 13 or [g.sign(r) for r in (1e-12, 1e-3, 1.0, 300.0)] == [1, 1, 1, 1]
    assert order == 13 or of_gaps(u, v).count == 0


def polynomial_pair(factors: list[list[int]]) -> tuple[list[int], list[int]]:
    """Integer gaps whose difference F_a - F_b is (1 - x) times the product of the factors, lowest coefficient first."""
    product = np.array([1, -1], dtype=object)
    for factor in factors:
        product = np.convolve(product, np.array(factor, dtype=object))
    return [k for k, c in enumerate(product) for _ in range(c)], [k for k, c in enumerate(product) for _ in range(-c)]


def test_what_cannot_be_resolved_is_one_cluster_and_not_complete() -> None:
    """An exact tangency among gaps whose polynomial has too large a degree: neither two crossings nor none."""
    u, v = polynomial_pair([[-1, 2], [-1, 2]])
    long = [Fraction(k) for k in u] + [Fraction(k) + Fraction(1, 10**9) for k in u]
    other = [Fraction(k) for k in v] + [Fraction(k) + Fraction(1, 10**9) for k in v]
    computed = exactly(long, other)  # F_a - F_b times 1 + x^(1e-9): degree 5e9, the same double zero
    (cluster,) = computed.crossings
    assert cluster.multiplicity is None and not computed.complete and computed.certificate == "ball"
    assert cluster.lower <= math.log(2) <= cluster.upper and cluster.upper - cluster.lower < 1e-9


def test_crossings_outside_the_float64_range_are_enclosed_by_its_ends() -> None:
    certified = of_gaps((0.0, 5e-324, 5e-324), (0.0, 1e-323, 0.0))
    assert certified.complete and certified.count == certified.bound == 0
    golden = exactly(*([Fraction(k, 10**312) for k in side] for side in ((5, 8), (6, 6))))
    (only,) = golden.crossings
    assert golden.complete and only.lower > 1.79e308 and only.upper == math.inf and only.multiplicity == 1
    near_zero = exactly((2, 2), (1, 3 + Fraction(1, 10**400)))  # g = 1e-400 r - r^2 + ...
    (only,) = near_zero.crossings
    assert near_zero.complete and (only.lower, only.upper, only.multiplicity) == (0.0, 5e-324, 1)
    both = exactly(*([Fraction(k, 10**312) for k in side] for side in ((2, 7, 7), (3, 3, 13))))
    assert not both.complete and [(c.upper, c.multiplicity) for c in both.crossings] == [(math.inf, None)]
    u, v = polynomial_pair([[-1, 2], [-1, 3]])
    two = exactly(*([Fraction(k, 10**308) for k in side] for side in (u, v)))  # near the largest float, 2^1023 between
    assert two.complete and two.roots == pytest.approx([1e308 * math.log(2), 1e308 * math.log(3)], rel=1e-12)
    (only,) = exactly((2, 2), (1, 3 + Fraction(1, 10**320))).crossings  # g = 1e-320 r - r^2 + ...
    assert only.multiplicity == 1 and 0 < only.lower <= 1e-320 <= only.upper == only.lower + 5e-324


def test_an_ill_conditioned_crossing_is_narrowed_at_any_scale() -> None:
    """The float64 estimate is off by more than the width asked for, where floats are 1e260 apart."""
    u, v = polynomial_pair([[-1, 2], [-1000, 2001], [-1, 3], [-1, 4]])
    for scale in (1.0, 2.0**-920):
        certified = of_gaps([scale * k for k in u], [scale * k for k in v], rtol=1e-15)
        assert certified.complete and certified.certificate == "ball"
        truth = sorted(math.log(x) / scale for x in (2, 2.001, 3, 4))
        assert certified.roots == pytest.approx(truth, rel=1e-14)
        assert all(c.upper - c.lower <= 1e-15 * c.upper for c in certified.crossings)


def test_vocabulary_size_is_certified() -> None:
    rng = np.random.default_rng(3)
    a, b = (np.sort(rng.normal(scale=3, size=20_000))[::-1].copy() for _ in range(2))
    a[:4] += 9
    b[:5] += 9
    b[5000:] -= ((a[0] - a).sum() - (b[0] - b).sum() + 1.0) / 15_000
    certified = crossings(a, b)
    assert certified.complete and certified.count == certified.bound == 2
    (u, v), denominator = exact_gaps(a, b)
    g = gap_difference(u, v, denominator)
    for c in certified.crossings:
        lower, upper = (g.ball(Fraction(end), 128) for end in (c.lower, c.upper))
        assert lower * upper < 0 and c.upper - c.lower <= 1e-12 * c.upper


@pytest.mark.parametrize("r", [1e-3, 0.05, 1.0, 30.0])
def test_condensed_sums_hold_the_sum(r: float) -> None:
    """The ball of all terms, one by one, is the slow reference."""
    rng = np.random.default_rng(8)
    g = g_of(np.sort(rng.exponential(3.0, size=900)), np.sort(rng.exponential(3.0, size=900)))
    condensed = g._condensed_ball(Fraction(r))
    assert condensed.contains(g.ball(Fraction(r), 256)) and condensed.rad() < 1e-21 * g.total_weight
    for narrow in (Fraction(10**40), Fraction(g.denominator)):  # buckets narrower than the unit of the exponents
        ball = g._condensed_ball(narrow)
        assert ball.contains(g.ball(narrow, 256)) and ball.rad() < 1e-16 * g.total_weight


def exactly_summed(g: ExponentialSum, r: Fraction, power: int = 0, absolute: bool = False) -> mpmath.mpf:
    """The sum of c_j w_j^power exp(-r w_j) over the shifted exponents at the working precision."""
    scale = mpmath.mpf(r.numerator) / r.denominator
    terms = [(c, mpmath.mpf(w) / g.denominator) for c, w in zip(g.coefficients, g.shifted, strict=True)]
    return mpmath.fsum((abs(c) if absolute else c) * w**power * mpmath.exp(-scale * w) for c, w in terms)


@pytest.mark.parametrize(
    ("size", "r"), [(3, 1e-9), (3, 0.3), (3, 2.0), (3, 40.0), (3, 600.0), (2000, 0.3), (2100, 0.3)]
)
def test_float64_sums_are_within_the_error_that_they_state(size: int, r: float) -> None:
    rng = np.random.default_rng(size)
    many = (np.sort(rng.exponential(3.0, size=size)) for _ in range(2))
    g = g_of(*many) if size > 3 else g_of((1, 3, 3, 40), (2, 2, 4, 39))
    total, error = g._evaluate(r)
    with mpmath.workdps(40):
        assert abs(total - exactly_summed(g, Fraction(r))) <= error and g.value(r) == total
        moduli, moments = (exactly_summed(g, Fraction(r), power, absolute=True) for power in (0, 1))
    assert error <= 2.0**-52 * (2 * r * moments + 50 * moduli)


@pytest.mark.parametrize("bits", [64, 200])
@pytest.mark.parametrize("r", [Fraction(1, 7), Fraction(3), Fraction(90)])
def test_balls_hold_the_sum_and_are_as_small_as_their_bits(r: Fraction, bits: int) -> None:
    g = g_of((1, 3, 3, 40), (2, 2, 4, 39))
    with mpmath.workdps(120):
        decimals = mpmath.nstr(exactly_summed(g, r), 100)
    computed = g.ball(r, bits)
    with precision(400):
        assert (computed + arb(0, 1) * arb(10) ** -90).contains(arb(decimals))
    assert computed.rad() <= 2.0 ** (6 - bits)
    exponential_sum = g_of((1, 200), (2, 201))  # its last terms are left out: exp(-199 r) is below 2^-64
    with precision(64):
        truth = arb(1) - (-arb(3)).exp()
    left_out = exponential_sum.ball(Fraction(3), 64)
    assert left_out.overlaps(truth) and 2.0**-63 <= left_out.rad() < 2.0**-61


def test_signs_say_whether_float64_was_enough() -> None:
    g = g_of((1, 3, 3, 40), (2, 2, 4, 39))
    for r, name in ((1.0, set()), (1e-280, {"ball"}), (1e295, {"ball"})):
        used: set[str] = set()
        assert g.sign(r, used) == g.sign(Fraction(r)) == g.sign_right_of(Fraction(r)) and used == name
    assert g.sign_right_of(Fraction(0)) == g.order_at_zero[1]
    assert g_of((1, 2), (1, 2)).sign(1.0) == 0
    vanishing = ExponentialSum((0, 10**250), (1, -1), 1)  # beyond float64 and below its normal range
    with np.errstate(all="raise"):
        assert [vanishing.value(r) for r in (1e250, 1e-247, 7.1e-248)] == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("bits", [2, 3, 64])
def test_what_balls_leave_out_is_within_them(bits: int) -> None:
    """Two bits: heavy terms just beyond r w = 2, where exp(-2) is more than half of 2^-2."""
    edge = 1000 * bits
    g = ExponentialSum((0, edge, edge + 1, edge + 2), (1, 1, -(1 << 99), -(1 << 99)), 1000)
    ball = g.ball(Fraction(1), bits)
    assert ball.contains(g.ball(Fraction(1), 400)) and ball.rad() <= 1.01 * 2.0 ** (100 - bits)


@pytest.mark.parametrize("bits", [FLOAT64, 64, 128])
@pytest.mark.parametrize(("low", "high"), [(0, Fraction(1, 16)), (1, 2), (9, 10)])
def test_remainders_hold_what_follows_where_it_is_largest(low: int, high: Fraction, bits: int) -> None:
    """One term that outweighs all others: with r w = 4 from 0, with c w = K away from 0, and just beyond the cut."""
    unit, weight = 10**6, 1 << 50

    def model(offset: Fraction) -> TaylorModel:
        g = ExponentialSum((0, math.floor(offset * unit)), (1, -weight), unit)
        return taylor_model(g, Fraction(low), Fraction(high), bits)

    terms = len(model(Fraction(1)).polynomial.coeffs())
    centre, half = (Fraction(low + high) / 2, Fraction(high - low) / 2) if low else (Fraction(0), high)
    w = Fraction(4) / high if not low else Fraction(math.floor(terms / centre * unit), unit)
    with mpmath.workdps(60):
        z, step = (mpmath.mpf(x.numerator) / x.denominator for x in (centre * w, half * w))
        follows = [weight * mpmath.exp(-z) * step**k / mpmath.factorial(k) for k in range(terms, 3 * terms)]
        for stated, truth in (
            (model(w).remainder, mpmath.fsum(follows)),
            (model(w).slope_remainder, mpmath.fsum(k * x for k, x in enumerate(follows, terms))),
        ):
            assert truth <= mpmath.mpf(stated.lower().str(40, radius=False)) and float(stated) < 1.1 * truth
        if low:
            cut = Fraction(60 if bits == FLOAT64 else bits, low)
            early = cut * low / centre  # beyond the cut at the centre, not at the lower end
            value = 1 - weight * mpmath.exp(-low * mpmath.mpf(math.floor(early * unit)) / unit)
            within = model(early).polynomial(arb(-1)) + arb(0, 1) * model(early).remainder
            with precision(300):
                assert within.contains(arb(mpmath.nstr(value, 55)))
            edge, beyond = model(cut), model(cut + Fraction(1, unit))
            assert len(edge.polynomial.coeffs()) == terms and len(beyond.polynomial.coeffs()) <= terms
            assert beyond.polynomial.coeffs()[0].contains(1)
            lost = weight * mpmath.exp(-cut * low) * (1 - mpmath.mpf(low) / unit)
            assert lost <= float(beyond.remainder) and lost * half * cut <= float(beyond.slope_remainder)


ONE_ZERO = g_of(*polynomial_pair([[-1, 2]]))  # at log 2; positive below it


WHOLE, LEFT, RIGHT = (Fraction(2), Fraction(4)), (Fraction(2), Fraction(3)), (Fraction(3), Fraction(4))
TINY = Fraction(1, 2**59)


@pytest.mark.parametrize(
    ("coefficients", "remainder", "slope", "simple", "unresolved"),
    [
        ([2], 1.99, 9, [], []),
        ([2], 2, 9, [], [WHOLE]),  # the remainder may take all of it
        ([3, 2], 1, 2, [], [WHOLE]),
        ([-3, -2], 0.75, 0, [], []),
        ([0, 1], 0.25, 0.99, [WHOLE], []),
        ([0, 1], 0.25, 1, [], [WHOLE]),  # the slope may be 0
        ([0, 1], 0.22, 1, [], [LEFT, RIGHT]),
        ([0.5, 3, 1], 0, 0, [WHOLE], []),
        ([-0.5, 3, 1], 0, 0.5, [WHOLE], []),
        ([0.5, 3, 1], 0, 1, [(Fraction(5, 2), Fraction(3))], []),
        ([0, 1], 0, 9, [], [(3 - TINY, 3), (3, 3 + TINY)]),  # as far as pieces are cut
    ],
)
def test_a_piece_is_settled_only_where_the_remainder_leaves_no_doubt(
    coefficients: list[float], remainder: float, slope: float, simple: list[object], unresolved: list[object]
) -> None:
    terms = arb_poly([arb(fmpq(*Fraction(c).as_integer_ratio())) for c in coefficients])
    model = TaylorModel(Fraction(3), Fraction(1), -1, terms, arb(remainder), arb(slope), 128)  # of [2, 4]
    assert isolation_module._cut(ONE_ZERO, model, set()) == (simple, unresolved)


def test_a_zero_next_to_the_end_of_a_part_is_told_by_balls() -> None:
    below = Fraction(math.log(2))  # its float64 is below the logarithm
    above = Fraction(math.nextafter(math.log(2), 1))
    for part, simple in (
        ((below, Fraction(1)), True), ((above, Fraction(1)), False), ((Fraction(1, 2), below), False),
        ((Fraction(1, 2), above), True),
    ):  # fmt: skip
        used: set[str] = set()
        isolation = isolation_module.resolve(ONE_ZERO, [part], used, (FLOAT64,))
        assert isolation.simple == ((part,) if simple else ()) and isolation.clusters == () and used == {"ball"}


def exponential_sum(rng: random.Random, size: float) -> Callable[[float], float]:
    terms = [(rng.choice([-1, 1]) * rng.uniform(0.1, 2) * size, rng.uniform(0, 3)) for _ in range(rng.randint(2, 8))]
    return lambda r: sum(weight * math.exp(-r * gap) for weight, gap in terms)


def counted(function: Callable[[float], float], arguments: list[float]) -> Callable[[float], float]:
    return lambda x: arguments.append(x) or function(x)


@pytest.mark.parametrize("size", [1.0, 1e-160, 1e-300])
@pytest.mark.parametrize("xtol", [5e-324, 1e-13])
def test_brents_root_finder_takes_the_steps_of_scipy(size: float, xtol: float) -> None:
    rng, compared = random.Random(7), 0
    while compared < 200:
        function, a, b = exponential_sum(rng, size), rng.uniform(0, 2), rng.uniform(2, 30)
        if (function(a) < 0) == (function(b) < 0):
            continue
        ours: list[float] = []
        theirs: list[float] = []
        root = brent_root(counted(function, ours), a, b, xtol)
        expected = brentq(counted(function, theirs), a, b, xtol=xtol, rtol=4 * np.finfo(float).eps, disp=False)
        # A processor that rounds a product and a sum at once gives SciPy's compiled code other last digits.
        assert root == pytest.approx(expected, rel=1e-14, abs=2 * xtol) and abs(len(ours) - len(theirs)) <= 2
        compared += 1


def test_ends_that_are_zeros_are_returned_and_the_sigmoid_is_that_of_scipy() -> None:
    assert brent_root(lambda x: x - 1, 1.0, 3.0, 1e-12) == 1.0 == brent_root(lambda x: x - 1, 0.0, 1.0, 1e-12)
    x = np.concatenate([np.random.default_rng(0).uniform(-760, 760, 10_000), [-np.inf, np.inf, 0.0, -745.2, -710.0]])
    np.testing.assert_array_max_ulp(sigmoid(x), expit(x), maxulp=2)
