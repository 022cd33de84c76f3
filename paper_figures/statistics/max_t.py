"""Test several correlated comparisons over the same prompts at once, as a row of scales against one default.

Holm's correction treats them as if each were a new chance. The step-down max-T uses how alike they are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paper_figures.statistics.resampling import exchange_tests
from rws_theory.checks import whole

__all__ = ["max_t"]


def max_t(differences: ArrayLike, rng: np.random.Generator, resamples: int = 9999) -> list[float]:
    """Return the p-value of each comparison, adjusted for all of them (Westfall and Young 1993, step-down max-T).

    `differences` has shape (comparisons, prompts) and is finite. Row i holds method i less the default on each prompt,
    all on the same prompts. The null is that the two of a pair are exchangeable, for all methods of a prompt jointly.
    So each draw flips the signs of whole prompts. With the rows in descending order of |t|, the p of row (i) is the
    share of patterns in which the greatest |t| of the rows (i), (i + 1), ... reaches its own, and no less than the p
    before it. Those at most alpha hold together at error at most alpha. If the patterns are no more than `resamples`,
    all are tried. Otherwise drawn ones give (b + 1) / (m + 1) (Phipson and Smyth 2010).

    |t| = sqrt(n - 1) u / sqrt(n - u^2), with u = |sum d| / sqrt(sum d^2), rises with u, and signs leave sum d^2 as it
    is. So u stands for it, which needs no division by a standard deviation of 0. A row of zeros has p = 1. The p of one
    row alone is that of `paper_figures.statistics.significance.paired_test`. ValueError is raised for other arrays.

    >>> max_t([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, -1.0, 0.0]], np.random.default_rng(0))
    [0.25, 0.25, 1.0]
    """
    array = np.asarray(differences, dtype=np.float64)
    if array.ndim != 2 or not array.size:
        raise ValueError(f"differences has shape {array.shape}: (comparisons, prompts), both at least 1, is needed")
    if not np.isfinite(array).all():
        raise ValueError("differences holds values that are not finite: leave out such prompts in all rows")
    whole("resamples", resamples)
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


def _unit_rows(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide each row by its length; first by its greatest, so that no square under- or overflows."""
    for scale in (lambda rows: np.abs(rows).max(axis=1, initial=0), lambda rows: np.linalg.norm(rows, axis=1)):
        size = scale(array)[:, None]
        array = np.divide(array, size, out=np.zeros_like(array), where=size > 0)
    return array
