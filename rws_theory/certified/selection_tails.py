"""Prove that positions which are ahead at one scale stay ahead at all larger ones, or at all smaller ones.

Both tests are sufficient (docs/theory.md, eq. (T80), (T81)). Where the limits tie, or nearly so, exact gaps decide.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from rws_theory.certified.selection_pairs import ExactPair, Pairs
from rws_theory.certified.selection_sums import Row, sample

_SLACK = 2.0**-40  # more than the rounding of all sums here
_NEAR = 1e-9
Couples = NDArray[np.bool_]


def settled_above(pairs: Pairs, inside: Sequence[int], outside: Sequence[int], couples: Couples, c: float) -> bool:
    """Say whether each row of `inside` is proved to stay ahead of those of `outside` at all scales from c on.

    They are ahead at c; `couples` [inside, outside] says which are compared.
    """
    rows = pairs.rows
    samples = [sample(rows[j], c) for j in outside]
    slope = np.array([-s.slope + s.slope_error for s in samples])
    delta = np.array([rows[i].delta for i in inside])[:, None]
    limit = np.array([rows[j].delta for j in outside])
    stays = delta * (1 - _SLACK) >= slope  # l_i gains at least delta_i, l_j at most mu_j(c)
    near = abs(delta - limit) <= _NEAR * np.maximum(delta, limit)
    return _all_settled(pairs, inside, outside, stays | ~couples, near, lambda pair: _beyond(pair, c, math.inf))


def settled_below(pairs: Pairs, inside: Sequence[int], outside: Sequence[int], couples: Couples, c: float) -> bool:
    """Say whether each row of `inside` is proved to stay ahead of those of `outside` at all scales up to c."""
    count, total, square = _moments(pairs.rows)
    i, j = np.array(inside)[:, None], np.array(outside)
    more, lead = count[j] - count[i], total[i] * (1 - _SLACK) - total[j] * (1 + _SLACK)
    with np.errstate(over="ignore"):
        stays = np.where(
            more > 0,
            c * total[j] * (1 + _SLACK) <= more,  # F_i <= n_i <= n_j - c Sigma_j < F_j
            (more == 0) & (c * square[i] / 2 * (1 + _SLACK) <= lead),
        )
    near = (more == 0) & (abs(total[i] - total[j]) <= _NEAR * np.maximum(total[i], total[j]))
    return _all_settled(pairs, inside, outside, stays | ~couples, near, lambda pair: _beyond(pair, 0.0, c))


def _all_settled(
    pairs: Pairs,
    inside: Sequence[int],
    outside: Sequence[int],
    settled: NDArray[np.bool_],
    near: NDArray[np.bool_],
    proved: Callable[[ExactPair], bool],
) -> bool:
    """Ask the exact gaps about the couples that are open, if their limits are near each other; others stay open."""
    if (~settled & ~near).any():
        return False
    for m, n in np.argwhere(~settled):
        pair = pairs.exact(inside[m], outside[n])
        if pair is None or not proved(pair):
            return False
    return True


def _beyond(pair: ExactPair, low: float, high: float) -> bool:
    """Say whether no change of order lies between two scales, or may lie there."""
    return not any(lower < high and low < upper for lower, upper in pair.brackets)


def _moments(rows: Sequence[Row]) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the number of gaps of each row, their sum and the sum of their squares."""
    gaps = [row.logits[0] - row.logits[1:] for row in rows]
    with np.errstate(over="ignore"):
        totals = [(u.size, math.fsum(u.tolist()), float((u * u).sum())) for u in gaps]
    count, total, square = zip(*totals, strict=True)
    return np.array(count), np.array(total), np.array(square)
