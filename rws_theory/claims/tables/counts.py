"""Whole numbers behind printed shares: the wins of Tables 1 and 5, and what chance alone gives (Tables 1, 4 and 10)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import ceil, comb, floor

from rws_theory.claims.claim import Finding
from rws_theory.claims.tables import half_unit
from rws_theory.claims.tables.scores import HUMANEVAL_PROBLEMS
from rws_theory.claims.tables.win_rates import MT_BENCH_PROMPTS
from rws_theory.printed import printed_in

LARGEST = 1200  # numbers of prompts that are tried
UNEVEN = 30  # how many prompts a fifth may be off its even size, at most
LEVEL = Fraction(1, 20)


def counts_of(share: Fraction, n: int, decimals: int = 1) -> list[int]:
    """Return the whole numbers of n that round to a printed share in percent.

    >>> counts_of(Fraction("60.2"), 450), counts_of(Fraction("43.3"), 91)
    ([271], [])
    """
    low, high = ((share + sign * half_unit(decimals)) * n / 100 for sign in (-1, 1))
    return list(range(max(0, ceil(low)), min(n, floor(high)) + 1))


def prompts_of(rows: Sequence[Sequence[Fraction]]) -> list[int]:
    """Return the numbers of prompts up to `LARGEST` that all rows of win, draw and loss can come from."""
    return [n for n in range(1, LARGEST + 1) if all(any(_splits(row, n)) for row in rows)]


def _splits(row: Sequence[Fraction], n: int) -> Iterator[tuple[int, ...]]:
    return (split for split in product(*(counts_of(share, n) for share in row)) if sum(split) == n)


def sums_of_fifths(shares: Sequence[Fraction], n: int, uneven: int) -> dict[int, tuple[tuple[int, int], ...]]:
    """Return every total of wins that fifths of n prompts can have: total -> the (wins, prompts) of one way.

    The fifths add up to n, and each is at most `uneven` prompts off n / 5.

    >>> shares = [Fraction(share) for share in ("46.7", "53.3", "57.8", "64.4", "72.2")]
    >>> sums_of_fifths(shares, 450, 1)
    {265: ((42, 90), (48, 90), (52, 90), (58, 90), (65, 90))}
    """
    ways: dict[tuple[int, int], tuple[tuple[int, int], ...]] = {(0, 0): ()}
    for share in shares:
        fits = [
            (wins, size)
            for size in range(1, n + 1)
            if abs(len(shares) * size - n) <= len(shares) * uneven
            for wins in counts_of(share, size)
        ]
        ways = {
            (prompts + size, total + wins): (*way, (wins, size))
            for (prompts, total), way in reversed(ways.items())
            for wins, size in fits
        }
    return {total: way for (prompts, total), way in sorted(ways.items()) if prompts == n}


def sign_test(wins: int, losses: int) -> Fraction:
    """Return the exact two-sided probability of a split at least this uneven if both sides are equally likely.

    >>> sign_test(5, 0), float(sign_test(271, 162)) < 1e-6
    (Fraction(1, 16), True)
    """
    n, few = wins + losses, min(wins, losses)
    return min(Fraction(1), Fraction(2 * sum(comb(n, k) for k in range(few + 1)), 2**n))


def holm(values: Sequence[Fraction]) -> list[bool]:
    """Return which of several tests reject at 5 % by Holm's method."""
    rejected, ordered = [False] * len(values), sorted(range(len(values)), key=lambda k: values[k])
    for step, index in enumerate(ordered):
        if values[index] > LEVEL / (len(values) - step):
            break
        rejected[index] = True
    return rejected


def _splits_by_size() -> dict[int, dict[str, list[tuple[int, ...]]]]:
    """Return, by each number of prompts that fits Table 1, all wins, draws and losses of every model."""
    rows = printed_in("table1_win_rate", exact=True)["rows"]
    shares = {row["model"]: (row["win"], row["draw"], row["default_win"]) for row in rows}
    sizes = prompts_of(list(shares.values()))
    return {n: {model: list(_splits(row, n)) for model, row in shares.items()} for n in sizes}


