"""Many pairs at once: the vectorised counts are those of the scalar path, and the hard corpus is counted right."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from flint import fmpz_poly
from hard_pairs import KINDS, _factor, _gaps, corpus

from rws_theory import classify_pairs, crossings
from rws_theory import pairs as pairs_module
from rws_theory.pairs import DECIDED_BY
from rws_theory.testing.logits import from_gaps


def decided(computed: object) -> list[str]:
    return [DECIDED_BY[k] for k in computed.decided_by]  # type: ignore[attr-defined]


@pytest.mark.parametrize(("scale", "size", "pairs"), [(3.0, 17, 250), (1e-6, 9, 40), (1e6, 30, 40)])
def test_random_pairs_are_classified_as_they_are_certified(scale: float, size: int, pairs: int) -> None:
    rng = np.random.default_rng(5)
    a, b = scale * rng.normal(size=(2, pairs, size))
    b[:, 0] += (b.max(1, keepdims=True) - b).sum(1) - (a.max(1, keepdims=True) - a).sum(1)  # totals near each other
    b[::7, 3:] = a[::7, 3:]
    classes = classify_pairs(a, b)
    for i in range(len(a)):
        certified = crossings(a[i], b[i])
        assert (classes.count[i], classes.bound[i], classes.complete[i]) == (certified.count, certified.bound, True)
    assert set(decided(classes)) >= ({"bound", "parity", "signs", "isolation"} if pairs > 60 else {"bound", "parity"})


BOTH_FLIPS = (1, 7 / 2, 7 / 2), (3 / 2, 3 / 2, 13 / 2)
FLIP_AGAINST_BOTH_CONDITIONS = (1, 3 / 2, 7), (1 / 2, 3, 5)


def test_many_pairs_are_those_of_each_alone() -> None:
    """More pairs than are taken at a time, every kind of proof among them."""
    each = [BOTH_FLIPS, ((2, 2, 2), (1, 1, 1)), ((2, 2, 2), (1, 4, 4)), FLIP_AGAINST_BOTH_CONDITIONS]
    a, b = (np.tile([from_gaps(pair[side]) for pair in each], (1030, 1)) for side in (0, 1))
    classes = classify_pairs(a, b)
    assert classes.count.tolist() == [2, 0, 1, 2] * 1030 and classes.bound.tolist() == [2, 0, 1, 2] * 1030
    assert decided(classes) == ["signs", "bound", "parity", "signs"] * 1030 and classes.complete.all()


X = fmpz_poly([0, 1])


def rows_of(*sides: Sequence[float]) -> np.ndarray:
    size = max(map(len, sides))
    return np.array([[*from_gaps(list(side)), *[-np.inf] * (size - len(side))] for side in sides])


def logits_of(polynomial: fmpz_poly, first: float = 0.0, unit: float = 1.0, common: Sequence[int] = ()) -> np.ndarray:
    """Two rows of logits: `polynomial`, in x = exp(-r unit), is the difference of their sums, up to exp(-r first)."""
    return rows_of(*([first + unit * k for k in [*side, *common]] for side in _gaps(polynomial)))


W = 6e-9 ** (1 / 3)
U, V = math.sqrt(2.8 * W**3), 1.95 * W**3
FIRST = 2.0**20 + 1 / 3  # beside it offsets have 32 bits left, and none is exact
HARD = {
    "one": logits_of(_factor(1, 2)),
    "one, of small gaps": logits_of(_factor(1, 2), unit=1e-7 / 3),
    "one, beyond a large gap": logits_of(_factor(1, 2), FIRST),
    "three, with 63 common gaps": logits_of(_factor(3, 5) * _factor(2, 7) * _factor(1, 9), 0.0, 1 / 3, [1, 2, 3] * 21),
    "two, all but one": logits_of(_factor(20, 26) * _factor(17, 30)),
    "threefold": logits_of((1 - 2 * X) ** 3),
    "fourfold": logits_of((1 - 2 * X) ** 4),
    "none, but nearly": logits_of(2 * (1 - 2 * X) ** 2 + X**40),
    "none within 1e-6": logits_of(2 * (1 - 2 * X) ** 2 + X**20),
    "one, and nearly 0 for an octave": rows_of([0], [2e-7, *[20] * 100]),  # 2e-7 r - 100 exp(-20 r)
    # w^3 r (r - 1.3) (r - 1.5), for small w: (1 - exp(-w r))^3 - (1 - exp(-u r))^2 + 1 - exp(-v r)
    "two, and nearly 0 for an octave": rows_of([0, 0, *[2 * W] * 3, U, U], [0, *[W] * 3, 3 * W, 2 * U, V]),
}


def pieces_of(name: str, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What is said of each piece: that it holds no zero, that it holds one."""
    times, signs, _ = pairs_module._merged(*HARD[name][:, None])
    sums = pairs_module._Sums.of(times, signs, pairs_module._bound(times, signs)[-1])
    return sums._pieces(np.zeros(len(low), dtype=np.intp), low, high)


