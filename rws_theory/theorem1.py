"""Theorem 1 of the paper (rank reversal) for one pair of positions: as printed, and what is true.

The notation is that of :mod:`rws_theory.majorisation`. Everything here but the crossings themselves is decided in exact
arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from rws_theory.crossings import Crossings, crossings
from rws_theory.majorisation import GapPair, Logits, Parity, sign_parity, supermajorises
from rws_theory.show import table_html

_VERDICTS = {True: "holds", False: "fails", None: "undecided"}


@dataclass(frozen=True)
class Clause:
    """One sentence of a theorem for one pair: where ``premise`` is met, ``asserts`` is claimed.

    ``holds`` is True where the premise is not met, and None where the crossings that would decide it are not proved.
    """

    name: str
    premise: bool
    asserts: str
    holds: bool | None

    def __repr__(self) -> str:
        return f"Clause({self.name}, {self.verdict}: {self.asserts!r})"

    @property
    def verdict(self) -> str:
        """The verdict on the clause for this pair: "holds", "fails", "undecided" or "does not apply"."""
        return _VERDICTS[self.holds] if self.premise else "does not apply"


@dataclass(frozen=True)
class Theorem1Verdict:
    """The result of :func:`theorem1` for one pair.

    Sigma and delta are of the finite gaps, exact; delta is inf without one. ``dimension`` counts the finite logits of
    the position that has more. ``hypothesis``: P^a(1) > P^b(1), eq. 1 of the paper, and equally many finite logits.
    ``below_one`` and ``above_one`` count the scales in (0, 1) and (1, inf) at which the curves meet; None if not
    proved. ``printed`` holds the clauses of Theorem 1 as printed, ``mended`` those with the sign of (b) reversed,
    ``corrected`` those that hold for every pair (docs/theory.md, eq. (T15)). ``crossings`` are the certified crossings.
    """

    dimension: int
    hypothesis: bool
    sigma: tuple[Fraction, Fraction]
    delta: tuple[Fraction | float, Fraction | float]
    parity: Parity
    no_flip: bool
    below_one: int | None
    above_one: int | None
    printed: tuple[Clause, ...]
    mended: tuple[Clause, ...]
    corrected: tuple[Clause, ...]
    crossings: Crossings

    def __repr__(self) -> str:
        parts = []
        for name, clauses in (("printed", self.printed), ("mended", self.mended), ("corrected", self.corrected)):
            broken = ", ".join(clause.name for clause in clauses if clause.holds is False)
            applies = any(clause.premise for clause in clauses)
            verdict = _VERDICTS[_all_hold(clauses)] if applies else "does not apply"
            parts.append(f"{name} {verdict}" + (f" ({broken})" if broken else ""))
        below, above = ("?" if count is None else count for count in (self.below_one, self.above_one))
        return f"Theorem1Verdict({', '.join(parts)}; crossings: {below} below 1, {above} above)"

    def _repr_html_(self) -> str:
        rows = [
            (printed.name, printed.asserts, printed.verdict, mended.verdict)
            for printed, mended in zip(self.printed, self.mended, strict=True)
        ]
        rows += [(clause.name, clause.asserts, "", clause.verdict) for clause in self.corrected]
        head = ("clause", "asserts", "as printed", "with (b) mended; what is true")
        return table_html(head, rows, f"Theorem 1: {repr(self).partition('(')[2][:-1]}")

    @property
    def printed_holds(self) -> bool | None:
        """Whether every printed clause is true of this pair; None where undecided."""
        return _all_hold(self.printed)

    @property
    def mended_holds(self) -> bool | None:
        """Whether every clause with the sign of (b) mended is true of this pair; None where undecided."""
        return _all_hold(self.mended)


def theorem1(a: Logits, b: Logits) -> Theorem1Verdict:
    """Judge Theorem 1 of the paper (Section 4.3), as printed and as corrected, on one pair of positions.

    As printed, given P^a(1) > P^b(1), "exactly one of the following holds":

    - (a) if Sigma_a < Sigma_b there is a unique crossing in (0, 1), and P^a < P^b below it;
    - (b) if delta_a > delta_b there is a unique crossing in (1, inf), and P^a < P^b above it;
    - (c) otherwise P^a > P^b at every r > 0.

    ``printed`` judges each, and "exclusive": (a) and (b) do not both apply, and no pair has crossings on both sides of
    1. ``mended`` is the same with delta_a < delta_b in (b), as the proof's Step 3 has it; it holds for d <= 3 finite
    logits each and fails for every d >= 4 (docs/theory.md, eq. (T17)). ``corrected`` holds for every pair: the parities
    of the numbers of crossings ("low", "high"), and no crossing where one position's gaps majorise the other's
    ("none").

    No premise of the printed and mended clauses is met where P^a(1) > P^b(1) fails (exchange a and b), or where a and b
    have not equally many finite logits: the paper's have d each.

    a, b, and errors: as in :func:`rws_theory.majorises`. Sigma, delta, parities and ``no_flip`` are exact. The counts
    are those of :func:`rws_theory.crossings`, and None where it does not prove them.

    Total and smallest gap of a are both smaller than those of b, and the curves cross on both sides of 1:

    >>> from fractions import Fraction
    >>> verdict = theorem1([0, -1, Fraction(-7, 2), Fraction(-7, 2)], [0, Fraction(-3, 2), Fraction(-3, 2), -6.5])
    >>> verdict
    Theorem1Verdict(printed fails (exclusive), mended fails (exclusive), corrected holds; crossings: 1 below 1, 1 above)
    >>> verdict.sigma, verdict.delta
    ((8, 9.5), (1, 1.5))
    """
    pair = GapPair.of(a, b)
    ends = sign_parity(pair.difference)
    no_flip = supermajorises(*pair.gaps) or supermajorises(*pair.gaps[::-1])
    pair_crossings = crossings(*pair.logits)
    below, above = _sides(pair_crossings, ends)
    never = _both(below.is_exactly(0), above.is_exactly(0))
    sigma, delta = (pair.total(0), pair.total(1)), (pair.smallest(0), pair.smallest(1))
    hypothesis = ends.at_one > 0 and len(pair.gaps[0]) == len(pair.gaps[1])

    def clauses_with_b(delta_premise: bool) -> tuple[Clause, ...]:
        low, high = hypothesis and sigma[0] < sigma[1], hypothesis and delta_premise
        one_side = _both(not (low and high), _either(below.is_exactly(0), above.is_exactly(0)))
        one_below = _both(below.is_exactly(1), ends.near_zero < 0)
        one_above = _both(above.is_exactly(1), ends.near_infinity < 0)
        exclusive = "(a) and (b) do not both apply, and no crossings lie on both sides of 1"
        return (
            _clause("exclusive", hypothesis, exclusive, one_side),
            _clause("a", low, "one crossing in (0, 1), P^a < P^b below it", one_below),
            _clause("b", high, "one crossing in (1, inf), P^a < P^b above it", one_above),
            _clause("c", hypothesis and not (low or high), "P^a > P^b at every r > 0", never),
        )

    return Theorem1Verdict(
        dimension=1 + max(map(len, pair.gaps)),
        hypothesis=hypothesis,
        sigma=sigma,
        delta=delta,
        parity=ends,
        no_flip=no_flip,
        below_one=below.scales,
        above_one=above.scales,
        printed=clauses_with_b(delta[0] > delta[1]),
        mended=clauses_with_b(delta[0] < delta[1]),
        corrected=(
            Clause("low", True, _number_of(ends.below_one, "(0, 1)"), below.has_parity(ends.below_one)),
            Clause("high", True, _number_of(ends.above_one, "(1, inf)"), above.has_parity(ends.above_one)),
            _clause("none", no_flip, "no crossing: one position's gaps weakly supermajorise the other's", never),
        ),
        crossings=pair_crossings,
    )


def _clause(name: str, premise: bool, asserts: str, so: bool | None) -> Clause:
    """Return a clause with its truth: without its premise it holds."""
    return Clause(name, premise, asserts, so if premise else True)


@dataclass(frozen=True)
class _Side:
    """Crossings on one side of r = 1: the least number of scales, all multiplicities, whether the list is proved."""

    least: int
    multiplicity: int
    complete: bool

    @property
    def scales(self) -> int | None:
        return self.least if self.complete else None

    def is_exactly(self, count: int) -> bool | None:
        return self.least == count if self.complete else False if self.least > count else None

    def has_parity(self, odd: int) -> bool | None:
        return self.multiplicity % 2 == odd if self.complete else None


def _sides(pair_crossings: Crossings, ends: Parity) -> tuple[_Side, _Side]:
    """Split the crossings at r = 1, where none can be: P^a(1) = P^b(1) only for an identical pair."""
    least, total, complete = [0, 0], [0, 0], pair_crossings.complete
    straddling = None
    for crossing in pair_crossings.crossings:
        if crossing.lower < 1 < crossing.upper:
            straddling = crossing
            continue
        side = int(crossing.lower >= 1)
        least[side] += crossing.multiplicity is not None  # a cluster of unknown multiplicity may hold no crossing
        total[side] += crossing.multiplicity or 0
    if straddling is not None:
        if complete and (straddling.multiplicity or 0) % 2:
            side = int(total[0] % 2 == ends.below_one)  # it lies on the side whose parity still lacks it
            least[side] += 1
            total[side] += straddling.multiplicity or 0
        else:
            complete = False
    low, high = (_Side(least[side], total[side], complete) for side in (0, 1))
    return low, high


def _number_of(odd: int, interval: str) -> str:
    return f"an {'odd' if odd else 'even'} number of crossings in {interval}, with multiplicity"


def _both(first: bool | None, second: bool | None) -> bool | None:
    return False if first is False or second is False else None if first is None or second is None else True


def _either(first: bool | None, second: bool | None) -> bool | None:
    return True if first or second else None if first is None or second is None else False


def _all_hold(clauses: tuple[Clause, ...]) -> bool | None:
    verdict: bool | None = True
    for clause in clauses:
        verdict = _both(verdict, clause.holds)
    return verdict
