"""Test whether a paired difference is 0: a permutation test of its mean, and Holm's correction for several tests."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paper_figures.statistics.resampling import exchange_tests

LEAST_PAIRS = 6
"""Of fewer pairs, no two-sided sign-flip test comes below p = 0.05: the least p of n pairs is 2 / 2^n."""


def paired_test(first: ArrayLike, second: ArrayLike, rng: np.random.Generator, resamples: int = 9999) -> float:
    """Return the two-sided p-value of a zero mean difference, by the sign-flip permutation test of the pairs.

    If the two of a pair are exchangeable, every sign of a difference is as likely as the other. p is the share of sign
    patterns whose mean is at least as far from 0. If the 2^n patterns are no more than `resamples`, all are tried and p
    is exact. Otherwise random ones give (b + 1) / (m + 1), which is never 0 (Phipson and Smyth 2010). p is 1.0 if at
    most one pair differs.

    It is `scipy.stats.permutation_test` with permutation_type "samples", computed by products with matrices of signs,
    because a table of six reward models has thousands of these tests. Unlike Wilcoxon's signed-rank test it is about
    the mean, the number that the tables show, and it is as valid for shares and tied values. `first` and `second` are
    finite, (n,), n >= 1. ValueError is raised otherwise.

    >>> paired_test([1.0, 2.0, 3.0], [0.0, 0.0, 0.0], np.random.default_rng(0))
    0.25
    """
    first_values, second_values = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if first_values.ndim != 1 or first_values.shape != second_values.shape or not first_values.size:
        raise ValueError(
            f"first has shape {first_values.shape}, second {second_values.shape}: pairs, (n,) with n >= 1, are needed"
        )
    differences = first_values - second_values
    if not np.isfinite(differences).all():
        raise ValueError("first or second holds values that are not finite")
    differences = differences[differences != 0]  # a sign changes no difference of 0
    if differences.size < 2:
        return 1.0  # both signs are as far from 0
    # The threshold allows for rounding, as the same numbers are summed in other orders.
    threshold = abs(differences.sum()) - 1e-12 * np.abs(differences).sum()
    total = differences.sum()

    def as_far(exchanged: NDArray[np.bool_]) -> NDArray[np.int64]:
        return (np.abs(total - 2 * (exchanged.astype(np.float64) @ differences)) >= threshold).sum(keepdims=True)

    return float(exchange_tests(differences.size, as_far, rng, resamples)[0])


def spread_text(pairs: int, low: float, high: float, p: float | None, form: str) -> str:
    """Return the interval and p of a difference for reading, or that there are too few pairs for either.

    A bootstrap interval of a few pairs is too narrow, and would stand beside a test that cannot agree (`LEAST_PAIRS`).

    >>> spread_text(8, 0.1, 0.2, 0.031, "+.2f"), spread_text(3, 0.1, 0.2, 0.5, "+.2f")
    ('[+0.10, +0.20], p 0.031', '(n = 3, too few)')
    """
    if pairs < LEAST_PAIRS:
        return f"(n = {pairs}, too few)"
    spread = f"in all {pairs}" if low == high else f"[{low:{form}}, {high:{form}}]"
    return spread if p is None else f"{spread}, p {p:.2g}"


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for their number: those at most alpha hold together at error at most alpha (Holm 1979).

    Sorted ascending, p_(i) becomes max over j <= i of min(1, (m - j + 1) p_(j)). The results are in the order given, in
    [0, 1].

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p_values, dtype=np.float64)
    if values.ndim != 1 or not ((values >= 0) & (values <= 1)).all():
        raise ValueError(f"p_values is {p_values!r}: numbers from 0 to 1 are needed")
    order = np.argsort(values, kind="stable")
    adjusted = np.empty_like(values)
    adjusted[order] = np.maximum.accumulate(np.minimum(1.0, (len(values) - np.arange(len(values))) * values[order]))
    return adjusted.tolist()


def holm_within(rows: Sequence[MutableMapping[str, Any]], same: Sequence[str], p: str = "p") -> None:
    """Put `p_holm` into rows of tests: their `p` adjusted for the number of rows that agree in the columns `same`.

    Rows whose p is None are no tests and get None. `p` is the name of the column, if rows have several.

    >>> rows = [{"guide": "a", "p": 0.01}, {"guide": "b", "p": 0.04}, {"guide": "c", "p": None}]
    >>> holm_within(rows, ())
    >>> [row["p_holm"] for row in rows]
    [0.02, 0.04, None]
    """
    families: dict[tuple[Any, ...], list[MutableMapping[str, Any]]] = {}
    for row in rows:
        row[f"{p}_holm"] = None
        if row[p] is not None:
            families.setdefault(tuple(row[name] for name in same), []).append(row)
    for family in families.values():
        for row, adjusted in zip(family, holm([row[p] for row in family]), strict=True):
            row[f"{p}_holm"] = adjusted
