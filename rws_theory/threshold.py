"""The positions whose confidence reaches a threshold, at every scale of a range, with proof."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rws_theory.certified.brent import brent_root
from rws_theory.certified.selection_sums import Row, sample, sharp_sum
from rws_theory.confidence import check_range, check_rows
from rws_theory.selection import Bracket
from rws_theory.show import figures, shortened, table_html

__all__ = ["ThresholdPath", "ThresholdPiece", "threshold_path"]

_WIDTH = 1e-12
_CONTEXT = Context(prec=40)


class ThresholdPiece(NamedTuple):
    """The `positions` that reach the threshold, rising, at the scales from `lower` to `upper`."""

    lower: float
    upper: float
    positions: tuple[int, ...]


@dataclass(frozen=True)
class ThresholdPath:
    """The positions that reach a threshold over a range of scales: see :func:`threshold_path`.

    tau: the threshold, a probability. pieces: rising, covering [c_min, c_max]; each has all positions of the one
    before, and more. brackets: the intervals in which positions pass the threshold; outside them every piece is proved.
    certified: every bracket lies inside the range and has a relative width of 1e-12 or less.
    """

    tau: float
    pieces: tuple[ThresholdPiece, ...]
    brackets: tuple[Bracket, ...]
    certified: bool

    def __repr__(self) -> str:
        return f"ThresholdPath({self._words})"

    def _repr_html_(self) -> str:
        rows, before = [], set[int]()
        for piece in self.pieces:
            new = sorted({*piece.positions} - before)
            rows.append((piece.lower, piece.upper, len(piece.positions), shortened(new)))
            before = {*piece.positions}
        return table_html(("from scale", "to scale", "count", "new positions"), rows, f"Threshold path: {self._words}")

    @property
    def _words(self) -> str:
        first, last = self.pieces[0], self.pieces[-1]
        counts = f"{len(first.positions)} to {len(last.positions)} positions"
        proof = "certified" if self.certified else "not certified"
        return f"tau={self.tau:g}, {counts} over [{figures(first.lower)}, {figures(last.upper)}], {proof}"


class _Pass(NamedTuple):
    """A certified interval [lower, upper] of the scale at which a position passes; nothing is proved inside."""

    lower: float
    upper: float
    position: int


def threshold_path(logits: ArrayLike, tau: float, c_min: float, c_max: float) -> ThresholdPath:
    """Find the positions of confidence tau or more at every scale c in [c_min, c_max].

    Each position passes tau at most once, upwards (docs/theory.md, eq. (T64)): a larger scale commits more tokens at a
    threshold. Each passing has a certified interval: at its ends log F_i - log((1 - tau) / tau) has proved, different
    signs. The sums are those that prove :func:`rws_theory.selection_path` (eq. (T35)).

    Guaranteed: outside ``brackets`` each piece holds exactly the positions with P_i(c) >= tau, of the float64 numbers
    given.

    logits: shape (positions, d); -inf is a forbidden token. tau: a probability, 0 < tau < 1. c_min, c_max: 0 < c_min <=
    c_max < inf. ValueError for other values, and for c_max times a margin beyond float64.

    >>> path = threshold_path([[3.0, 1.0, 0.0], [2.0, 1.5, 0.0]], 0.9, 0.1, 32.0)
    >>> path
    ThresholdPath(tau=0.9, 0 to 2 positions over [0.1, 32], certified)
    >>> [(round(piece.lower, 6), piece.positions) for piece in path.pieces]
    [(0.1, ()), (1.227144, (0,)), (4.39718, (0, 1))]
    """
    x = check_rows(logits)
    if not (isinstance(tau, int | float) and 0 < tau < 1):
        raise ValueError(f"tau must be a probability between 0 and 1, got {tau!r:.80}")
    low, high = check_range(c_min, c_max)
    with localcontext(_CONTEXT):
        target = ((1 - Decimal(tau)) / Decimal(tau)).ln()  # to 38 digits
    always, passes = list[int](), list[_Pass]()
    for position, row in enumerate(x):
        allowed = row[np.isfinite(row)]
        tied = int((allowed == allowed.max()).sum())
        limit = Fraction(1, tied) - Fraction(tau)  # P rises to 1 / tied, and is that where all are tied
        if tied == allowed.size or limit <= 0:
            always += [position] if tied == allowed.size and limit >= 0 else []
            continue
        passing = _passing(Row.of(allowed), target, low, high)
        if isinstance(passing, tuple):
            passes.append(_Pass(*passing, position))
        elif passing == "always":
            always.append(position)
    return _assemble(float(tau), low, high, always, sorted(passes))


def _sign(row: Row, target: Decimal, c: float) -> int:
    """Return the proved sign of target - log F(c): 1 where the threshold is passed, -1 where it is not, 0 unknown."""
    total, low, error = sharp_sum(row, c)
    with localcontext(_CONTEXT):
        shift = Decimal(c) * (Decimal(float(row.logits[0])) - Decimal(float(row.logits[1])))
        log_sum = (Decimal(total) + Decimal(low)).ln()
        excess = target - (log_sum - shift)
        error_bound = Decimal(1.01 * error) + Decimal("1e-37") * (1 + abs(target) + abs(log_sum) + shift)
        return 0 if abs(excess) <= error_bound else 1 if excess > 0 else -1


def _passing(row: Row, target: Decimal, low: float, high: float) -> tuple[float, float] | Literal["always", "never"]:
    """Return the certified interval of the scale at which a row passes, or "always" or "never"."""
    if not math.isfinite(high * (row.delta + float(row.excess[-1] if row.excess.size else 0)) * 4):
        raise ValueError(f"c_max times the margins must stay within float64, got c_max = {high}")
    if (at_low := _sign(row, target, low)) == 1:
        return "always"
    if (at_high := _sign(row, target, high)) == -1:
        return "never"
    aim = float(target)
    ends = [sample(row, c).value - aim for c in (low, high)]
    root = brent_root(lambda c: sample(row, c).value - aim, low, high, 0.0) if ends[0] > 0 > ends[1] else low
    if ends[1] >= 0:
        root = high
    width = 2.0**-50
    lower, upper = (low if at_low == 0 else None), (high if at_high == 0 else None)
    while lower is None or upper is None:
        if lower is None:
            scale = max(low, root * (1 - width))
            lower = scale if _sign(row, target, scale) == -1 else None
        if upper is None:
            scale = min(high, root * (1 + width))
            upper = scale if _sign(row, target, scale) == 1 else None
        width *= 4
    return lower, upper


def _assemble(tau: float, low: float, high: float, always: list[int], passes: list[_Pass]) -> ThresholdPath:
    """Join certified intervals that overlap, and put the pieces between them."""
    joined: list[tuple[float, float, list[int]]] = []
    for lower, upper, position in passes:
        if joined and lower <= joined[-1][1]:
            before = joined[-1]
            joined[-1] = (before[0], max(before[1], upper), [*before[2], position])
        else:
            joined.append((lower, upper, [position]))
    pieces, brackets, above, begin = list[ThresholdPiece](), list[Bracket](), sorted(always), low
    for lower, upper, positions in joined:
        inside = low < lower and upper < high
        brackets.append(Bracket(lower, upper, inside))
        middle = lower + (upper - lower) / 2
        end = low if lower == low else high if upper == high else middle
        if begin < end:
            pieces.append(ThresholdPiece(begin, end, tuple(above)))
        above, begin = sorted([*above, *positions]), end
    if begin < high or not pieces:
        pieces.append(ThresholdPiece(begin, high, tuple(above)))
    narrow = all(bracket.breakpoint and bracket.relative_width <= _WIDTH for bracket in brackets)
    return ThresholdPath(tau, tuple(pieces), tuple(brackets), narrow)
