"""Crossings of two confidence curves: all scales r > 0 at which P^a(r) = P^b(r), with proof."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rws_theory.certified.enclosures import Crossing, enclosed_zeros
from rws_theory.certified.exponential_sum import exact_gaps, gap_difference
from rws_theory.confidence import check_logits
from rws_theory.show import quoted, shortened, table_html

__all__ = ["Crossing", "Crossings", "crossings"]


@dataclass(frozen=True)
class Crossings:
    """The result of :func:`crossings` for one pair of logit vectors, over all r in (0, inf).

    dimension: number of tokens d. sigma, delta: total and smallest finite gap of a and of b, correctly rounded; delta
    is inf without a second token. sign_at_one: proved sign of P^a(1) - P^b(1), 0 exactly if the pair is identical.
    crossings: ascending and disjoint. bound: Laguerre's upper bound on their number, with multiplicity. complete: it is
    proved that every crossing is listed, with its multiplicity. identical: the gap multisets are equal, so that the
    curves are. certificate: what the proofs used: "float64" (sums with an a-priori error bound), "ball" (ball
    arithmetic too), "exact" (the square-free decomposition of an integer polynomial too).
    """

    dimension: int
    sigma: tuple[float, float]
    delta: tuple[float, float]
    sign_at_one: int
    crossings: tuple[Crossing, ...]
    bound: int
    complete: bool
    identical: bool
    certificate: str

    def __repr__(self) -> str:
        return f"Crossings({self._words})"

    def _repr_html_(self) -> str:
        ahead = {1: "; a is ahead at r = 1", -1: "; b is ahead at r = 1", 0: ""}[self.sign_at_one]
        rows = [
            (c.root, f"[{c.lower!r}, {c.upper!r}]", "not known" if c.multiplicity is None else c.multiplicity)
            for c in self.crossings
        ]
        head = ("r", "lies in", "multiplicity")
        return table_html(head if rows else (), rows, f"Crossings of {self.dimension} logits: {self._words}{ahead}")

    @property
    def _words(self) -> str:
        if self.identical:
            return "equal at every scale"
        listed = f"{self.count} at {shortened((c.place for c in self.crossings), 3)}" if self.count else "none"
        return f"{listed}, {'all' if self.complete else 'not all'} proved"

    @property
    def count(self) -> int:
        """Number of entries listed; the number of distinct crossings if `complete`."""
        return len(self.crossings)

    @property
    def roots(self) -> tuple[float, ...]:
        """The estimate of each crossing."""
        return tuple(crossing.root for crossing in self.crossings)


def crossings(a: ArrayLike | Sequence[Any], b: ArrayLike | Sequence[Any], *, rtol: float = 1e-12) -> Crossings:
    """Find all scales r > 0 at which the confidences of logits `a` and `b` are equal, with proof.

    Between two neighbouring crossings one position is the more confident at every scale. Taylor models with proved
    remainders isolate the zeros of g = F_a - F_b. Laguerre's bound, parity and signs decide most pairs before that
    (docs/theory.md, sections 2 and 4). For rational input g is an integer polynomial in exp(-r G / q), whose
    square-free decomposition decides all multiplicities while its degree is at most 2,000 (eq. (T14)).

    a, b: d logits each: float64 vectors of shape (d,), taken as the dyadic rationals that they are, or sequences with
    int and Fraction, taken as exact. -inf is a forbidden token; tied maxima are allowed; a shorter vector is not
    padded. rtol: relative width to aim at for the certified intervals, 1e-15 to 0.1. ValueError for other vectors,
    lengths that differ and rtol out of range.

    Guaranteed, for the numbers given: all fields but ``root``. Each entry of multiplicity 1 has relative width at most
    `rtol` (neighbouring floats are as close as it gets; a crossing outside the float64 range has 0.0 or inf for an
    end). What 1,024 bits do not resolve (4,096 in exact mode, 128 with more than 4,096 different gaps) is listed as a
    cluster, and ``complete`` is False.

    The example of Appendix D crosses at 10 log((1 + sqrt 5) / 2), not at 1.73:

    >>> result = crossings([1.1, 0.6, 0.3], [1.0, 0.4, 0.4])
    >>> result, result.bound, result.complete, result.certificate
    (Crossings(1 at 4.8121, all proved), 1, True, 'float64')

    A tangency, (1 - x)^2 (3 x - 1)^2 = 0 with x = exp(-r), is one crossing of multiplicity 2:

    >>> result = crossings([0, *[0] * 1, *[-2] * 22, *[-4] * 9], [0, *[-1] * 8, *[-3] * 24])
    >>> result.crossings[0].multiplicity, round(result.roots[0], 12), result.certificate
    (2, 1.098612288668, 'exact')
    """
    x, y = exact_logits(a, "a"), exact_logits(b, "b")
    if len(x) != len(y):
        raise ValueError(
            f"a and b must have equally many logits, got {len(x)} and {len(y)} (append -inf for forbidden tokens)"
        )
    if not 1e-15 <= rtol <= 0.1:
        raise ValueError(f"rtol must lie between 1e-15 and 0.1, got {rtol}")
    (gaps_a, gaps_b), denominator = exact_gaps(x, y)
    g = gap_difference(gaps_a, gaps_b, denominator)
    exact = not (isinstance(x, np.ndarray) and isinstance(y, np.ndarray))
    used: set[str] = set()
    least_a, least_b = (gaps[0] / denominator if gaps else math.inf for gaps in (gaps_a, gaps_b))
    entries = enclosed_zeros(g, exact, rtol, used) if g.exponents else []
    return Crossings(
        dimension=len(x),
        sigma=(sum(gaps_a) / denominator, sum(gaps_b) / denominator),
        delta=(least_a, least_b),
        sign_at_one=-g.sign(1.0, used),
        crossings=tuple(entries),
        bound=g.laguerre_bound if g.exponents else 0,
        complete=all(c.multiplicity is not None for c in entries),
        identical=not g.exponents,
        certificate=next((name for name in ("exact", "ball") if name in used), "float64"),
    )


def exact_logits(logits: Any, name: str) -> NDArray[np.float64] | list[Fraction | float]:
    """Check one vector of logits: float64 as it is, or exact entries (Fractions and -inf) where any is rational."""
    exact = isinstance(logits, (list, tuple)) or (isinstance(logits, np.ndarray) and logits.dtype.kind == "O")
    if exact and len(logits) and any(type(v) is not bool and isinstance(v, Rational) for v in logits):
        entries = list(logits)
        for value in entries:
            if isinstance(value, (bool, np.bool_)) or not isinstance(value, (Rational, float, np.floating)):
                raise ValueError(f"{name} must hold numbers, int, Fraction or float, got {quoted(value)}")
        try:
            check_logits(np.array([float(v) for v in entries]), name)
        except OverflowError:
            raise ValueError(f"{name} must hold numbers within float64") from None
        return [_fraction(v) for v in entries]
    row = check_logits(logits, name)
    if row.ndim != 1:
        raise ValueError(f"{name} must be one vector of logits, shape (d,), got shape {row.shape}")
    return row


def _fraction(value: Any) -> Fraction | float:
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    return Fraction(float(value)) if math.isfinite(value) else -math.inf
