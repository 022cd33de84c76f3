"""How often two positions with independent random logits change their order between small and large scales.

Near scale 0 the larger sum of gaps is ahead, at large scales the larger smallest gap. For many tokens the probability
that these differ has a limit, which depends only on the upper tail of the logits (docs/theory.md, section 17).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from flint import acb, arb, ctx
from numpy.typing import ArrayLike, NDArray

from rws_theory.confidence import check_logits, log_odds

Domain = Literal["gumbel", "frechet", "weibull"]
_CUT = 1e-9  # the integral leaves out [0, _CUT] and [1 - _CUT, 1], and adds the most that they can hold
_LARGEST_ALPHA = 100.0


@dataclass(frozen=True)
class ReversalLimit:
    """The limit of the probability of a reversal, between `lower` and `upper`: see :func:`reversal_limit`."""

    domain: Domain
    alpha: float | None
    lower: float
    upper: float

    def __repr__(self) -> str:
        name = self.domain if self.alpha is None else f"{self.domain}, alpha={self.alpha:g}"
        return f"ReversalLimit({name}: {(self.lower + self.upper) / 2:.8f})"


@dataclass(frozen=True)
class ReversalShare:
    """How many of the `pairs` were `reversed`."""

    reversed: int
    pairs: int

    def __repr__(self) -> str:
        low, high = self.interval()
        return f"ReversalShare({self.reversed:,} of {self.pairs:,} pairs, 95 % interval {low:.4f} to {high:.4f})"

    @property
    def share(self) -> float:
        """Return the share of pairs that were reversed."""
        return self.reversed / self.pairs

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the Clopper-Pearson interval of the probability of a reversal: coverage >= `confidence`."""
        return clopper_pearson(self.reversed, self.pairs, confidence)


def reversal_limit(domain: Domain, alpha: float | None = None) -> ReversalLimit:
    """Return a certified interval of the limit, for many tokens, of P(orders near scale 0 and at large scales differ).

    All logits of both positions are independent and have one distribution (docs/theory.md, eq. (T70) to (T73)), of
    domain

    - "gumbel": 1/4 exactly. Normal, Laplace, exponential, logistic, log-normal logits. Finite variance is needed.
    - "frechet", P(X > x) like x^-alpha: an integral, below 1/4. The left tail must be lighter, or the same.
    - "weibull", P(X > end - x) like x^alpha: 1/2 for alpha < 2, so for uniform logits (alpha = 1); an integral for
      alpha > 2. Finite variance is needed.

    alpha: between 0.1 and 100; none for "gumbel". The integrals are computed in ball arithmetic, to about 1e-8.
    ValueError for other values, and for "weibull" with alpha = 2, where the limit depends on more than the tail.

    >>> reversal_limit("gumbel"), reversal_limit("frechet", 3.0)
    (ReversalLimit(gumbel: 0.25000000), ReversalLimit(frechet, alpha=3: 0.18775009))
    """
    if domain not in get_args(Domain):
        raise ValueError(f"domain must be one of {', '.join(get_args(Domain))}, got {domain!r}")
    if domain == "gumbel":
        if alpha is not None:
            raise ValueError(f"alpha must be None in the Gumbel domain, got {alpha!r}")
        return ReversalLimit(domain, None, 0.25, 0.25)
    if not isinstance(alpha, int | float) or not 0.1 <= alpha <= _LARGEST_ALPHA:
        raise ValueError(f"alpha must be a number from 0.1 to {_LARGEST_ALPHA:g} in the {domain} domain, got {alpha!r}")
    if domain == "weibull" and alpha == 2:
        raise ValueError(
            "alpha must not be 2 in the weibull domain: maximum and mean vary alike, and no one limit holds"
        )
    if domain == "weibull" and alpha < 2:
        return ReversalLimit(domain, float(alpha), 0.5, 0.5)
    lower, upper = _enclosed(domain, float(alpha))
    return ReversalLimit(domain, float(alpha), lower, upper)


def _enclosed(domain: Domain, alpha: float) -> tuple[float, float]:
    """Certify an interval of 12 int_0^1 w / (1 + w)^4 (1 - w/2 - h(w)) dw, h of eq. (T71) or (T72)."""
    with ctx.workprec(80 + int(30 / alpha)):  # at the cut t is 2^(-30 / alpha), and 1 - t must not be 1
        a = arb(alpha)

        def integrand(w: acb, analytic: bool) -> acb:
            power = w.log(analytic) / a
            t = power.exp()
            if domain == "frechet":  # h is analytic in t off the negative axis
                if analytic and not abs(power.imag) < arb.pi():
                    return acb(arb.nan())
                h = (1 - t).hypgeom_2f1(a, 1, 1 + 2 * a) / 2
            else:  # and here off the axis from 1 on
                if analytic and not (t.real < 1 or t.imag > 0 or t.imag < 0):
                    return acb(arb.nan())
                h = t.hypgeom_2f1(1 - a, 1, a + 2) * t * a / (a + 1)
            return 12 * w / (1 + w) ** 4 * (1 - w / 2 - h)

        body = acb.integral(integrand, arb(_CUT), 1 - arb(_CUT), rel_tol=arb(1e-10), abs_tol=arb(1e-10)).real
        most = body + arb(1.3) * 2 * arb(_CUT)  # 12 w / (1 + w)^4 is at most 81/64, the last factor at most 1
        return _outward(body.lower(), -1), _outward(most.upper(), 1)


