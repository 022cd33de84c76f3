"""Statements on scaling before the paper's theorem (Section 4, first sentence, and the two items of Section 4.2)."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from rws_theory.claims.claim import Finding
from rws_theory.claims.example import gaps_of, logits
from rws_theory.claims.method import argmax_unchanged
from rws_theory.claims.pair_search import confidence, smallest

LARGEST = 12  # the gaps that are tried
FAR = (2, 5, 10)  # scales at which a confidence approaches 1


def most_likely() -> Finding:
    """Show that the statement is true among positions and, by S3-argmax, never at one position."""
    pair = smallest(lambda p: p.counts[0] == 1)
    shown, turned = "none found", False
    if pair:
        (star,) = pair.crossings.crossings
        turned = pair.order(star.lower) < 0
        low = float(f"{star.lower / 2:.0e}")
        (a, b), (a_one, b_one) = pair.probabilities(low), pair.probabilities(1)
        shown = (
            f"d = {pair.dimension}, {pair}: the first is ahead at r = 1, {a_one:.4f} against {b_one:.4f}, and behind at"
            f" r = {low:g}, {a:.4f} against {b:.4f}"
        )
    return Finding(
        "true with correction" if turned and argmax_unchanged().verdict == "true" else "not confirmed",
        f"Among the predictions of different positions, which the paper means, it can: {shown}. At one position it"
        " cannot, as Section 3.2 says itself (S3-argmax).",
        "At one position: logits (1, 0) at any r > 0 keep their order, as r > 0 (smallest: d = 2, the first with a"
        " choice)",
    )


def _fall(gap: int) -> arb:
    """Return a certified interval of P(1) - P(1 / 2), by how much P falls from r = 1 to 1 / 2, for two tokens."""
    return confidence((gap,), 1) - confidence((gap,), Fraction(1, 2))


def gap_sum() -> Finding:
    """Find two positions of two tokens, of which the larger sum falls less; near 0 it falls more (docs/theory.md).

    The slope of P at r = 0 is Sigma / d^2, since F(0) = d - 1 and F'(0) = -Sigma.
    """
    pairs = [(small, large) for large in range(1, LARGEST + 1) for small in range(1, large)]
    less = next((pair for pair in pairs if _fall(pair[1]) < _fall(pair[0])), None)
    counterexample = None
    if less:
        shown = " and ".join(f"{float(_fall(gap)):.4f} for the gap {gap}" for gap in less)
        counterexample = (
            f"d = 2, one gap each, {less[0]} and {less[1]}: from r = 1 to r = 1/2 P = 1 / (1 + exp(-r gap)) falls by"
            f" {shown} (smallest: fewest tokens, then smallest gaps)"
        )
    agree = smallest(lambda p: p.sigma[0] != p.sigma[1] and p.order_near_zero * (p.sigma[0] - p.sigma[1]) < 0) is None
    return Finding(
        "true with correction" if less and agree else "not confirmed",
        "True as r -> 0: there P = 1/d + r Sigma / d^2 + O(r^2), so the larger sum has the steeper curve"
        " (docs/theory.md, eq. (T4)). At other r < 1 all gaps matter.",
        counterexample,
    )


def nearest_gap() -> Finding:
    """Confirm the leading term at large r on the paper's example; proof: docs/theory.md, eq. (T4)."""
    gaps = [gaps_of(x) for x in logits()]
    first, second = ([1 - confidence(row, r) for r in FAR] for row in gaps)
    nearer = gaps[0][0] < gaps[1][0]
    slower = (first[-1] > second[-1]) if nearer else (first[-1] < second[-1])
    values = "; ".join(
        f"r = {r}: {float(a):.2e} and {float(b):.2e}" for r, a, b in zip(FAR, first, second, strict=True)
    )
    return Finding(
        "true" if slower else "not confirmed",
        "1 - P ~ C exp(-r delta) for large r and delta > 0, C the number of gaps equal to delta (docs/theory.md, eq."
        f" (T4)); at equal delta the larger C is slower. Appendix D's pair, delta {float(gaps[0][0]):g} and"
        f" {float(gaps[1][0]):g}, has 1 - P^a and 1 - P^b at {values}.",
    )
