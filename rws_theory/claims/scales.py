"""Ours: who is ahead at every scale, how far a scale may move, which rewards scaling raises, what passes a threshold.

docs/theory.md, sections 15 and 18 to 20, has the proofs.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, combinations_with_replacement, pairwise, product

from flint import arb

from rws_theory.certified.condensed import exact
from rws_theory.certified.exponential_sum import precision
from rws_theory.claims.claim import Finding
from rws_theory.claims.pair_search import Pair, confidence, ordered_pairs
from rws_theory.majorisation import dominance_order, majorises
from rws_theory.show import number
from rws_theory.stability import stability_radius
from rws_theory.threshold import threshold_path
from rws_theory.tilting.comonotone import scaling_raises_reward

_MOST_GAP = {1: 8, 2: 8, 3: 6}  # by the number of gaps
_WITNESS = Pair((2, 2, 5), (1, 4, 4))
_TAUS = (Fraction(3, 8), Fraction(3, 4), Fraction(15, 16))  # floats, and no limit of a confidence, 1 / (1 + zero gaps)
_GOLDEN = (1 + arb(5).sqrt()) / 2


def _never_behind(pair: Pair) -> bool:
    """Say whether a pair with P^a(1) > P^b(1) has no crossing at all, by the signs at both ends and the counts."""
    return min(pair.order_near_zero, pair.order_at_infinity) > 0 and sum(pair.counts) == 0


def majorisation() -> Finding:
    """Confirm majorisation against certified crossings on a grid, and find where the converse fails (eq. (T76))."""
    tried = wrong = 0
    without: list[Pair] = []
    for n, largest in _MOST_GAP.items():
        for pair in ordered_pairs(n, largest):
            tried += 1
            sums, ordered = majorises(*pair.logits).holds, _never_behind(pair)
            wrong += sums and not ordered
            if ordered and not sums:
                without.append(pair)
    first = without[0] if without else _WITNESS
    witness, order = majorises(*first.logits), dominance_order(*first.logits)
    holds = not wrong and without[:1] == [_WITNESS] and witness.never_behind is True and not witness and order == 3
    return Finding(
        "true" if holds else "not confirmed",
        f"Proof: docs/theory.md, eq. (T16) and (T76). Sufficient for all, and necessary for d <= 3, among {tried:,}"
        f" ordered pairs. For d = 4, {len(without)} of them are ahead at every scale without it. The smallest:"
        f" {first}. With x = exp(-r), F_a - F_b = x (x - 1)^3 (x + 1) < 0 on (0, 1), and yet 2 + 2 < 1 + 4."
        f" Stochastic dominance of order {order} proves it (eq. (T77)).",
    )


def stability() -> Finding:
    """Confirm the exact ends against certified crossings, and that the cheap bound lies inside (eq. (T78) to (T81))."""
    tried = wrong = 0
    for pair in ordered_pairs(3, 4):
        tried += 1
        stable = stability_radius([[float(x) for x in row] for row in pair.logits], 1)
        odd = [c for c in pair.crossings.crossings if (c.multiplicity or 1) % 2]
        low = max((c.upper for c in odd if c.upper < 1), default=0.0)
        high = min((c.lower for c in odd if c.lower > 1), default=float("inf"))
        near = all(abs(end - c) <= 2e-12 * c for end, c in ((stable.lower, low), (stable.upper, high)) if end != c)
        inside = stable.lower * (1 - 1e-12) <= stable.cheap[0] and stable.cheap[1] <= stable.upper * (1 + 1e-12)
        wrong += not (stable.certified and near and inside)
    example = stability_radius([[1.1, 0.6, 0.3], [1.0, 0.4, 0.4]], 1)
    golden = 10 * _GOLDEN.log()
    exact = example.lower == 0 and abs(golden - example.upper) < 1e-11 and bool(golden > example.upper * (1 - 1e-14))
    return Finding(
        "true" if exact and not wrong else "not confirmed",
        f"Proof: docs/theory.md, eq. (T78). Inside the exact interval, which is enclosed by certified crossings, for"
        f" {tried:,} ordered pairs with d = 4. In the example of Appendix D the set stays down to 0 and up to"
        f" {example.upper:.6f} = 10 log((1 + sqrt 5) / 2); one evaluation at 1 proves it up to {example.cheap[1]:.4f}.",
    )


def scaling_reward() -> Finding:
    """Confirm the equivalence by all conditionings of small tables, at c = 1, 2, 3, in exact arithmetic (eq. (T82))."""

    def mean(states: tuple[tuple[int, int], ...], c: int) -> Fraction:
        return Fraction(sum(w**c * reward for w, reward in states), sum(w**c for w, _ in states))

    tried = wrong = raising = 0
    for law in combinations_with_replacement(tuple(product((1, 2, 3), (-1, 0, 2))), 4):
        tried += 1
        subsets = [s for size in (2, 3, 4) for s in combinations(law, size)]
        rises = all(mean(s, c) <= mean(s, c + 1) for s in subsets for c in (1, 2))
        decided = scaling_raises_reward(*map(list, zip(*law, strict=True)))
        raising += rises
        wrong += decided.raises != rises
        if decided.fall is not None:
            two = law[decided.fall.likelier], law[decided.fall.better]
            wrong += not mean(two, 1) > mean(two, 2)
    example = scaling_raises_reward([8, 4, 1], [2, 0, 1]).fall
    shown = f"from {number(example.before)} to {number(example.after)}" if example else "nowhere"
    return Finding(
        "true" if not wrong and example is not None else "not confirmed",
        f"Proof: docs/theory.md, eq. (T82); exact for all conditionings of {tried} laws on four states, {raising} of"
        " which meet the condition. A guarantee for every step needs a reward that ranks outcomes as p does. For"
        f" p = (8, 4, 1) / 13 and R = (2, 0, 1), E[R] rises at every c > 0, and given the last two states it falls"
        f" {shown} as c goes from 1 to 2.",
    )


def threshold_monotone() -> Finding:
    """Confirm on all small rows that positions pass a threshold once and upwards, in ball arithmetic (eq. (T64))."""
    rows = [gaps for n in (1, 2, 3) for gaps in combinations_with_replacement(range(5), n) if any(gaps)]
    scales = [Fraction(1, 8), Fraction(1, 2), Fraction(1), Fraction(3), Fraction(20)]
    with precision(128):
        known = [[confidence(row, c) for c in scales] for row in rows]
    holds = all(bool(after > before) for values in known for before, after in pairwise(values))
    logits = [[0.0, *(-float(u) for u in row), *[float("-inf")] * (3 - len(row))] for row in rows]
    counts = list[str]()
    for tau in _TAUS:
        path = threshold_path(logits, float(tau), 0.125, 20.0)
        holds &= path.certified and all({*a.positions} < {*b.positions} for a, b in pairwise(path.pieces))
        for index, c in enumerate(scales):
            above = tuple(i for i, values in enumerate(known) if values[index] >= exact(tau))
            holds &= above == next(piece.positions for piece in path.pieces if piece.lower <= c <= piece.upper)
        counts.append(f"{len(path.pieces[0].positions)} to {len(path.pieces[-1].positions)} at tau = {tau}")
    return Finding(
        "true" if holds else "not confirmed",
        f"Proof: docs/theory.md, eq. (T64). Ball arithmetic confirms it for {len(rows)} positions with gaps up to 4:"
        f" the number above the threshold goes from {', '.join(counts)}, as the scale goes from 1/8 to 20.",
    )
