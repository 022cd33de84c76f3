"""Brent's root finder against SciPy's: the same estimates from as many values of the function."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit

from rws_theory.certified.brent import brent_root
from rws_theory.confidence import sigmoid


def exponential_sum(rng: random.Random, size: float) -> Callable[[float], float]:
    terms = [(rng.choice([-1, 1]) * rng.uniform(0.1, 2) * size, rng.uniform(0, 3)) for _ in range(rng.randint(2, 8))]
    return lambda r: sum(weight * math.exp(-r * gap) for weight, gap in terms)


def counted(function: Callable[[float], float], arguments: list[float]) -> Callable[[float], float]:
    return lambda x: arguments.append(x) or function(x)


@pytest.mark.parametrize("size", [1.0, 1e-160, 1e-300])
@pytest.mark.parametrize("xtol", [5e-324, 1e-13])
def test_it_takes_the_steps_of_scipy(size: float, xtol: float) -> None:
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


def test_ends_that_are_zeros_are_returned_and_equal_signs_refused() -> None:
    assert brent_root(lambda x: x - 1, 1.0, 3.0, 1e-12) == 1.0 == brent_root(lambda x: x - 1, 0.0, 1.0, 1e-12)
    with pytest.raises(ValueError, match=r"^function has the same sign at 2\.0 and 3\.0: "):
        brent_root(lambda x: x - 1, 2.0, 3.0, 1e-12)


def test_the_sigmoid_is_that_of_scipy() -> None:
    x = np.concatenate([np.random.default_rng(0).uniform(-760, 760, 10_000), [-np.inf, np.inf, 0.0, -745.2, -710.0]])
    np.testing.assert_array_max_ulp(sigmoid(x), expit(x), maxulp=2)
