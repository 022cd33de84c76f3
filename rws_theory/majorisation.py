"""Whether one position is never less confident than another, at any scale: sums of gaps, and what decides exactly.

Notation: gaps u of a and v of b, ascending, F_x(r) = sum_k exp(-r gap_k) and g = F_a - F_b, so that P^a(r) > P^b(r)
exactly where g(r) < 0 (docs/theory.md, eq. (T5)).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, zip_longest

from rws_theory.certified.positivity import never_positive
from rws_theory.crossings import crossings
from rws_theory.parity import GapPair, Logits, sign_parity, supermajorises
from rws_theory.show import figures

__all__ = ["Majorisation", "dominance_order", "majorises"]


@dataclass(frozen=True)
class Majorisation:
    """What :func:`majorises` decides about a and b; true in an `if` exactly where ``holds`` is.

    Attributes
    ----------
    holds : for every m the m smallest gaps of a sum to at least those of b. Then a is never behind.
    fails_at : the first m for which they do not, and both sums; None where ``holds``. A missing gap is infinite.
    never_behind : P^a(r) >= P^b(r) at every r > 0, decided exactly; None if the crossings were not all proved.
    """

    holds: bool
    fails_at: tuple[int, Fraction | float, Fraction | float] | None
    never_behind: bool | None

    def __bool__(self) -> bool:
        return self.holds

    def __repr__(self) -> str:
        behind = {True: "never behind", False: "behind at some scale", None: "not decided"}[self.never_behind]
        if self.fails_at is None:
            return f"Majorisation(holds; a is {behind})"
        m, mine, theirs = self.fails_at
        return f"Majorisation(fails at m = {m}: {figures(float(mine))} < {figures(float(theirs))}; a is {behind})"


def majorises(a: Logits, b: Logits) -> Majorisation:
    """Compare the sums of the m smallest gaps of a and of b for every m, and say whether a is ever behind b.

    If sum_{k <= m} u_k >= sum_{k <= m} v_k for every m, no scale puts b ahead of a (weak supermajorisation,
    docs/theory.md, eq. (T16)). For d <= 3 the converse holds too. For d >= 4 it does not: gaps (2, 2, 5) are ahead of
    (1, 4, 4) at every scale, as g = x (x - 1)^3 (x + 1) with x = exp(-r), and yet 2 + 2 < 1 + 4 (eq. (T76)). The exact
    criterion is the order of the Laplace transforms F_a <= F_b; ``never_behind`` decides it by
    :func:`rws_theory.crossings`.

    All of this is exact for the numbers given: float64 values are taken as the dyadic rationals they are, int and
    Fraction as themselves.

    Parameters
    ----------
    a, b : logits, shape (d,) each, d >= 1; lengths may differ. -inf is a forbidden token: its gap counts as infinite.

    Raises
    ------
    ValueError : a or b not one-dimensional, empty, with NaN or +inf or only -inf, or of a span beyond float64.

    Examples
    --------
    >>> majorises([0, -2, -2], [0, -1, -3])
    Majorisation(holds; a is never behind)
    >>> majorises([0, -2, -2, -5], [0, -1, -4, -4])
    Majorisation(fails at m = 2: 4 < 5; a is never behind)
    >>> majorises([0, -1, -3, -9], [0, -2, -2, -2]).never_behind
    False
    """
    pair = GapPair.of(a, b)
    u, v = pair.gaps
    if supermajorises(u, v):
        return Majorisation(True, None, True)
    return Majorisation(False, _first_failure(u, v, pair.denominator), _never_behind(pair))


def dominance_order(a: Logits, b: Logits, most: int = 16) -> int | None:
    """Return the least order, up to `most`, at which stochastic dominance proves that a is ahead of b at every scale.

    Order k asks that D_k(t) = sum_k (t - u_k)_+^(k-1) - sum_k (t - v_k)_+^(k-1) <= 0 for every t. Order 1 compares the
    gaps one by one, order 2 is :func:`majorises`, and each order implies the next. P^a > P^b at every r > 0 exactly if
    some finite order holds and the gaps are not the same (docs/theory.md, eq. (T77)). So None with a large `most`
    means that the curves cross or touch, or all but do.

    Exact; each order costs Sturm sequences of degree k - 1, one for each different gap: meant for tens of tokens.
    Parameters and errors are those of :func:`majorises`; ValueError too if `most` is not a positive integer.

    >>> dominance_order([0, -2, -2], [0, -1, -2]), dominance_order([0, -2, -2], [0, -1, -3])
    (1, 2)
    >>> dominance_order([0, -2, -2, -5], [0, -1, -4, -4])
    3
    """
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise ValueError(f"most must be a positive integer, got {most!r}")
    g = GapPair.of(a, b).difference
    if not g.exponents:
        return 1
    ends = sign_parity(g)
    if min(ends.near_zero, ends.at_one, ends.near_infinity) < 0:
        return None
    return next((k for k in range(1, most + 1) if never_positive(g.exponents, g.coefficients, k - 1)), None)


def _first_failure(u: list[int], v: list[int], denominator: int) -> tuple[int, Fraction | float, Fraction | float]:
    """Return the first m whose sum is too small; a position with more gaps fails where the other has none left."""
    for m, (mine, theirs) in enumerate(zip_longest(accumulate(u), accumulate(v)), start=1):
        if mine is not None and (theirs is None or mine < theirs):
            limit = float("inf") if theirs is None else Fraction(theirs, denominator)
            return m, Fraction(mine, denominator), limit
    raise ArithmeticError("no sum of gaps is too small")


def _never_behind(pair: GapPair) -> bool | None:
    """Decide F_a <= F_b at every scale, by the ends first and by all crossings of odd multiplicity then."""
    ends = sign_parity(pair.difference)
    if min(ends.near_zero, ends.at_one, ends.near_infinity) < 0:
        return False
    proved = crossings(*pair.logits)
    if any(c.multiplicity is not None and c.multiplicity % 2 for c in proved.crossings):
        return False
    return True if proved.complete else None
