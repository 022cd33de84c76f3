"""Crossings of two confidence curves: the scales r at which P^a(r) = P^b(r), by bracketing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from ._exponential_sum import ExponentialSum, exact_gaps, gap_difference
from .confidence import check_logits

__all__ = ["Crossings", "crossings"]


@dataclass(frozen=True)
class Crossings:
    """What :func:`crossings` found for one pair of logit vectors.

    Attributes
    ----------
    dimension : number of tokens d.
    crossings : brackets (lower, upper), ascending; P^a - P^b has different, proved signs at the two ends.
    roots : the estimate of each crossing, a float in its closed bracket.
    window : the (lower, upper) scales that were searched.
    sign_at_one : proved sign of P^a(1) - P^b(1): -1 or 1, and 0 exactly if the pair is identical.
    sigma, delta : total and smallest gap of a and of b, correctly rounded (logits); delta is inf without a second
        token.
    identical : the gap multisets are equal, so P^a(r) = P^b(r) at every r; no crossings are then listed.
    bound : Laguerre's upper bound on the number of crossings in (0, inf), counted with multiplicity.
    complete : True only if the list is proved to hold every crossing in (0, inf): as many were found as the bound
        allows.
    """

    dimension: int
    crossings: tuple[tuple[float, float], ...]
    roots: tuple[float, ...]
    window: tuple[float, float]
    sign_at_one: int
    sigma: tuple[float, float]
    delta: tuple[float, float]
    identical: bool
    bound: int
    complete: bool

    @property
    def count(self) -> int:
        """Number of brackets found."""
        return len(self.crossings)


def crossings(
    a: ArrayLike, b: ArrayLike, lower: float = 1e-3, upper: float = 1e3, *, points: int = 512, rtol: float = 1e-13
) -> Crossings:
    r"""Scales r in [lower, upper] at which the confidences of logits `a` and `b` change order.

    With gaps u of a and v of b, P^a(r) > P^b(r) exactly where g(r) = sum_k exp(-r u_k) - sum_k exp(-r v_k) < 0
    (Appendix D, Step 1, of Gwak et al., "Reward-Weighted Sampling"). The sign of g is taken at `points` scales spaced
    evenly in log r; each change between neighbours is refined by Brent's method (scipy's brentq) and enclosed again
    in a bracket of relative width about `rtol`.

    Why ``bound`` bounds. Let D(t) be the number of gaps u <= t less the number of gaps v <= t, and H(t) its integral
    from 0 to t. Integrating by parts twice, g(r) = r^2 L(r) with L(r) = integral of exp(-r t) H(t) dt over t > 0. If
    H changes sign m >= 1 times, once at s, then d/dr [exp(r s) L(r)] = integral of (s - t) exp(-r (t - s)) H(t) dt,
    and (s - t) H(t) changes sign m - 1 times; by Rolle's theorem and induction L has at most m zeros, counted with
    multiplicity (Laguerre's form of Descartes' rule of signs, 1883; G. J. O. Jameson, "Counting zeros of generalised
    polynomials", Math. Gazette 90, 2006). H never changes sign more often than D does. D takes one step at each gap,
    two or more from each sign to the next, and at least one before the first; so it changes sign at most d - 2 times.
    Theorem 1 of the paper, which allows at most one crossing per pair, holds for d <= 3 once the sign in (b) is
    mended, and fails for every d >= 4.

    Guaranteed: every sign used, hence every bracket, ``sign_at_one``, ``identical`` and ``bound``, is proved for the
    float64 numbers given: gaps and H are computed exactly, and a sign of g that float64 cannot prove (taking exp to
    be accurate to 8 ulp) is computed in decimal arithmetic of as many digits as it takes. Each bracket holds an odd
    number of crossings, with multiplicity; brackets do not overlap. If ``complete``, each holds one simple crossing
    and there are no others in (0, inf).

    Not guaranteed: unless ``complete``, crossings may be missing: those outside the window, and even numbers of them
    (a tangency among them) between two neighbouring scales. More `points` or a wider window may find them.

    Parameters
    ----------
    a, b : shape (d,) each, logits; -inf is a forbidden token. Tied maxima are allowed.
    lower, upper : window of scales, 0 < lower < upper < inf.
    points : number of scales tried, at least 2.
    rtol : relative width to aim at for the brackets, 1e-15 to 0.1; neighbouring floats are as close as it gets.

    Raises
    ------
    ValueError : a or b not one-dimensional, not of equal length, with NaN or +inf or only -inf; window, points or
        rtol out of range.

    Examples
    --------
    The example of Appendix D crosses at 10 log((1 + sqrt 5) / 2), not at 1.73:

    >>> found = crossings([1.1, 0.6, 0.3], [1.0, 0.4, 0.4])
    >>> [round(r, 10) for r in found.roots], found.bound, found.complete
    ([4.8121182506], 1, True)
    """
    x, y = check_logits(a, "a"), check_logits(b, "b")
    for name, row in (("a", x), ("b", y)):
        if row.ndim != 1:
            raise ValueError(f"{name} must be one vector of logits, shape (d,), got shape {row.shape}")
    if x.shape != y.shape:
        raise ValueError(f"a and b must have equally many logits, got {x.size} and {y.size}")
    if not 0 < lower < upper < math.inf:
        raise ValueError(f"lower and upper must satisfy 0 < lower < upper < inf, got {lower} and {upper}")
    if isinstance(points, bool) or not isinstance(points, (int, np.integer)) or points < 2:
        raise ValueError(f"points must be an integer of at least 2, got {points}")
    if not 1e-15 <= rtol <= 0.1:
        raise ValueError(f"rtol must lie between 1e-15 and 0.1, got {rtol}")

    (gaps_a, gaps_b), denominator = exact_gaps(x, y)
    g = gap_difference(gaps_a, gaps_b, denominator)
    bound = g.laguerre_bound()  # where it is 0, an identical pair included, there is nothing to search for
    brackets = _brackets(g, np.geomspace(float(lower), float(upper), points), rtol) if bound else []
    return Crossings(
        dimension=x.size,
        crossings=tuple((low, high) for low, _, high in brackets),
        roots=tuple(root for _, root, _ in brackets),
        window=(float(lower), float(upper)),
        sign_at_one=-g.sign(1.0),
        sigma=(sum(gaps_a) / denominator, sum(gaps_b) / denominator),
        delta=(_smallest(gaps_a, denominator), _smallest(gaps_b, denominator)),
        identical=not g.exponents,
        bound=bound,
        complete=len(brackets) == bound,
    )


def _smallest(gaps: list[int], denominator: int) -> float:
    return gaps[0] / denominator if gaps else math.inf


def _brackets(g: ExponentialSum, scales: NDArray[np.float64], rtol: float) -> list[tuple[float, float, float]]:
    signs = [(r, g.sign(r)) for r in scales.tolist()]
    return [_refine(g, low, high, sign, rtol) for (low, sign), (high, other) in pairwise(signs) if sign != other]


def _refine(g: ExponentialSum, low: float, high: float, sign_low: int, rtol: float) -> tuple[float, float, float]:
    """Shrink the bracket (low, high), whose end signs differ, to about rtol: (low, root, high)."""
    if g.value(low) * sign_low > 0 > g.value(high) * sign_low:
        root = cast(float, brentq(g.value, low, high, xtol=rtol * low / 8, rtol=4 * np.finfo(float).eps))
    else:
        root = math.sqrt(low) * math.sqrt(
            high
        )  # rounding hides the sign at an end: leave the work to the bisection below

    def probe(r: float) -> None:
        nonlocal low, high
        if low < r < high:
            low, high = (r, high) if g.sign(r) == sign_low else (low, r)

    reach = 0.4 * rtol * root
    while reach < high - low:
        probe(root - reach)
        probe(root + reach)
        if high - low <= 2.5 * reach:
            break
        reach *= 8
    while high - low > rtol * high and low < (middle := (low + high) / 2) < high:
        probe(middle)
    return low, root if low < root < high else (low + high) / 2, high
