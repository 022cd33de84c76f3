"""Many pairs at once: the vectorised counts are those of the scalar path, and the hard corpus is counted right."""

import math

import numpy as np
import pytest
from hard_pairs import KINDS, corpus

from rws_theory import classify_pairs, crossings
from rws_theory.pairs import DECIDED_BY
from rws_theory.testing import from_gaps


def decided(computed: object) -> list[str]:
    return [DECIDED_BY[k] for k in computed.decided_by]  # type: ignore[attr-defined]


@pytest.mark.parametrize(("scale", "size", "pairs"), [(3.0, 17, 250), (1e-6, 9, 40), (1e6, 30, 40)])
def test_random_pairs_are_classified_as_they_are_certified(scale: float, size: int, pairs: int) -> None:
    a, b = scale * np.random.default_rng(5).normal(size=(2, pairs, size))
    b[:, 0] += (b.max(1, keepdims=True) - b).sum(1) - (a.max(1, keepdims=True) - a).sum(1)  # totals near each other
    b[::7, 3:] = a[::7, 3:]
    classes = classify_pairs(a, b)
    for i in range(len(a)):
        certified = crossings(a[i], b[i])
        assert (classes.count[i], classes.bound[i], classes.complete[i]) == (certified.count, certified.bound, True)
    assert set(decided(classes)) >= ({"bound", "parity", "signs"} if pairs > 60 else {"bound", "parity"})


BOTH_FLIPS = (1, 7 / 2, 7 / 2), (3 / 2, 3 / 2, 13 / 2)
FLIP_AGAINST_BOTH_CONDITIONS = (1, 3 / 2, 7), (1 / 2, 3, 5)


def test_many_pairs_are_those_of_each_alone() -> None:
    """More pairs than are taken at a time, every kind of proof among them."""
    each = [BOTH_FLIPS, ((2, 2, 2), (1, 1, 1)), ((2, 2, 2), (1, 4, 4)), FLIP_AGAINST_BOTH_CONDITIONS]
    a, b = (np.tile([from_gaps(pair[side]) for pair in each], (1030, 1)) for side in (0, 1))
    classes = classify_pairs(a, b)
    assert classes.count.tolist() == [2, 0, 1, 2] * 1030 and classes.bound.tolist() == [2, 0, 1, 2] * 1030
    assert decided(classes) == ["signs", "bound", "parity", "signs"] * 1030 and classes.complete.all()


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
