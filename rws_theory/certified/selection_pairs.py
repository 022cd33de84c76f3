"""The order of two positions: its proved sign at a scale, certified intervals of breakpoints, changes by exact gaps."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rws_theory.certified.brent import brent_root
from rws_theory.certified.exponential_sum import ExponentialSum, exact_gaps, gap_difference
from rws_theory.certified.selection_sums import Row, Sample, sample, sharp_difference
from rws_theory.crossings import crossings

_MOST_TERMS = 2**16  # distinct gaps left after cancelling: more would cost integers and balls too much time
_TARGET = 1e-13
_LEAST = 5e-324


@dataclass(frozen=True)
class ExactPair:
    """The sign of F_a - F_b at every float scale outside `brackets`, rising, in which it changes or may change."""

    difference: ExponentialSum
    brackets: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, a: Row, b: Row, difference: ExponentialSum) -> ExactPair:
        """Find the changes by :func:`rws_theory.crossings`; tangencies, with one sign on both sides, are left out."""
        size = max(a.logits.size, b.logits.size)
        padded = [np.pad(x.logits, (0, size - x.logits.size), constant_values=-np.inf) for x in (a, b)]
        pair_crossings = crossings(*padded, rtol=_TARGET).crossings
        changes = [c for c in pair_crossings if c.multiplicity is None or c.multiplicity % 2]
        return cls(difference, tuple((c.lower, c.upper) for c in changes))

    def cut(self, a: float, b: float) -> float | None:
        """Return a bracket's end strictly inside (a, b), if there is one."""
        return next((c for bracket in self.brackets for c in bracket if a < c < b), None)

    def sign(self, a: float, b: float) -> int:
        """Return the sign at the float scales of [a, b], or 0 where it may change."""
        if any(low < b and a < high for low, high in self.brackets):
            return 0
        return self.difference.sign(a)


@dataclass(eq=False)
class Pairs:
    """Comparisons among rows of unequal gaps, with a count of the values of log F that they take.

    answers: of :meth:`exact`, by the two rows.
    """

    rows: list[Row]
    evaluations: int = 0
    used_exact: bool = False
    answers: dict[tuple[int, int], ExactPair | None] = field(default_factory=dict)
    _differences: dict[tuple[int, int], ExponentialSum | None] = field(default_factory=dict)

    def sample(self, i: int, c: float) -> Sample:
        """Evaluate log F as :func:`sample` does, and count it."""
        self.evaluations += 1
        return sample(self.rows[i], c)

    def sign(self, i: int, j: int, c: float) -> int:
        """Return the proved sign of log F_i(c) - log F_j(c); 0 where neither the sharp sums nor exact gaps decide."""
        self.evaluations += 2
        value, error = sharp_difference(self.rows[i], self.rows[j], c)
        if abs(value) > error:
            return 1 if value > 0 else -1
        g = self._difference(i, j)
        if g is None:
            return 0
        self.used_exact = True
        return g.sign(c)

    def enclose(self, i: int, j: int, a: float, b: float) -> tuple[float, float]:
        """Return a certified interval of the one zero of log F_i - log F_j in [a, b]: > 0 at low, < 0 at high."""

        def difference(c: float) -> float:
            return self.sample(i, c).value - self.sample(j, c).value

        def probe(c: float) -> None:
            nonlocal low, high
            if low < c < high:
                sign = self.sign(i, j, c)
                if sign > 0:
                    low = c
                elif sign < 0:
                    high = c

        low, high = a, b
        if difference(a) > 0 > difference(b):
            root = brent_root(difference, a, b, xtol=_LEAST)
            reach = max(0.4 * _TARGET * root, _LEAST)
            while reach < high - low:
                probe(root - reach)
                probe(root + reach)
                reach *= 8
        while high - low > _TARGET * high:
            before = low, high
            probe(low + (high - low) / 2)
            if (low, high) == before:
                break
        return low, high

    def exact(self, i: int, j: int) -> ExactPair | None:
        """Return the order of rows i and j on the half-line from exact gaps, or None where too many gaps remain."""
        if (i, j) not in self.answers:
            g = self._difference(i, j)
            self.answers[i, j] = None if g is None else ExactPair.of(self.rows[i], self.rows[j], g)
            self.used_exact |= g is not None
        return self.answers[i, j]

    def _difference(self, i: int, j: int) -> ExponentialSum | None:
        if (i, j) not in self._differences:
            self._differences[i, j] = _few_terms(self.rows[i], self.rows[j])
        return self._differences[i, j]


def _few_terms(a: Row, b: Row) -> ExponentialSum | None:
    """Return F_a - F_b in exact gaps, or None where more than _MOST_TERMS remain after cancelling."""
    gaps_a, gaps_b = (row.logits[0] - row.logits[1:] for row in (a, b))
    # Counting rounded gaps first saves forming integers for nothing.
    _, which = np.unique(np.concatenate([gaps_a, gaps_b]), return_inverse=True)
    net = np.bincount(which, weights=np.repeat([1, -1], [gaps_a.size, gaps_b.size]))
    if np.count_nonzero(net) > _MOST_TERMS:
        return None
    (u, v), denominator = exact_gaps(a.logits, b.logits)
    g = gap_difference(u, v, denominator)
    return g if len(g.exponents) <= _MOST_TERMS else None
