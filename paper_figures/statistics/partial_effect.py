"""What the reward adds at equal GOD: outcome differences of paired prompts, with the difference in GOD taken out.

For prompt i, d_i = outcome(method) - outcome(control) and g_i = GOD(method) - GOD(control), and

    d_i = alpha + beta g_i + noise,    so that    mean(d) = alpha + beta mean(g).

alpha is what the method adds at equal GOD, beta what a position of GOD adds; the second equation splits the whole
difference into the two. Pairing takes out what belongs to the prompt. It does not make beta causal: g is itself an
outcome of decoding, and what moves both g and d of a prompt biases beta, and alpha by -mean(g) times as much.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paper_figures.statistics.intervals import Interval, bootstrap_interval, percentile_interval
from paper_figures.statistics.resampling import batch_sizes, check_resampling, exchange_test, finite_arrays
from paper_figures.statistics.significance import paired_test

__all__ = ["CaliperEffect", "PartialEffect", "caliper_effect", "partial_effect"]


@dataclass(frozen=True)
class PartialEffect:
    """The effect at equal GOD over n pairs; difference: of the mean outcome; god_difference: of the mean GOD.

    status    alpha, beta, p
    ok        the fit; p tests alpha = 0
    equal     every g is 0: alpha is the mean of d, and p its sign-flip test; beta is None
    constant  every g is the same number, not 0: as before, but alpha holds at that g, nothing being known of g = 0
    few       fewer than 3 pairs, or all but one of the same g: None, None, None

    Each interval is the percentile bootstrap over pairs, which is narrow where they are few: simulated, alpha's at 95 %
    covers 89 to 93 % of the time with 12 to 20 pairs, 93 to 96 % with 50 or 150. undetermined: resamples left out of
    alpha's and beta's, as their g is constant; where that is more than a few, beta rests on a few pairs.
    """

    n: int
    status: Literal["ok", "equal", "constant", "few"]
    difference: Interval
    god_difference: Interval
    alpha: Interval | None
    beta: Interval | None
    p: float | None
    undetermined: int


@dataclass(frozen=True)
class CaliperEffect:
    """The mean of d over the n of `pairs` pairs with |g| <= width, and its sign-flip p; None, None where n is 0."""

    width: float
    pairs: int
    n: int
    difference: Interval | None
    p: float | None


def partial_effect(
    outcome: ArrayLike,
    control_outcome: ArrayLike,
    god: ArrayLike,
    control_god: ArrayLike,
    rng: np.random.Generator,
    *,
    level: float = 0.95,
    resamples: int = 9999,
) -> PartialEffect:
    """Return alpha and beta of the module's equation by least squares over pairs, with intervals and a test of alpha.

    p: two-sided, by flipping the signs of (d_i, g_i) jointly, as the pair would be had the two texts changed places;
    all patterns where they are no more than `resamples`, otherwise drawn ones, (b + 1) / (m + 1). Exact where the two
    are exchangeable. That is more than alpha = 0, as the two may differ in GOD. Under alpha = 0 alone, with symmetric
    noise, flipped pairs still obey the equation, but about a mean g of 0, where alpha's variance has lost its term
    mean(g)^2 / sum (g - mean(g))^2; alpha as the statistic rejects far too often then. So the statistic is alpha over
    the standard error that allows noise of unequal size (HC3; MacKinnon and White 1985), whose distribution is the same
    on both sides for large n: p is approximate under alpha = 0 alone, and exact under exchangeability. The line must be
    straight; `caliper_effect` does without it.

    outcome, control_outcome, god, control_god: finite, (n,), n >= 1, the same prompts in the same order, which does not
    matter. Exchanging method and control turns alpha into -alpha and keeps beta and p. g within rounding of constant
    counts as constant. ValueError otherwise.

    >>> god = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    >>> outcome = 0.5 * (god - 1) + [0.3, 0.2, 0.2, 0.2, 0.2, 0.1]
    >>> found = partial_effect(outcome, np.zeros(6), god, np.ones(6), np.random.default_rng(0))
    >>> found.status, round(found.alpha.mean, 2), round(found.beta.mean, 2), found.p
    ('ok', 0.27, 0.47, 0.03125)
    """
    check_resampling(level, resamples)
    d, g, slack = _pairs(outcome, control_outcome, god, control_god)
    difference, god_difference = (bootstrap_interval(part, rng, level, resamples) for part in (d, g))

    def result(
        status: Literal["ok", "equal", "constant", "few"],
        alpha: Interval | None = None,
        beta: Interval | None = None,
        p: float | None = None,
        undetermined: int = 0,
    ) -> PartialEffect:
        return PartialEffect(d.size, status, difference, god_difference, alpha, beta, p, undetermined)

    ranked = np.sort(g)
    if d.size < 3:
        return result("few")
    if np.ptp(g) <= slack:
        at_zero = bool((np.abs(g) <= slack).all())
        return result("equal" if at_zero else "constant", difference, None, paired_test(d, 0 * d, rng, resamples))
    if min(np.ptp(ranked[1:]), np.ptp(ranked[:-1])) <= slack:
        return result("few")
    drawn = [
        _fit(d[picked], g[picked], slack)
        for size in batch_sizes(resamples, d.size)
        for picked in [rng.integers(d.size, size=(size, d.size))]
    ]
    fitted = np.concatenate([part[:2, part[3] > 0] for part in drawn], axis=1)  # [2, resamples whose g varies]
    alpha, beta, statistic, _ = _fit(d[None], g[None], slack)[:, 0]
    intervals = [
        percentile_interval(value, draws if draws.size else np.array([value]), level)
        for value, draws in zip((alpha, beta), fitted, strict=True)
    ]
    p = _flip_test(d, g, abs(statistic), slack, rng, resamples)
    return result("ok", intervals[0], intervals[1], p, resamples - fitted.shape[1])


def caliper_effect(
    outcome: ArrayLike,
    control_outcome: ArrayLike,
    god: ArrayLike,
    control_god: ArrayLike,
    width: float,
    rng: np.random.Generator,
    *,
    level: float = 0.95,
    resamples: int = 9999,
) -> CaliperEffect:
    """Return the mean outcome difference over the pairs whose GOD differs by at most `width`; no line is assumed.

    Its p is that of `significance.paired_test` within these pairs. It is exact if the methods are exchangeable, as |g|
    does not say which is which. The pairs are those that happen to agree in GOD, not a sample of all. width: finite,
    >= 0, up to rounding; the arrays as in `partial_effect`. ValueError otherwise.

    >>> found = caliper_effect([1, 1, 0], [0, 0, 1], [2.0, 2.1, 9.0], [2.0, 2.0, 2.0], 0.5, np.random.default_rng(0))
    >>> found.n, found.difference.mean, found.p
    (2, 1.0, 0.5)
    """
    check_resampling(level, resamples)
    if not 0 <= width < np.inf:
        raise ValueError(f"width is {width}: a finite number of at least 0 is needed")
    d, g, slack = _pairs(outcome, control_outcome, god, control_god)
    kept = d[np.abs(g) <= width + slack]
    if not kept.size:
        return CaliperEffect(width, d.size, 0, None, None)
    interval = bootstrap_interval(kept, rng, level, resamples)
    return CaliperEffect(width, d.size, kept.size, interval, paired_test(kept, 0 * kept, rng, resamples))


def _pairs(
    outcome: ArrayLike, control_outcome: ArrayLike, god: ArrayLike, control_god: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return d and g, in an order that no order of the prompts or methods changes, and the rounding of g."""
    left, right, god_first, god_second = finite_arrays(
        outcome=outcome, control_outcome=control_outcome, god=god, control_god=control_god
    )
    d, g = left - right, god_first - god_second
    slack = 8 * float(np.finfo(np.float64).eps) * max(np.abs(god_first).max(), np.abs(god_second).max())
    turn = np.where(np.sign(g) != 0, np.sign(g), np.sign(d))
    order = np.lexsort((turn, d * turn, g * turn))
    return d[order], g[order], slack


