"""Statements on the method (Sections 1 to 3), on the order metric (Section 5.1), and on the framework (Appendix A)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from itertools import permutations, product

import numpy as np
from flint import arb
from scipy.special import expit

from rws_theory.claims.claim import Check, Claim, Verdict
from rws_theory.claims.pair_search import SMALLEST, UNITS, Pair, smallest
from rws_theory.gain import factor_range, reward_factor
from rws_theory.orders.deviation import footrule_max, footrule_mean, generation_order_deviation
from rws_theory.printed import printed_in

__all__ = ["CHECKS"]

FACTORS = (Fraction(1, 100), Fraction(1, 3), Fraction(1), Fraction(32))
RISING = ((1,), (2,), (1, 1), (1, 4), (2, 3, 9))  # gaps
REWARDS = (-1e6, -4.0, 0.0, 4.0, 1e6)  # normalised
SIZES = range(1, 8)


def _largest(values: tuple[Fraction | int, ...]) -> list[int]:
    return [i for i, x in enumerate(values) if x == max(values)]


def argmax_unchanged() -> Claim:
    """Check that a positive factor keeps which logit is the largest, exactly, on a grid (proof: docs/theory.md, section
    7).
    """
    tried = [logits for d in (1, 2, 3) for logits in product(range(-2, 3), repeat=d)]
    kept = all(_largest(tuple(c * x for x in logits)) == _largest(logits) for logits in tried for c in FACTORS)
    return Claim(
        "S3-argmax",
        "Section 3.2, Step 4",
        "The argmax at each position is the same whatever the factor.",
        "true" if kept else "false",
        f"Proof: docs/theory.md, section 7. All {len(tried)} logits in {{-2, ..., 2}}^d, d <= 3, at factors"
        f" {', '.join(map(str, FACTORS))} agree, exactly. So within a step RWS changes where a token is committed,"
        " never which.",
    )


def probability_gaps() -> Claim:
    """Find two tokens whose gap in probability falls with r; only the top's lead never does (docs/theory.md, section
    7).
    """

    def lead(r: int) -> arb:
        """Return p_2 - p_3 of logits (0, -1, -2), enclosed."""
        first, second, third = (arb(-r * gap).exp() for gap in range(3))
        return (second - third) / (first + second + third)

    at_one, at_three = lead(1), lead(3)
    return Claim(
        "S3-gaps",
        "Section 3.1",
        "Increasing the logits amplifies the probability gaps.",
        "true with correction" if at_three < at_one else "not confirmed",
        "It is true of the lead of the most likely token, and of log-odds between any two (docs/theory.md, section 7).",
        f"d = 3, logits (0, -1, -2): the second token leads the third by {float(at_one):.4f} at r = 1 and by"
        f" {float(at_three):.4f} at r = 3 (smallest: with d = 2 there is only the top's lead)",
        "The lead of the most likely token over every other does not decrease with r; other gaps may.",
    )


def selective() -> Claim:
    """Check that every P^x(r) increases with r unless all its logits tie: one factor moves all one way (eq. (T1))."""
    factor = 2
    moved = all(Pair(gaps, tuple(factor * u for u in gaps)).order_at_one < 0 for gaps in RISING)
    return Claim(
        "AB-selective",
        "Abstract",
        "RWS selectively increases the confidence of tokens that initially have lower scores.",
        "false" if moved else "not confirmed",
        f"One factor moves all positions the same way (docs/theory.md, section 1); proved for {len(RISING)} vectors at"
        f" r = 1 and {factor}.",
        "Two positions, d = 2, gaps (1) and (2): a factor of 2 raises both, the more confident one too, and keeps"
        " their order (smallest: fewest tokens)",
        "A factor above 1 raises the confidence of every position whose logits are not all equal, one below 1 lowers"
        " it; which position is the most confident may change.",
    )


def more_reversals() -> Claim:
    """Find a pair below 1 and one above 1 that a larger factor puts back in order (docs/theory.md, section 7)."""
    below = smallest(lambda p: p.counts[0] == 1)
    above = smallest(lambda p: p.counts == (0, 2), bound=2, units=UNITS)
    verdict: Verdict = "not confirmed"
    shown = "none found"
    if below and above:
        (star,), (first, second) = below.crossings.crossings, above.crossings.crossings
        orders = [below.order(star.lower), below.order(star.upper), above.order(first.upper), above.order(second.upper)]
        shown = f"d = {above.dimension}, {above}: reversed between {above.values}, restored beyond"
        if orders == [-1, 1, -1, 1]:
            verdict = "false"
    return Claim(
        "S3-more-reversals",
        "Section 3.2, Step 3",
        "Larger multiplicative scaling values increase the likelihood of rank reversals.",
        verdict,
        f"Below 1 a larger factor can undo a reversal. Above 1 too: {shown}; signs proved.",
        f"d = {below.dimension}, {below}: reversed for factors below {below.values}, not for larger ones up to 1"
        f" ({SMALLEST})"
        if below
        else None,
        "The pairs reversed against factor 1 are those with an odd number of crossings (with multiplicity) between 1"
        " and the factor. Their number cannot fall with distance from 1 on a side where no pair crosses twice or more.",
    )


def adaptive() -> Claim:
    """Find a pair that a low reward reverses and a high one does not, at s_R = 1 (docs/theory.md, eq. (T37))."""
    grid = [row["scale"] for row in printed_in("table8_temperature", exact=True)["rows"]]
    pair = smallest(lambda p: p.counts[0] == 1)
    low, high = (float(reward_factor(reward, 1.0)) for reward in (-4.0, 4.0))
    checked = pair is not None and pair.order(low) < 0 < pair.order(high)
    return Claim(
        "S3-adaptive",
        "Section 3.2, Step 3",
        "A higher reward gives more rank reversals, a lower one fewer.",
        "false" if checked else "not confirmed",
        f"{sum(scale <= 1 for scale in grid)} of the {len(grid)} scales of the paper's grid are at most 1, where every"
        " factor is below 1.00001 and a higher reward moves it toward 1 until then.",
        f"s_R = 1, d = {pair.dimension}, {pair}: at normalised reward -4 the factor {low:.4f} reverses the pair, at 4"
        f" the factor {high:.4f} does not ({SMALLEST})"
        if pair
        else None,
        "A higher reward gives a larger factor; whether that means more reversals depends on which side of 1 it is on,"
        " and on the crossings.",
    )


def factor_bounds() -> Claim:
    """Check the range of the factor and that sqrt(x) >= x on [0, 1] keeps it large (docs/theory.md, eq. (T37))."""
    low, high = factor_range(1.0)
    factors = {r: float(reward_factor(r, 1.0)) for r in REWARDS}
    inside = all(low <= factor <= high for factor in factors.values())
    raised = all(factor > float(expit(r)) for r, factor in factors.items())
    return Claim(
        "S3-factor-range",
        "Section 3.2, Step 3",
        "The sigmoid keeps the factor in a stable range, and the square root keeps it from being too small.",
        "true" if inside and raised else "false",
        f"For s_R = 1 and eps = 1e-5 the factor lies in [{float(low):.5f}, {float(high):.6f}], approached in the"
        f" limits; at normalised reward -4 it is {factors[-4.0]:.3f}, where the sigmoid alone is {expit(-4.0):.3f}.",
    )


def footrule() -> Claim:
    """Check that GOD is Spearman's footrule over n, with its mean and maximum, on all short orders (docs/theory.md,
    (T47)).
    """
    ok = []
    for n in SIZES:
        orders = np.array(list(permutations(range(n))))
        totals = np.abs(orders - np.arange(n)).sum(axis=1)
        ok += [
            (generation_order_deviation(orders) == totals / n).all(),
            math.isclose(footrule_mean(n), totals.mean() / n),
            footrule_max(n) == totals.max() / n,
        ]
    rows = [*printed_in("table1_win_rate", exact=True)["rows"], printed_in("table12_frequency", exact=True)["rows"][0]]
    gods = [row["god"] for row in rows]
    return Claim(
        "GOD-footrule",
        "Section 5.1",
        "GOD is the mean distance between a token's place in the decoding order and from left to right.",
        "true" if all(ok) else "not confirmed",
        "It is Spearman's footrule over n; confirmed, with mean and maximum, for all orders of up to"
        f" {max(SIZES)} positions. Inside blocks of 32 a random order has mean {footrule_mean(32):.2f} tokens: the"
        f" paper's {float(min(gods)):.2f} to {float(max(gods)):.2f} are far closer to left-to-right. The paper does not"
        " say whether o counts tokens or steps.",
    )


def _masked(rates: Iterable[Fraction]) -> Fraction:
    """Return the share that is masked after steps that mask what is unmasked with these probabilities."""
    return 1 - math.prod((1 - rate for rate in rates), start=Fraction(1))


def forward_process() -> Claim:
    """Compose the printed steps exactly: they do not give the printed marginal t / T (docs/theory.md, eq. (T55))."""
    cases = [(total, t) for total in SIZES for t in range(1, total + 1)]
    right = all(
        _masked(Fraction(1, total - s + 1) for s in range(1, t + 1)) == Fraction(t, total) for total, t in cases
    )
    shares = [(total, t, _masked(Fraction(s, total) for s in range(1, t + 1))) for total, t in cases]
    wrong = [
        f"T = {total}, t = {t}: {share} masked instead of {Fraction(t, total)}"
        for total, t, share in shares
        if share != Fraction(t, total)
    ]
    return Claim(
        "A-forward",
        "Appendix A",
        "q(x_t | x_{t-1}) masks each token of x_0 with probability t / T, and q(x_t | x_0) is that transition.",
        "false" if wrong and right else "not confirmed",
        f"Composed exactly for all {len(cases)} pairs t <= T up to T = {max(SIZES)}.",
        f"{wrong[0]} (smallest T, then t)" if wrong else None,
        "q(x_t | x_0) masks with probability t / T; the step q(x_t | x_{t-1}) masks with probability 1 / (T - t + 1).",
    )


CHECKS: dict[str, Check] = {
    "AB-selective": selective,
    "S3-gaps": probability_gaps,
    "S3-argmax": argmax_unchanged,
    "S3-factor-range": factor_bounds,
    "S3-more-reversals": more_reversals,
    "S3-adaptive": adaptive,
    "GOD-footrule": footrule,
    "A-forward": forward_process,
}
