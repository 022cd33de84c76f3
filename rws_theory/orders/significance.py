"""Test an observed commit order against random orders of the same schedule.

The null hypothesis is a random order with the observed schedule: every arrangement of the commit steps over the
positions (of a block) is equally likely. So the number of tokens in each step stays as it was.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rws_theory.checks import one_of, whole
from rws_theory.orders.deviation import READINGS, Reading, check_commit_step, generation_order_deviation
from rws_theory.orders.null import LIMITS, affordable, convolved, moments
from rws_theory.show import figures, table_html

__all__ = ["OrderTest", "order_test"]

Alternative = Literal["two-sided", "less", "greater"]
Method = Literal["auto", "exact", "normal", "monte-carlo"]


@dataclass(frozen=True)
class OrderTest:
    """An observed GOD against random orders of the same schedule: see :func:`order_test`.

    ``god``, ``mean``, ``deviation`` are in token positions or in steps, as ``reading`` says; ``mean`` and ``deviation``
    (standard deviation) are exact. ``z`` = (god - mean) / deviation, 0 where only one GOD is possible. ``p_value``
    belongs to ``alternative`` and was obtained by ``method``. ``samples`` is how many orders were drawn (0 unless Monte
    Carlo).
    """

    god: float
    mean: float
    deviation: float
    z: float
    p_value: float
    alternative: str
    method: str
    reading: str
    samples: int

    def __repr__(self) -> str:
        by = f"{self.samples:,} orders drawn" if self.samples else self.method
        random = f"{figures(self.mean)} +- {figures(self.deviation)}"
        p = f"p {self.p_value:.3g} {self.alternative}"
        return f"OrderTest(GOD {figures(self.god)}, random {random}, z {self.z:.3g}, {p}, {by})"

    def _repr_html_(self) -> str:
        by = f"{self.method}, {self.samples:,} orders drawn" if self.samples else self.method
        rows = [
            (f"observed GOD, in {self.reading}", self.god),
            ("mean of random orders", self.mean),
            ("their standard deviation", self.deviation),
            ("z", self.z),
            (f"p ({self.alternative})", self.p_value),
        ]
        return table_html((), rows, f"Generation order against random orders of the same schedule ({by})")


def order_test(
    commit_step: ArrayLike,
    reading: Reading = "tokens",
    *,
    block: int | None = None,
    alternative: Alternative = "two-sided",
    method: Method = "auto",
    samples: int = 9999,
    rng: np.random.Generator | None = None,
) -> OrderTest:
    """Test the GOD of one commit order against random orders with as many tokens in every step.

    ``alternative``: "less" is closer to left to right than chance, P(GOD <= observed). "greater" is P(GOD >= observed).
    "two-sided" is P(|GOD - mean| >= |observed - mean|). The result names the method used:

    - ``"exact"``: the whole distribution by dynamic programming (:func:`footrule_distribution`).
    - ``"normal"``: the normal approximation with the exact mean and variance (Hoeffding 1951 proves the limit for the
      "steps" reading and for one token per step), corrected for continuity by 1, half the spacing of n GOD.
    - ``"monte-carlo"``: `samples` random orders from `rng`; p = (1 + hits) / (1 + samples), which is a valid p-value
      for every number of samples.
    - ``"auto"``: exact where :func:`footrule_distribution` is (and n GOD stays below 2^21 steps), else normal.

    Rounding: mean and deviation are within n 2^-52 of themselves, z within as much of |z| + mean / deviation. An exact
    p has the relative error of :func:`footrule_distribution`, a normal one what the error of z makes of it.

    commit_step: integers, shape (n,): the step, from 0, at which each position was committed. reading: which GOD, see
    :func:`rws_theory.generation_order_deviation`. block: orders are random inside consecutive blocks of this length
    only; a block's steps must not come after those of the next one. Default: one block. ValueError for commit_step as
    for GOD and not of shape (n,), a block that does not divide n, blocks out of order, an unknown reading, alternative
    or method, "exact" beyond its limits, and "monte-carlo" without `rng`.

    >>> test = order_test([1, 0, 2, 3, 5, 4, 6, 7], alternative="less")
    >>> test
    OrderTest(GOD 0.5, random 2.625 +- 0.64952, z -3.27, p 0.00102 less, exact)
    >>> test.god, test.mean, test.method, round(test.p_value * 40320)
    (0.5, 2.625, 'exact', 41)
    """
    steps = check_commit_step(commit_step)
    if steps.ndim != 1:
        raise ValueError(f"commit_step must have shape (n,) for a test, got shape {steps.shape}")
    one_of("reading", reading, READINGS)
    one_of("alternative", alternative, get_args(Alternative))
    one_of("method", method, get_args(Method))
    n = steps.size
    length = whole("block", n if block is None else block)
    if n % length:
        raise ValueError(f"block must divide n = {n}, got {block}")
    if int(steps.max()) >= 2**63:
        raise ValueError(f"commit_step must be below 2^63 for a test, got {steps.max()}")
    blocks = np.split(steps.astype(np.int64), n // length)
    if any(earlier.max() > later.min() for earlier, later in pairwise(blocks)):
        raise ValueError(f"block must split commit_step into blocks committed from left to right, got {length}")

    if method == "auto":
        method = "exact" if affordable(blocks, reading) else "normal"
    elif method == "exact" and not affordable(blocks, reading):
        raise ValueError(f"method must be 'normal' or 'monte-carlo' for an order of this size ({LIMITS}), got 'exact'")
    block_moments = [moments(b, reading) for b in blocks]
    mean, deviation = sum(m for m, _ in block_moments), math.sqrt(sum(v for _, v in block_moments))
    observed = round(n * float(generation_order_deviation(steps, reading)))
    drawn = 0
    if method == "exact":
        probabilities = convolved(blocks, reading)
        p = float(probabilities[_extreme(2.0 * np.arange(probabilities.size), observed, mean, alternative)].sum())
    elif method == "monte-carlo":
        if rng is None:
            raise ValueError("rng must be a numpy Generator for method 'monte-carlo', got None")
        drawn = whole("samples", samples)
        shuffled = np.concatenate([rng.permuted(np.tile(b, (drawn, 1)), axis=1) for b in blocks], axis=1)
        footrules = n * generation_order_deviation(shuffled, reading)
        p = (1 + int(_extreme(footrules, observed, mean, alternative).sum())) / (1 + drawn)
    else:
        p = _normal_p(observed, mean, deviation, alternative)
    return OrderTest(
        god=observed / n,
        mean=mean / n,
        deviation=deviation / n,
        z=(observed - mean) / deviation if deviation else 0.0,
        p_value=min(p, 1.0),
        alternative=alternative,
        method=method,
        reading=reading,
        samples=drawn,
    )


def _extreme(values: Any, observed: int, mean: float, alternative: str) -> NDArray[np.bool_]:
    slack = 1e-9 * (1 + mean)  # the mean is rounded; equal distances from it must count
    if alternative == "less":
        return values <= observed + slack
    if alternative == "greater":
        return values >= observed - slack
    return np.abs(values - mean) >= abs(observed - mean) - slack


def _normal_p(observed: int, mean: float, deviation: float, alternative: str) -> float:
    from scipy.special import ndtr  # here, so that measuring an order does not wait for SciPy

    if deviation == 0:
        return 1.0
    if alternative == "less":
        return float(ndtr((observed + 1 - mean) / deviation))
    if alternative == "greater":
        return float(ndtr(-(observed - 1 - mean) / deviation))
    return float(2 * ndtr(-max(abs(observed - mean) - 1, 0.0) / deviation))