def _fit(d: NDArray[np.float64], g: NDArray[np.float64], slack: float) -> NDArray[np.float64]:
    """Return alpha, beta, alpha over its HC3 standard error, and whether g varies, [4, B], of rows d, g, [B, n].

    Where g does not vary, beta is 0 and alpha the mean of d. Where the fit has no residual, the third is 0 or infinite.
    """
    n = d.shape[1]
    mean = g.mean(axis=1, keepdims=True)
    apart = g - mean
    varies = np.ptp(g, axis=1, keepdims=True) > slack
    spread = np.where(varies, (apart**2).sum(axis=1, keepdims=True), 1.0)
    apart = np.where(varies, apart, 0.0)
    beta = (apart * d).sum(axis=1, keepdims=True) / spread
    alpha = d.mean(axis=1, keepdims=True) - beta * mean
    free = 1 - 1 / n - apart**2 / spread  # one less the leverage; a pair that has none free has no residual
    residual = np.where(free > 1e-9, d - alpha - beta * g, 0.0) / np.maximum(free, 1e-9)
    terms = (1 / n - mean * apart / spread) * residual
    error = np.sqrt((terms**2).sum(axis=1))
    size = np.abs(d).max(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = alpha[:, 0] / error
    sure = np.where(np.abs(alpha[:, 0]) > 1e-9 * size, np.copysign(np.inf, alpha[:, 0]), 0.0)
    ratio = np.where(error > 1e-9 * size, ratio, sure)
    return np.stack([alpha[:, 0], beta[:, 0], ratio, varies[:, 0].astype(np.float64)])


def _flip_test(
    d: NDArray[np.float64],
    g: NDArray[np.float64],
    observed: float,
    slack: float,
    rng: np.random.Generator,
    resamples: int,
) -> float:
    turn = np.where(np.sign(g) != 0, np.sign(g), np.sign(d))
    d, g = d * turn, g * turn  # the same whichever of the two methods is the control
    least = observed * (1 - 1e-9) - 1e-9  # rounding must not part what is equal, nor 0 from 0
    moved = np.flatnonzero(turn)  # a sign changes nothing elsewhere

    def as_far(flipped: NDArray[np.bool_]) -> int:  # [B, pairs that moved]
        signs = np.ones((len(flipped), d.size))
        signs[:, moved] -= 2.0 * flipped
        return int((np.abs(_fit(signs * d, signs * g, slack)[2]) >= least).sum())

    return exchange_test(moved.size, as_far, rng, resamples)