def quintile_counts() -> Finding:
    """Compare the wins of Table 1 with those of Table 5's fifths, whole numbers of each number of prompts that fits."""
    by_size = _splits_by_size()
    rows = printed_in("table5_god_quintiles", exact=True)["rows"]
    n, tried, listed, needed, agree = min(by_size, default=0), list[str](), list[str](), list[str](), False
    for size, splits in by_size.items():
        totals = {model: sums_of_fifths([row[model] for row in rows], size, 1) for model in splits}
        equal = [model for model, ways in splits.items() if any(wins in totals[model] for wins, *_ in ways)]
        agree |= len(equal) == len(splits)
        tried.append(f"{size:,} ({sum(map(bool, totals.values()))} and {len(equal)})")
        for model in [model for model in splits if model not in equal and size == n]:
            wins, shares = splits[model][0][0], [row[model] for row in rows]
            way = " + ".join(f"{part}/{count}" for part, count in next(iter(totals[model].values()), ()))
            total = " or ".join(map(str, totals[model])) or "none"
            listed.append(f"{model} {wins} against {way or 'no whole numbers'} = {total}")
            least = next((u for u in range(2, UNEVEN + 1) if wins in sums_of_fifths(shares, n, u)), None)
            needed.append(f"{model} {least if least else f'more than {UNEVEN}'}")
    return Finding(
        "not confirmed" if not n else "true" if agree else "inconsistent unless",
        f"The paper does not print the number of prompts. Up to {LARGEST:,} all rows of Table 1 are whole numbers of"
        " these alone (for how many models fifths of even size, up to one prompt, have whole numbers of wins, and"
        f" then add up to Table 1): {', '.join(tried)}.",
        f"{n} prompts in even fifths, wins of Table 1 against those of the fifths: {'; '.join(listed)}.",
        "The tables agree only if they describe different answers or the fifths are uneven. With"
        f" {n} prompts some fifth must be off {n // 5} by at least so many prompts: {', '.join(needed) or 'none'}.",
    )


def winrate_chance() -> Finding:
    """Apply the exact sign test to the wins and losses behind Table 1, draws left out, and Holm's method."""
    n, ways = next(iter(_splits_by_size().items()), (0, {}))
    splits = {model: split for model, (split, *_) in ways.items()}
    values = {model: sign_test(wins, losses) for model, (wins, _, losses) in splits.items()}
    clear = holm(list(values.values()))
    listed = ", ".join(f"{m} {splits[m][0]} to {splits[m][2]} (p = {float(p):.1g})" for m, p in values.items())
    return Finding(
        "true" if clear and all(clear) else "not confirmed",
        f"Wins to losses if Table 1 comes from {n} prompts, the least number that it fits (TAB-quintile-counts), with"
        f" the exact two-sided sign test: {listed}. Each is below 5 % by Holm's method. The judge is the reward model"
        " that guided the decoding.",
    )


def judge_chance() -> Finding:
    """Apply the exact sign test to both orders of Table 10, whole numbers of 80 prompts, with Holm's method."""
    rows = printed_in("table10_llm_judge_orders", exact=True)["rows"]
    wins = {row["model"]: [int(row[key] * MT_BENCH_PROMPTS / 100) for key in ("first", "second")] for row in rows}
    values = {model: [sign_test(k, MT_BENCH_PROMPTS - k) for k in counts] for model, counts in wins.items()}
    above = all(2 * k > MT_BENCH_PROMPTS for counts in wins.values() for k in counts)
    alone = sum(max(pair) <= LEVEL for pair in values.values())
    after = sum(sum(holm([pair[order] for pair in values.values()])) for order in (0, 1))
    listed = "; ".join(
        f"{m} {k[0]} and {k[1]} (p = {float(p[0]):.2g} and {float(p[1]):.2g})"
        for (m, k), p in zip(wins.items(), values.values(), strict=True)
    )
    least = next(
        k
        for k in range(MT_BENCH_PROMPTS // 2, MT_BENCH_PROMPTS + 1)
        if len(rows) * sign_test(k, MT_BENCH_PROMPTS - k) <= LEVEL
    )
    return Finding(
        "true with correction" if above and after < 2 * len(values) else "true" if above else "false",
        "RWS is ahead in both orders for every model, which speaks against a bias of position. Wins of"
        f" {MT_BENCH_PROMPTS} prompts, RWS first and second, with the exact two-sided sign test: {listed}.",
        f"Below 5 % in both orders: {alone} of {len(values)} models; by Holm's method over the models of an order"
        f" {after or 'none'} of the {2 * len(values)} rates (the first must have {least} of {MT_BENCH_PROMPTS}).",
    )


def humaneval_chance() -> Finding:
    """Bound the sign test of each gain by its best case: RWS solves every problem that confidence decoding solves."""
    table = printed_in("table4_humaneval", exact=True)
    default = round(table["default"] * HUMANEVAL_PROBLEMS / 100)
    gains = {row["model"]: round(row["pass_at_1"] * HUMANEVAL_PROBLEMS / 100) - default for row in table["rows"]}
    best = {model: sign_test(max(gain, 0), 0) for model, gain in gains.items()}
    open_ = [model for model, p in best.items() if p > LEVEL]
    listed = ", ".join(f"{model} +{gain} (p >= {float(best[model]):.2g})" for model, gain in gains.items())
    return Finding(
        "false" if min(gains.values()) <= 0 else "true with correction" if open_ else "true",
        f"More problems than the default's {default} of {HUMANEVAL_PROBLEMS}, for every model: {listed}. The bounds"
        " are of the exact sign test where RWS loses no problem that the default solves, 2^(1 - gain).",
        f"{', '.join(open_)}: whatever the problems, the gain is within chance at 5 %.",
        f"It solves more problems in all {len(gains)} configurations; for {len(open_)} of them no pairing of problems"
        " makes the gain more than chance.",
    )
