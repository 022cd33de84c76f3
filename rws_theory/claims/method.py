"""Statements on the method (Sections 1 to 3), on the order metric (Section 5.1), and on the framework (Appendix A)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise, permutations, product

import numpy as np
from flint import arb
from scipy.special import expit

from rws_theory.claims.claim import Finding
from rws_theory.claims.pair_search import SMALLEST, UNITS, Pair, all_pairs, smallest
from rws_theory.gain import factor_range, reward_factor
from rws_theory.orders.deviation import footrule_max, footrule_mean, generation_order_deviation
from rws_theory.printed import printed_in

FACTORS = (Fraction(1, 100), Fraction(1, 3), Fraction(1), Fraction(32))
RISING = ((1,), (2,), (1, 1), (1, 4), (2, 3, 9))  # gaps
REWARDS = (-1e6, -4.0, 0.0, 4.0, 1e6)  # normalised
SIZES = range(1, 8)
# The largest gap of every number of tokens, of the pairs in which reversals are counted.
POPULATION = ((2, 8), (3, 8), (4, 6))
UNIT = 4


def _reversed(factors: Iterable[Fraction | float]) -> tuple[int, list[int]]:
    """Return the number of all pairs of POPULATION, and how many have another order at a factor than at 1, proved."""
    pairs = [
        pair
        for d, largest in POPULATION
        for top in range(1, largest + 1)
        for each in all_pairs(d - 1, top)
        if (pair := Pair(each.a, each.b, UNIT)).order_at_one > 0
    ]
    return len(pairs), [sum(pair.order(float(factor)) < 0 for pair in pairs) for factor in factors]


def _largest(values: tuple[Fraction | int, ...]) -> list[int]:
    return [i for i, x in enumerate(values) if x == max(values)]


def argmax_unchanged() -> Finding:
    """Check exactly, on a grid, that a positive factor keeps which logit is the largest (docs/theory.md, section 7)."""
    tried = [logits for d in (1, 2, 3) for logits in product(range(-2, 3), repeat=d)]
    unchanged = all(_largest(tuple(c * x for x in logits)) == _largest(logits) for logits in tried for c in FACTORS)
    return Finding(
        "true" if unchanged else "false",
        f"x_i > x_j gives c x_i > c x_j for every c > 0. All {len(tried)} logits in {{-2, ..., 2}}^d, d <= 3, at"
        f" factors {', '.join(map(str, FACTORS))} agree, exactly. So within a step RWS changes where a token is"
        " committed, never which.",
    )


def probability_gaps() -> Finding:
    """Find two tokens whose gap in probability falls with r; the top's lead never does (docs/theory.md, section 7)."""

    def lead(r: int) -> arb:
        """Return a certified interval of p_2 - p_3, for logits (0, -1, -2) at scale r."""
        first, second, third = (arb(-r * gap).exp() for gap in range(3))
        return (second - third) / (first + second + third)

    at_one, at_three = lead(1), lead(3)
    return Finding(
        "true with correction" if at_three < at_one else "not confirmed",
        "It is true of the lead of the most likely token, and of log-odds between any two, log(p_i / p_j) = r (x_i -"
        " x_j) (docs/theory.md, section 7).",
        "d = 3, logits (0, -1, -2): the second token leads the third by (exp(-r) - exp(-2r)) / (1 + exp(-r) + exp(-2r))"
        f" = {float(at_one):.4f} at r = 1 and {float(at_three):.4f} at r = 3 (smallest: with d = 2 there is only the"
        " top's lead)",
    )


def selective() -> Finding:
    """Check that a factor raises every P^x(r) unless its logits tie (eq. (T1)); either of two may gain more."""
    factor = 2
    moved = all(Pair(gaps, tuple(factor * u for u in gaps)).order_at_one < 0 for gaps in RISING)
    equal, (less, more) = ([Pair((2,), (1,), unit).probabilities(r)[::-1] for r in (1, factor)] for unit in (1, 2))
    (low, high), (low_half, high_half) = ([b - a for a, b in zip(*pair, strict=True)] for pair in (equal, (less, more)))
    return Finding(
        "false" if moved and low > high and low_half < high_half else "not confirmed",
        f"One factor moves all positions the same way (docs/theory.md, section 1); proved for {len(RISING)} vectors at"
        f" r = 1 and {factor}. A weaker reading is that lower scores gain more. It is true of some pairs: with two"
        f" tokens and gaps (1) and (2) a factor of {factor} adds {low:.3f} to the less confident position and"
        f" {high:.3f} to the other. It is false of others, as the counterexample shows.",
        "Two positions, d = 2, gaps (1/2) and (1), P = 1 / (1 + exp(-r gap)): a factor of 2 raises both,"
        f" {less[0]:.4f} to {more[0]:.4f} and {less[1]:.4f} to {more[1]:.4f}. The more confident one gains more,"
        f" {high_half:.3f} against {low_half:.3f}, and their order stays (smallest: fewest tokens)",
    )


