"""Cut a range of scales into cells on which the winners of a contest for k seats are proved, and brackets between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rws_theory.certified.selection_pairs import Pairs

_Array = NDArray[np.float64]
_ROUNDOFF = 2.0**-53
_NARROW = 1 / 16
_MOST_PAIRS = 28
_HOPELESS = 1e4
_FRACTION = 0.4871


class Cell(NamedTuple):
    """Scales [lower, upper] with `counts` winners of each class; an estimate unless `proved`."""

    lower: float
    upper: float
    counts: tuple[int, ...]
    proved: bool = False


class _Column(NamedTuple):
    """log F of several classes at one scale: rows value, error, slope and slope_error of `data`."""

    scale: float
    data: _Array

    def keep(self, mask: NDArray[np.bool_]) -> _Column:
        return _Column(self.scale, self.data[:, mask])


@dataclass(frozen=True, eq=False)
class _Contest:
    """Classes that may still win or lose one of `seats` between two columns; `counts` holds the settled numbers."""

    left: _Column
    right: _Column
    classes: NDArray[np.intp]
    seats: int
    counts: tuple[int, ...]

    @property
    def scales(self) -> tuple[float, float]:
        return self.left.scale, self.right.scale


def contest(pairs: Pairs, sizes: list[int], seats: int, low: float, high: float) -> list[Cell]:
    """Return cells that cover [low, high] in rising order.

    The classes have `sizes` members and contest 0 < seats < sum(sizes).
    """
    everyone = np.arange(len(sizes))
    left = _column(pairs, everyone, low)
    right = _column(pairs, everyone, high) if high > low else left
    stack = [_Contest(left, right, everyone, seats, (0,) * len(sizes))]
    cells: list[Cell] = []
    while stack:
        state, better = _settle(stack.pop(), pairs, np.array(sizes))
        a, b = state.scales
        if state.classes.size == 0:
            cells.append(Cell(a, b, state.counts, True))
        elif state.classes.size == 2 and (duel := _duel(state, pairs, sizes)):
            cells += duel
        elif a == b:
            cells.append(_guess(state, sizes))
        elif _learn(state, better, pairs):
            stack.append(state)
        elif (c := _split(state, better, pairs)) is None:
            cells.append(_guess(state, sizes))
        else:
            middle = _column(pairs, state.classes, c)
            for start, end in ((middle, state.right), (state.left, middle)):
                stack.append(_Contest(start, end, state.classes, state.seats, state.counts))
    return cells


def _column(pairs: Pairs, classes: NDArray[np.intp], c: float) -> _Column:
    return _Column(c, np.array([pairs.sample(i, c) for i in classes.tolist()]).T)


def _settle(state: _Contest, pairs: Pairs, sizes: NDArray[np.int_]) -> tuple[_Contest, NDArray[np.bool_]]:
    """Drop the classes whose number of winners is the same throughout; also return the proved orders of the others.

    The number of a class's winners is bounded by docs/theory.md, eq. (T33). The winners among the others are the best
    of them for the seats that remain.
    """
    better = _proved_orders(state, pairs)
    size = sizes[state.classes]
    at_least = np.clip(state.seats - ~better @ size + size, 0, size)  # the diagonal of `better` is False
    at_most = np.minimum(state.seats - better.T @ size, size)
    open_ = at_least < at_most
    counts = np.array(state.counts)
    counts[state.classes[~open_]] = at_least[~open_]
    seats = state.seats - int(at_least[~open_].sum())
    left, right = state.left.keep(open_), state.right.keep(open_)
    contest_left = _Contest(left, right, state.classes[open_], seats, tuple(counts.tolist()))
    return contest_left, better[np.ix_(open_, open_)]


def _proved_orders(state: _Contest, pairs: Pairs) -> NDArray[np.bool_]:
    """Return better[p, q]: log F of class p is proved to be below that of q on the whole cell."""
    better = _chord_below_tangents(state.left, state.right)
    a, b = state.scales
    for p, q in _undecided(better):
        i, j = int(state.classes[p]), int(state.classes[q])
        sign = 0
        if exact := pairs.answers.get((i, j)):
            sign = exact.sign(a, b)
        elif a == b:
            sign = pairs.sign(i, j, a)
        better[p, q], better[q, p] = sign < 0, sign > 0
    return better


def _chord_below_tangents(left: _Column, right: _Column) -> NDArray[np.bool_]:
    """Return better[p, q]: the chord of p is below a weighted mean of q's end tangents at both ends, errors included.

    See docs/theory.md, eq. (T31). Any weight in [0, 1] proves; the one tried is in the middle of those that serve at
    each end.
    """
    width = right.scale - left.scale
    (va, ea, sa, fa), (vb, eb, sb, fb) = left.data, right.data
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        slack = 16 * _ROUNDOFF * (np.abs(va) + np.abs(vb) + (np.abs(sa) + np.abs(sb)) * width)
        top_a, top_b = (va + ea + slack)[:, None], (vb + eb + slack)[:, None]
        first_a, second_b = va - ea - slack, vb - eb - slack
        first_b = first_a + (sa - fa) * width - slack
        second_a = second_b - (sb + fb) * width - slack
        least = (top_a - second_a) / np.maximum(first_a - second_a, 1e-300)
        most = 1 - (top_b - first_b) / np.maximum(second_b - first_b, 1e-300)
        weight = np.clip(np.nan_to_num((least + most) / 2, nan=0.5), 0.0, 1.0)
        # A tangent without a finite bound is -inf: 0 * inf makes the comparison false, which proves nothing.
        at_a = weight * first_a + (1 - weight) * second_a
        at_b = weight * first_b + (1 - weight) * second_b
        better = (top_a < at_a) & (top_b < at_b)
    np.fill_diagonal(better, False)
    return better


def _undecided(better: NDArray[np.bool_]) -> list[list[int]]:
    return np.argwhere(np.triu(~better & ~better.T, 1)).tolist()


def _monotone(left: _Column, right: _Column) -> bool:
    """Say whether the difference of log F of two classes is proved to rise, or to fall, throughout."""
    (_, _, sa, fa), (_, _, sb, fb) = left.data, right.data
    # Slopes rise from left to right, so these bound them throughout.
    least, most = np.nextafter(sa - fa, -np.inf), np.nextafter(sb + fb, np.inf)
    return bool(least[0] > most[1] or most[0] < least[1])


def _duel(state: _Contest, pairs: Pairs, sizes: list[int]) -> list[Cell]:
    """Return cells for two classes whose difference is proved monotone with proved end signs (eq. (T32)); else none."""
    (a, b), (i, j) = state.scales, state.classes.tolist()
    if not _monotone(state.left, state.right):
        return []

    def sign(column: _Column) -> int:
        value, error, _, _ = column.data
        difference = float(value[0] - value[1])
        if abs(difference) > 1.01 * float(error.sum()):
            return 1 if difference > 0 else -1
        return pairs.sign(i, j, column.scale)

    def winners(leader: int, loser: int) -> tuple[int, ...]:
        counts = list(state.counts)
        counts[leader] = min(sizes[leader], state.seats)
        counts[loser] = state.seats - counts[leader]
        return tuple(counts)

    sign_a, sign_b = sign(state.left), sign(state.right)
    if sign_a * sign_b == 0:
        return []
    leader, loser = (i, j)[::-sign_a]  # at a; the smaller log F is ahead
    before, after = winners(leader, loser), winners(loser, leader)
    if sign_a == sign_b:
        return [Cell(a, b, before, True)]
    low, high = pairs.enclose(loser, leader, a, b)
    return [Cell(a, low, before, True), Cell(low, high, before), Cell(high, b, after, True)]


def _learn(state: _Contest, better: NDArray[np.bool_], pairs: Pairs) -> bool:
    """Compute the exact order of a few pairs that even a short cell leaves open; True if any is decided."""
    a, b = state.scales
    if b > a * (1 + _NARROW):
        return False
    open_ = [(int(state.classes[p]), int(state.classes[q])) for p, q in _undecided(better)]
    new = [(i, j) for i, j in open_ if (i, j) not in pairs.answers][:_MOST_PAIRS]
    return any([pairs.exact(i, j) is not None for i, j in new])


def _split(state: _Contest, better: NDArray[np.bool_], pairs: Pairs) -> float | None:
    """Return where to cut the cell, or None where a cut would prove nothing more."""
    a, b = state.scales
    # Off the centre, where breakpoints of symmetric ranges and round numbers would be met.
    middle = a ** (1 - _FRACTION) * b**_FRACTION
    if not a < middle < b:
        return None
    for p, q in _undecided(better):
        exact_order = pairs.answers.get((int(state.classes[p]), int(state.classes[q])))
        if exact_order and (end := exact_order.cut(a, b)):
            return end
        if exact_order or (b <= a * (1 + _NARROW) and _hidden(state, p, q)):
            return None
    return middle


def _hidden(state: _Contest, p: int, q: int) -> bool:
    """Say whether cutting would not reveal the order of two classes.

    That is so where rounding hides it at both ends, or where they all but touch: chord and tangent part by up to width
    / 4 times the change of slope.
    """
    left, right = (_Column(column.scale, column.data[:, [p, q]]) for column in (state.left, state.right))
    # What is not proved at either end alone is not proved on shorter cells either.
    if not any(_chord_below_tangents(end, end).any() for end in (left, right)):
        return True
    (va, _, sa, _), (vb, _, sb, _) = left.data, right.data
    sag = (right.scale - left.scale) / 4 * float(np.max(sb - sa))
    return float(np.max(np.abs([va[0] - va[1], vb[0] - vb[1]]))) * _HOPELESS < sag


def _guess(state: _Contest, sizes: list[int]) -> Cell:
    """Estimate the cell by the float64 order at its lower end, the leftmost first among equals."""
    counts, seats = list(state.counts), state.seats
    for i in state.classes[np.lexsort([state.left.data[0]])].tolist():
        counts[i] = min(sizes[i], seats)
        seats -= counts[i]
    return Cell(*state.scales, tuple(counts))
