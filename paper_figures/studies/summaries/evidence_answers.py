"""Answer two questions of the evidence study from its comparisons.

Does RWS do anything that its factor, a schedule or another prompt's rewards do not? Do orders of one GOD differ?
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from paper_figures.statistics.equivalence import tost
from paper_figures.statistics.resampling import text_pairs
from paper_figures.statistics.significance import holm, max_t, max_t_of_groups
from paper_figures.studies.design.evidence_arms import METHODS, WORLDS, Arm
from paper_figures.studies.summaries.evidence_comparisons import ALPHA, Comparison, main_measures
from paper_figures.studies.summaries.evidence_measures import MEASURES, addresses_of, differences_of, scores_of

MADE = ("constant", "schedule", "swapped")  # the controls that exist at every s_R
VERDICTS = ("RWS more", "RWS less", "equivalent", "undecided")


def alike_settings(
    rows: Sequence[Comparison], by_address: bool = False
) -> tuple[int, dict[str, list[tuple[str, bool, str, float]]]]:
    """Return how many settings have all three controls, and verdict -> those where all three have it.

    A setting is (world, whether tokens are drawn, measure, s_R). The controls are RWS's constant, its schedule and
    another prompt's rewards. by_address: by the verdicts where openings of one address may be alike.
    """
    sets: dict[tuple[str, bool, str, float], list[Comparison]] = {}
    for row in rows:
        if row.arm.method in MADE and row.measure in main_measures(row.world):
            sets.setdefault((row.world, row.drawn, row.measure, row.scale), []).append(row)
    whole = {key: kept for key, kept in sets.items() if len(kept) == len(MADE)}
    said = {k: {r.verdict_by_address if by_address else r.verdict for r in kept} for k, kept in whole.items()}
    alike = {verdict: [key for key, verdicts in said.items() if verdicts == {verdict}] for verdict in VERDICTS}
    return len(whole), alike


def reward_answer(rows: Sequence[Comparison]) -> str:
    """Say in how many settings RWS beats its constant, its schedule and another prompt's rewards alike.

    It is empty where no runs have all three.
    """
    count, alike = alike_settings(rows)
    if not count:
        return ""
    more, less, equal = (len(alike[verdict]) for verdict in ("RWS more", "RWS less", "equivalent"))
    where = "; ".join(
        f"{MEASURES[name].title} in {WORLDS[world].model} at s_R = {scale:g}{', tokens drawn' if drawn else ''}"
        for world, drawn, name, scale in alike["RWS more"]
    )
    return (
        "RWS beats all three controls, whose factors do not follow the reward of the text, in "
        f"{more or 'none'} of {count} settings{f' ({where})' if where else ''}. It is equivalent to all three in "
        f"{equal or 'none'} and loses to all three in {less or 'none'}; the other {count - more - less - equal} are "
        f"mixed or undecided ({len({row.world for row in rows})} worlds, {max(row.n for row in rows)} prompts each)."
    ) + (f" Within a run the factor varies by {varied} (median CV)." if (varied := variation_text(rows)) else "")


def variation_text(rows: Sequence[Comparison]) -> str:
    """Return the least and the greatest variation of the factor within a run, as "7 to 20 %"; empty if unknown."""
    shares = [100 * row.variation for row in rows if row.variation is not None]
    ends = dict.fromkeys(f"{share:.0f}" for share in (min(shares), max(shares))) if shares else ()
    return f"{' to '.join(ends)} %" if ends else ""


def address_answer(rows: Sequence[Comparison]) -> str:
    """Say how many verdicts change, and the answer, where openings of one address may be alike; empty of no openings.

    A verdict by address has its interval over addresses and p by the signs of whole addresses.
    """
    own = [row for row in rows if row.by_address]
    if not own:
        return ""
    changed = sum(row.verdict != row.verdict_by_address for row in own)
    count, alike = alike_settings(rows, by_address=True)
    more, equal = (len(alike[verdict]) or "none" for verdict in ("RWS more", "equivalent"))
    return (
        f"By address, {changed} of {len(own)} verdicts change (table evidence_by_address): RWS beats all three in "
        f"{more} of {count} settings and is equivalent to all three in {equal}."
    )


@dataclass(frozen=True)
class EqualOrders:
    """Of how many orders how many pairs have equivalent GOD, and how many of these pairs differ in a measure.

    beyond: of those that differ, how many by more than the margin in the mean; others: how many have an order that is
    no scale of the logits. by_address: how many differ where openings of one address may be alike; None where prompts
    have no addresses.
    """

    orders: int
    pairs: int
    apart: int
    beyond: int
    others: int
    by_address: int | None


def equal_orders(arms: Mapping[Arm, pd.DataFrame], world: str, name: str) -> EqualOrders | None:
    """Return how many pairs of orders with equivalent GOD differ in a measure; None where no GOD is equivalent.

    The orders are of arms that commit the likeliest words, as many a step: a factor on the logits leaves these as they
    are, while copies, lookahead and tilts do more. GOD is equivalent within its margin by two one-sided tests, by Holm
    over all pairs; p of the measure is by max-T over those that are. Prompts with the same two texts are one cluster.
    """
    greedy = [arm for arm in arms if not arm.sampling_temperature and not arm.one_by_one]
    orders = [arm for arm in greedy if METHODS[arm.method].kind in ("rws", "factor", "order")]
    margin = MEASURES["god"].margin
    god = [scores_of(arms[arm], world, "god") for arm in orders]
    every = list(combinations(range(len(orders)), 2))
    texts = {(i, j): text_pairs(arms[orders[i]]["tokens"], arms[orders[j]]["tokens"]) for i, j in every}
    alike = holm([tost(god[i] - god[j], margin, texts[i, j]).p for i, j in every])
    pairs = [pair for pair, p in zip(every, alike, strict=True) if p <= ALPHA]
    if not pairs:
        return None
    quality = [scores_of(arms[arm], world, name) for arm in orders]
    table = np.array([differences_of(name, quality[i], quality[j]) for i, j in pairs])
    groups = addresses_of(world, arms[orders[0]].reset_index()["prompt"])
    differ = np.array(max_t(table, np.random.default_rng(0), groups=[texts[pair] for pair in pairs])) <= ALPHA
    large = np.abs(table.mean(axis=1)) > MEASURES[name].margin
    order = np.array([any(METHODS[orders[i].method].kind == "order" for i in pair) for pair in pairs])
    grouped = None if groups is None else int((np.array(max_t_of_groups(table, groups)) <= ALPHA).sum())
    apart, beyond, others = (int(chosen.sum()) for chosen in (differ, differ & large, differ & order))
    return EqualOrders(len(orders), len(pairs), apart, beyond, others, grouped)


def equal_sentence(equal: EqualOrders, world: str, name: str) -> str:
    """Return in words how many pairs of orders with equivalent GOD differ in a measure."""
    return (
        f"In {WORLDS[world].model}, {equal.pairs} pairs of {equal.orders} orders have the same GOD within "
        f"±{MEASURES['god'].margin:g} tokens; {equal.apart or 'none'} of them differ in {MEASURES[name].title}, "
        f"{equal.beyond} by more than the margin (p corrected for all pairs"
        f"{'' if equal.by_address is None else f'; by address {equal.by_address}'}). "
        f"{equal.apart - equal.others} of these are of RWS, its controls and temperatures alone."
    )
