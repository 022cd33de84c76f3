"""Test whether a paired difference is real: a permutation test of its mean, Holm's correction, and step-down max-T.

Holm's correction treats several tests as if each were a new chance. Max-T uses how alike tests of the same prompts are.
"""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paper_figures.statistics.resampling import exchange_tests
from rws_theory.checks import whole

LEAST_PAIRS = 6
"""Of fewer pairs, no two-sided sign-flip test comes below p = 0.05: the least p of n pairs is 2 / 2^n."""


def paired_test(first: ArrayLike, second: ArrayLike, rng: np.random.Generator, resamples: int = 9999) -> float:
    """Return the two-sided p-value of a zero mean difference, by the sign-flip permutation test of the pairs.

    If the two of a pair are exchangeable, every sign of a difference is as likely as the other. p is the share of sign
    patterns whose mean is at least as far from 0. If the 2^n patterns are no more than `resamples`, all are tried and p
    is exact. Otherwise drawn ones give (b + 1) / (m + 1), which is never 0 (Phipson and Smyth 2010). p is 1.0 if at
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


def max_t(
    differences: ArrayLike, rng: np.random.Generator, resamples: int = 9999, groups: ArrayLike | None = None
) -> list[float]:
    """Return the p-value of each comparison, adjusted for all of them (Westfall and Young 1993, step-down max-T).

    `differences` has shape (comparisons, prompts) and is finite. Row i holds method i less the default on each prompt,
    all on the same prompts. The null is that the two of a pair are exchangeable, for all methods of a prompt jointly.
    So each draw flips the signs of whole prompts. With the rows in descending order of |t|, the p of row (i) is the
    share of patterns in which the greatest |t| of the rows (i), (i + 1), ... reaches its own, and no less than the p
    before it. Those at most alpha hold together at error at most alpha. If the patterns are no more than `resamples`,
    all are tried. Otherwise drawn ones give (b + 1) / (m + 1) (Phipson and Smyth 2010).

    |t| = sqrt(n - 1) u / sqrt(n - u^2), with u = |sum d| / sqrt(sum d^2), rises with u, and signs leave sum d^2 as it
    is. So u stands for it, which needs no division by a standard deviation of 0. A row of zeros has p = 1. The p of one
    row alone is that of `paired_test`. ValueError is raised for other arrays.

    groups: names of the shape of `differences`; prompts of one name in a row are one unit, with the sum of their d.

    >>> max_t([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, -1.0, 0.0]], np.random.default_rng(0))
    [0.25, 0.25, 1.0]
    """
    array = np.asarray(differences, dtype=np.float64)
    if array.ndim != 2 or not array.size:
        raise ValueError(f"differences has shape {array.shape}: (comparisons, prompts), both at least 1, is needed")
    if not np.isfinite(array).all():
        raise ValueError("differences holds values that are not finite: leave out such prompts in all rows")
    whole("resamples", resamples)
    if groups is not None:
        array = np.stack([_sums_at_first(row, names) for row, names in zip(array, np.asarray(groups), strict=True)])
    rows = _unit_rows(array[:, (array != 0).any(axis=0)])  # a sign changes no prompt on which all methods are equal
    sums = rows.sum(axis=1)
    order = np.argsort(-np.abs(sums), kind="stable")
    rows, sums = rows[order], sums[order]
    # The thresholds allow for rounding, as the same numbers are summed in other orders.
    thresholds = np.abs(sums) - 1e-12 * np.abs(rows).sum(axis=1)

    def as_far(exchanged: NDArray[np.bool_]) -> NDArray[np.int64]:
        reached = np.abs(sums - 2 * (exchanged.astype(np.float64) @ rows.T))
        greatest = np.maximum.accumulate(reached[:, ::-1], axis=1)[:, ::-1]
        return (greatest >= thresholds).sum(axis=0)

    adjusted = np.empty(len(array))
    adjusted[order] = np.maximum.accumulate(exchange_tests(rows.shape[1], as_far, rng, resamples))
    return adjusted.tolist()


def max_t_of_groups(differences: ArrayLike, groups: ArrayLike) -> list[float]:
    """Return p-values as `max_t` has them, of prompts that may be alike within a group, whatever the groups' sizes.

    The wild cluster bootstrap with the null imposed (Cameron, Gelbach and Miller 2008): each pattern turns the signs of
    whole groups, all 2^G are tried, and t is |mean| over its error, sqrt(sum of squared sums of groups' deviations).
    `groups` has the name of each prompt's group. ValueError is raised for more than 16 groups.

    >>> max_t_of_groups([[1.0, 2.0, 3.0, 3.0], [1.0, -1.0, 0.0, 0.0]], ["a", "b", "c", "c"])
    [0.25, 1.0]
    """
    array = np.asarray(differences, dtype=np.float64)
    places = np.unique(np.asarray(groups), return_inverse=True)[1]
    sizes = np.bincount(places).astype(np.float64)
    if sizes.size > 16:
        raise ValueError(f"groups has {sizes.size} names: at most 16 are needed, as all patterns of signs are tried")
    sums = array @ np.eye(sizes.size)[places]
    signs = 1.0 - 2.0 * (np.arange(2**sizes.size)[:, None] >> np.arange(sizes.size) & 1)

    def t_of(turned: NDArray[np.float64]) -> NDArray[np.float64]:
        means = turned.sum(-1) / sizes.sum()
        errors = np.linalg.norm(turned - means[..., None] * sizes, axis=-1)
        return np.divide(np.abs(means), errors, out=np.where(means != 0, np.inf, 0.0), where=errors > 0)

    found, greatest = t_of(sums), np.zeros(len(signs))
    order, adjusted = np.argsort(-found, kind="stable"), np.ones(len(array))
    for row in order[::-1]:
        greatest = np.maximum(greatest, t_of(signs * sums[row]))
        adjusted[row] = (greatest >= found[row] * (1 - 1e-9)).mean()  # the same numbers, summed in other orders
    adjusted[order] = np.maximum.accumulate(adjusted[order])
    return adjusted.tolist()


def _sums_at_first(values: NDArray[np.float64], names: NDArray[Any]) -> NDArray[np.float64]:
    """Return the sum of each group's values in the place of its first member, and 0 in the places of the others."""
    _, first, places = np.unique(names, return_index=True, return_inverse=True)
    sums = np.zeros(values.size)
    sums[first] = np.bincount(places, weights=values)
    return sums


def _unit_rows(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide each row by its length; first by its greatest, so that no square under- or overflows."""
    for scale in (lambda rows: np.abs(rows).max(axis=1, initial=0), lambda rows: np.linalg.norm(rows, axis=1)):
        size = scale(array)[:, None]
        array = np.divide(array, size, out=np.zeros_like(array), where=size > 0)
    return array