@pytest.mark.parametrize("name", HARD)
def test_pieces_never_miss_a_zero(name: str) -> None:
    """Pieces of all widths that begin and end on either side of a zero, as near to it as floats come."""
    certified = crossings(*HARD[name], rtol=1e-15)
    assert certified.complete
    zeros = [(z.lower, z.upper, z.multiplicity) for z in certified.crossings]
    lower, upper = zeros[0][:2] if zeros else (math.log(2), math.log(2))
    shift = np.concatenate([[0.0], *([-d, d] for d in 2.0 ** -np.arange(2, 53.0, 2))])
    near, width = (grid.ravel() for grid in np.meshgrid(shift, 2.0 ** -np.arange(0, 44, 3)))
    begin, end = upper * (1 + near), lower * (1 + near)
    low, high = np.concatenate([begin, end / (1 + width)]), np.concatenate([begin * (1 + width), end])
    within = [(low > a) & (low < b) | (high > a) & (high < b) for a, b, _ in zeros]
    decidable = (high <= 2 * low) & ~np.any(within, axis=0)
    low, high = low[decidable], high[decidable]
    counts = sum(((low <= a) & (high >= b)) * m for a, b, m in zeros) + np.zeros(len(low))
    none, one = pieces_of(name, low, high)
    assert not counts[none].any() and (counts[one] == 1).all() and not (none & one).any()


def test_hard_corpus_is_counted_without_a_mistake() -> None:
    pairs = list(corpus(6, np.random.default_rng(11)))
    assert {pair.kind for pair in pairs} == set(KINDS) and {3, 8} <= {pair.count for pair in pairs}
    for pair in pairs:
        certified = crossings(pair.a, pair.b)
        assert certified.complete and certified.count == pair.count, pair.kind
        many = classify_pairs(pair.a[None], pair.b[None])
        assert many.count[0] == pair.count and many.complete[0], pair.kind


ROUNDED = [  # what float64 proves of a pair, and how
    ([1.0], [2.0], "bound"),
    ([0.5, 0.1], [0.3, 0.7], "certification"),  # 0.4 and 0.4, but one rounded up
    ([-0.30000000000000004, -0.1, -1.2000000000000002], [0.1, 1.2000000000000002, 0.5], "bound"),
    ([1.0, 0.9, -np.inf], [1.0, 0.2, 0.2], "parity"),
    ([0.5, 0.7, 0.3], [0.2, 0.4, -np.inf], "certification"),  # H all but vanishes
    ([0.6, 0.5, -np.inf, 0.5], [0.5, 0.5, 1.1, 1.1], "signs"),  # the sign near 0 is that of the number of tokens
    ([29.0, 0.0, 7.0, 20.0], [4.0, 19.0, 9.0, -np.inf], "signs"),
    ([2.0**-60, -1.0, -2.0, -5.0], [0.0, -1.0, -3.0, -3.0], "certification"),  # 1 + 2^-60 and 1 are one float64 gap
]


@pytest.mark.parametrize(("a", "b", "decided_by"), ROUNDED, ids=map(str, range(len(ROUNDED))))
def test_only_what_rounding_leaves_open_is_certified(a: list[float], b: list[float], decided_by: str) -> None:
    classes = classify_pairs([a], [b])
    exact = crossings(a, b)
    assert (classes.count[0], classes.complete[0], classes.bound[0]) == (exact.count, exact.complete, exact.bound)
    assert DECIDED_BY[classes.decided_by[0]] == decided_by


def test_the_sign_at_a_double_zero_is_not_taken_from_rounding() -> None:
    """The coefficients of x (1 - 6 x)^2 at x = 6^-r: what is 0 at r = 1 comes out below 0 in float64."""
    step = math.log(6.0)
    a = [0.0, -step, *[-3 * step] * 36]
    b = [0.0, *[-2 * step] * 12, *[-np.inf] * 25]
    classes, exact = classify_pairs([a], [b]), crossings(a, b)
    assert DECIDED_BY[classes.decided_by[0]] == "certification" and classes.bound[0] == 2
    assert (classes.count[0], classes.complete[0]) == (exact.count, exact.complete)