def more_reversals() -> Finding:
    """Count the reversed pairs of a population: more above 1, fewer on the way up to 1 (docs/theory.md, section 7)."""
    grid = [row["scale"] for row in printed_in("table8_temperature", exact=True)["rows"]]
    pairs, counts = _reversed(grid)
    below, beyond = ([n for scale, n in zip(grid, counts, strict=True) if scale * side >= side] for side in (-1, 1))
    rises = beyond[0] < beyond[-1] and all(p <= q for p, q in pairwise(beyond))
    above = smallest(lambda p: p.counts == (0, 2), bound=2, units=UNITS)
    shown, undone = "none found", False
    if above:
        first, second = above.crossings.crossings
        undone = [above.order(first.upper), above.order(second.upper)] == [-1, 1]
        shown = f"d = {above.dimension}, {above}: reversed between {above.values}, restored beyond; {above.signs}"
    falls = undone and below[0] > 0 and below[-1] == 0
    listed = [f"{count} at {float(scale):g}" for scale, count in zip(grid, counts, strict=True)]
    sizes = ", ".join(f"d = {d} up to {largest}/{UNIT}" for d, largest in POPULATION)
    return Finding(
        ("true with correction" if rises else "false") if falls else "not confirmed",
        f"All {pairs:,} pairs of different gaps in multiples of 1/{UNIT}, {sizes}, signs proved. Reversed"
        f" against factor 1, at the factors of the paper's grid: {', '.join(listed)}. So above 1, where most of the"
        f" grid lies, the number {'rises and levels off' if rises else 'does not always rise'}. A larger factor can"
        f" restore a single pair too: {shown}.",
        f"Below 1 a larger factor reverses fewer of these pairs, {', '.join(listed[: len(below)])}: at 1 no pair is"
        " reversed, and near 1 hardly any.",
    )


def reinforce() -> Finding:
    """Show by the paper's own example that a larger factor may select the position that was the less confident."""
    a, b = (printed_in("appendix_d", exact=True)[name] for name in ("a", "b"))
    gaps = [tuple(int(10 * (max(x) - v)) for v in sorted(x, reverse=True)[1:]) for x in (a, b)]
    pair = Pair(gaps[0], gaps[1], 10)
    low, high = 1.0, 8.0
    turned = pair.order(low) > 0 > pair.order(high)
    (a_low, b_low), (a_high, b_high) = pair.probabilities(low), pair.probabilities(high)
    return Finding(
        "true with correction" if turned else "not confirmed",
        "Within a position it is true: the top token's probability rises with the factor. Selection is among positions,"
        " and there Section 3.2 says the opposite, that larger factors reverse more. Of any set of pairs the share that"
        " keeps its order and the share reversed add up to 1, so at most one of them rises.",
        f"Appendix D's pair: at factor {low:g} the first is ahead, {a_low:.4f} against {b_low:.4f}; at {high:g} the"
        f" second is, {a_high:.4f} against {b_high:.4f}. The larger factor selects what was the less confident.",
    )