def _outward(bound: arb, direction: int) -> float:
    nearest = float(bound)
    if math.isnan(nearest):
        raise ArithmeticError("the integral has no finite enclosure")
    return math.nextafter(nearest, direction * math.inf)


def end_reversals(a: ArrayLike, b: ArrayLike) -> ReversalShare:
    """Count the pairs of rows whose order near scale 0 is not that at large scales.

    Row a[i] is ahead of b[i] near 0 if the sum of its gaps is larger, and at large scales if its smallest gap is (eq.
    (T4)). Ties are not reversed. Sums are of float64. a, b: shape (N, d), finite, N >= 1, d >= 2. ValueError for
    others.

    >>> rng = np.random.default_rng(0)
    >>> end_reversals(rng.standard_exponential((4000, 256)), rng.standard_exponential((4000, 256)))
    ReversalShare(974 of 4,000 pairs, 95 % interval 0.2303 to 0.2571)
    """
    (sum_a, least_a), (sum_b, least_b) = (_ends(rows) for rows in _pair(a, b))
    return ReversalShare(int(((sum_a - sum_b) * (least_a - least_b) < 0).sum()), len(sum_a))


def scale_reversals(a: ArrayLike, b: ArrayLike, scales: ArrayLike) -> list[ReversalShare]:
    """Count, at each scale, the pairs of rows whose order there (:func:`rws_theory.log_odds`) is not that near scale 0.

    >>> a, b = np.random.default_rng(0).standard_normal((2, 2000, 256))
    >>> star = freezing_scale(256)
    >>> [round(share.share, 3) for share in scale_reversals(a, b, [star / 4, star, 4 * star, 100 * star])]
    [0.036, 0.137, 0.243, 0.265]
    """
    x, y = _pair(a, b)
    near_zero = np.sign(_ends(x)[0] - _ends(y)[0])
    shares = []
    for scale in np.atleast_1d(np.asarray(scales, dtype=np.float64)):
        signs = np.sign(log_odds(x, float(scale)) - log_odds(y, float(scale)))
        shares.append(ReversalShare(int((near_zero * signs < 0).sum()), len(x)))
    return shares


def freezing_scale(tokens: int, deviation: float = 1.0) -> float:
    """Return sqrt(2 log d) / SD, below which independent normal logits do not reverse (eq. (T74), (T75)).

    `deviation`: the SD of the logits. ValueError for tokens < 2 and an SD that is not positive.

    >>> round(freezing_scale(126_464, 2.0), 3)  # a vocabulary of LLaDA's size
    2.424
    """
    if tokens < 2 or not 0 < deviation < math.inf:
        raise ValueError(f"tokens must be at least 2 and deviation positive, got {tokens} and {deviation}")
    return math.sqrt(2 * math.log(tokens)) / deviation


def clopper_pearson(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the Clopper-Pearson interval of a probability from `successes` in `trials`: coverage >= `confidence`.

    >>> [round(x, 3) for x in clopper_pearson(30, 100)]
    [0.212, 0.4]
    """
    from scipy.special import betainccinv, betaincinv  # here, so that its module does not wait for SciPy

    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}")
    tail, failures = (1 - confidence) / 2, trials - successes
    low = float(betaincinv(successes, failures + 1, tail)) if successes else 0.0
    return low, float(betainccinv(successes + 1, failures, tail)) if failures else 1.0


def _pair(a: ArrayLike, b: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    x, y = np.asarray(a), np.asarray(b)
    if x.ndim != 2 or x.shape != y.shape or min(x.shape) < 1 or x.shape[1] < 2:
        raise ValueError(f"a and b must have equal shapes (N, d) with N >= 1, d >= 2, got {x.shape} and {y.shape}")
    x, y = check_logits(x, "a"), check_logits(y, "b")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError("a and b must be finite: forbidden tokens (-inf) change the order near scale 0")
    return x, y


def _ends(rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sum of the gaps of each row and the smallest."""
    top = np.partition(rows, -2, axis=1)[:, -2:]
    return (top[:, 1:] - rows).sum(axis=1), top[:, 1] - top[:, 0]