def adaptive() -> Finding:
    """Count reversals by reward above factor 1, and find a pair that only a low reward reverses (eq. (T37))."""
    grid = [row["scale"] for row in printed_in("table8_temperature", exact=True)["rows"]]
    pair = smallest(lambda p: p.counts[0] == 1)
    low, high = (float(reward_factor(reward, 1.0)) for reward in (-4.0, 4.0))
    checked = pair is not None and pair.order(low) < 0 < pair.order(high)
    rewards = (-4.0, -2.0, 0.0, 4.0)
    few, many = (_reversed(float(reward_factor(r, scale)) for r in rewards)[1] for scale in (1.0, 8.0))
    follows = many[0] < many[-1] and many == sorted(many) and few[0] > few[-1]
    return Finding(
        ("true with correction" if follows else "false") if checked else "not confirmed",
        f"At s_R = 8 normalised rewards of {', '.join(f'{r:g}' for r in rewards)} have factors above 1, and reverse"
        f" {', '.join(map(str, many))} of the pairs of S3-more-reversals. But {sum(scale <= 1 for scale in grid)} of"
        f" the {len(grid)} scales of the paper's grid are at most 1, where every factor is below 1.00001 and a higher"
        f" reward moves it toward 1 until then: at s_R = 1 they reverse {', '.join(map(str, few))}.",
        f"s_R = 1, d = {pair.dimension}, {pair}: at normalised reward -4 the factor {low:.4f} reverses the pair, at 4"
        f" the factor {high:.4f} does not ({SMALLEST})"
        if pair
        else None,
    )


def factor_bounds() -> Finding:
    """Check the range of the factor and that sqrt(x) >= x on [0, 1] keeps it large (docs/theory.md, eq. (T37))."""
    low, high = factor_range(1.0)
    factors = {r: float(reward_factor(r, 1.0)) for r in REWARDS}
    inside = all(low <= factor <= high for factor in factors.values())
    raised = all(factor > float(expit(r)) for r, factor in factors.items())
    return Finding(
        "true" if inside and raised else "false",
        f"Factor s_R sqrt(sigmoid(r) + eps). For s_R = 1 and eps = 1e-5 it lies in [{float(low):.5f},"
        f" {float(high):.6f}], approached in the limits;"
        f" at normalised reward -4 it is {factors[-4.0]:.3f}, where the sigmoid alone is {expit(-4.0):.3f}.",
    )


def footrule() -> Finding:
    """Check on all short orders that GOD is Spearman's footrule over n, with its mean and maximum (eq. (T47))."""
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
    return Finding(
        "true" if all(ok) else "not confirmed",
        "It is Spearman's footrule over n; confirmed, with mean and maximum, for all orders of up to"
        f" {max(SIZES)} positions. Inside blocks of 32 a random order has mean {footrule_mean(32):.2f} tokens: the"
        f" paper's {float(min(gods)):.2f} to {float(max(gods)):.2f} are far closer to left-to-right. The paper does not"
        " say whether o counts tokens or steps.",
    )


def _masked(rates: Iterable[Fraction]) -> Fraction:
    """Return the masked share after steps that mask each unmasked position with these probabilities."""
    return 1 - math.prod((1 - rate for rate in rates), start=Fraction(1))


def forward_process() -> Finding:
    """Compose steps exactly: the printed formula is right as q(x_t | x_0), not as a step (eq. (T55))."""
    cases = [(total, t) for total in SIZES for t in range(1, total + 1)]
    right = all(
        _masked(Fraction(1, total - s + 1) for s in range(1, t + 1)) == Fraction(t, total) for total, t in cases
    )
    shares = [(total, t, _masked(Fraction(s, total) for s in range(1, t + 1))) for total, t in cases]
    wrong = [(total, t, share) for total, t, share in shares if share != Fraction(t, total)]
    counterexample, example = None, ""
    if wrong:
        total, t, share = wrong[0]
        mended = " ".join(f"(1 - 1/{total - s + 1})" for s in range(1, t + 1))
        example = f": T = {total}, t = {t} leaves {mended} = {1 - Fraction(t, total)} unmasked"
        rest = " ".join(f"(1 - {s}/{total})" for s in range(1, t + 1))
        counterexample = (
            f"T = {total}, t = {t}: steps that each mask with s / T leave {rest} = {1 - share} unmasked, so {share} is"
            f" masked instead of {Fraction(t, total)} (smallest T, then t)"
        )
    return Finding(
        "true with correction" if wrong and right else "not confirmed",
        "The printed formula is labelled q(x_t | x_0), and as that it is right; only the word transition, and q(x_t |"
        f" x_{{t-1}}) before it, are loose. Steps that mask with 1 / (T - t + 1) compose to t / T, exactly, for all"
        f" {len(cases)} pairs t <= T up to T = {max(SIZES)}{example}.",
        counterexample,
    )
