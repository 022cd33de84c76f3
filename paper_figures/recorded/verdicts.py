"""Compare RWS with every other arm of a record on the same prompts, and say what the comparisons come to.

Each comparison has its power and its verdict. Two questions follow: does RWS do anything that its factor, a schedule or
another prompt's rewards do not, and do orders of one GOD differ?
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from math import inf, sqrt
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from paper_figures.recorded import Recorded
from paper_figures.statistics.equivalence import least_difference, least_net_rate, tost, tost_net
from paper_figures.statistics.intervals import Interval, clustered_interval, nearly_equal, spread_of
from paper_figures.statistics.resampling import text_pairs
from paper_figures.statistics.significance import holm, max_t, max_t_of_groups
from paper_figures.studies.evidence import chosen_scales
from paper_figures.studies.evidence_arms import (
    CONTROLS,
    KINDS,
    MEASURES,
    METHODS,
    WORLDS,
    Arm,
    addresses_of,
    arms_of,
    differences_of,
    factor_variation,
    interval_of,
    measures_of,
    scores_of,
    title_of,
    worlds_of,
)

ALPHA = 0.05


class ByAddress(NamedTuple):
    """A difference where openings of one address may be alike: its interval over addresses, p by their signs.

    `p_equivalent` is that of two one-sided tests over addresses. Both p are corrected as those of `Comparison`.
    """

    low: float
    high: float
    p: float
    p_equivalent: float


@dataclass(frozen=True)
class Comparison:
    """RWS minus another arm on the same prompts, by one measure.

    - `distinct` is the number of distinct pairs of texts. Where it is below `n`, prompts with the same pair are one
      cluster, and intervals and tests are over clusters.
    - `difference` has a 95 % interval from `low` to `high`: ABC of a mean, Tango's score interval of a share.
      `by_prompt` has the ends as if all pairs were distinct.
    - `p_alone` is by the t test or the exact sign test, `p_equivalent_alone` by two one-sided tests against `margin`.
      `p` and `p_equivalent` are corrected, by max-T and by Holm, over all rows of the same world, measure and sampling.
    - `least` is the least true difference that this test, alone, finds in 80 % of studies of n prompts, None if too few
      prompts differ. `same` is the number of prompts whose texts are equal. `wins` and `losses` are of shares only.
    - `variation` is the `factor_variation` of RWS, None where its rewards are not known.
    - `by_address` is of openings; None where prompts have no addresses, or all of them the same difference.
    """

    world: str
    scale: float
    arm: Arm
    drawn: bool
    measure: str
    n: int
    same: int
    distinct: int
    difference: float
    low: float
    high: float
    by_prompt: tuple[float, float]
    wins: int | None
    losses: int | None
    p_alone: float
    p: float
    margin: float
    p_equivalent_alone: float
    p_equivalent: float
    least: float | None
    variation: float | None = None
    by_address: ByAddress | None = None

    @property
    def verdict(self) -> str:
        """Return "RWS more" or "RWS less" where the difference is real, else "equivalent" or "undecided"."""
        return _verdict(self.difference, ByAddress(self.low, self.high, self.p, self.p_equivalent))

    @property
    def verdict_by_address(self) -> str:
        """Return the verdict where openings of one address may be alike; the same where `by_address` is None."""
        return _verdict(self.difference, self.by_address) if self.by_address else self.verdict

    @property
    def within(self) -> bool:
        """Return whether the difference lies within the margin by the test of equivalence, even if it is real."""
        return self.p_equivalent <= ALPHA

    @property
    def title(self) -> str:
        """Return what RWS is compared with."""
        shown = None if self.arm.method in (*CONTROLS, "better-scale") else self.arm.number
        return title_of(self.arm._replace(number=shown))

    def text(self) -> str:
        """Return difference, interval and unit, as "+1.2 [-3.0, +5.4] points"."""
        measure = MEASURES[self.measure]
        if not np.isfinite([self.low, self.high]).all():  # all equal, and nothing bounds another prompt's
            return f"{measure.text(self.difference)} {measure.unit} in every prompt"
        ends = (measure.text(self.difference), measure.text(self.low), measure.text(self.high))
        return "{} [{}, {}] {}".format(*ends, measure.unit)


def _verdict(difference: float, found: ByAddress) -> str:
    if found.p <= ALPHA and (found.low > 0 or found.high < 0):
        return "RWS more" if difference > 0 else "RWS less"
    return "equivalent" if found.p_equivalent <= ALPHA else "undecided"


def rivals_of(arms: Sequence[Arm], rws: Arm, tuned: float | None) -> list[Arm]:
    """Return the arms that an arm of RWS is compared with, in the order of tables; `tuned` is c of the temperature.

    Drawn tokens are compared with drawn tokens. A method that keeps N copies always draws, and is compared with both.
    """
    drawn = rws.sampling_temperature
    copies = [Arm("best-of", 2.0, 1.0), Arm("best-of", 4.0, 1.0), Arm("particles", 4.0, 1.0)]
    listed = [Arm(method, rws.number, drawn) for method in CONTROLS]
    listed += [Arm("default", None, drawn)]
    if not drawn:
        listed += [Arm("temperature", tuned), Arm("default", None, 0.0, True), Arm("better-scale", 2.0)]
        listed += [Arm("left-to-right"), Arm("random-order")]
    listed += copies
    if not drawn:
        listed += [arm for arm in arms if arm.method in ("lookahead", "tilt-decode")]
    return [arm for arm in listed if arm in arms]


def compare(answers: pd.DataFrame, tuned: Mapping[str, float | None], *, main: bool = False) -> list[Comparison]:
    """Return RWS minus each other arm, for every world, sampling, measure and s_R.

    answers: as `summaries.evidence.answers_of` has them, with the better of two scales. tuned: world -> c chosen on
    validation prompts. main: by the main measures alone; each measure has its own draws and its own correction, so
    the rows are the same.
    """
    rows: list[Comparison] = []
    for world, scale in tuned.items():
        arms = arms_of(answers, world)
        for drawn in (False, True):
            for measure in main_measures(world) if main else measures_of(world):
                rows += _family(arms, world, drawn, measure, scale)
    return rows


@lru_cache(maxsize=4)
def comparisons_of(record: Recorded, main: bool = False) -> tuple[Comparison, ...]:
    """Return the comparisons of a record, computed once for all exhibits that show them; main: as `compare` has it."""
    tuned = {world: chosen_scales(record.answers, world).get("temperature") for world in worlds_of(record.answers)}
    return tuple(compare(record.answers, tuned, main=main))


def _family(
    arms: Mapping[Arm, pd.DataFrame], world: str, drawn: bool, measure: str, tuned: float | None
) -> Iterator[Comparison]:
    """Yield the rows that one correction of p covers: all s_R and controls of a world, measure and sampling."""
    rws = sorted(arm for arm in arms if arm.method == "rws" and (arm.sampling_temperature > 0) == drawn)
    pairs = [(arm, rival) for arm in rws for rival in rivals_of(list(arms), arm, tuned)]
    if not pairs:
        return
    scores = {arm: scores_of(arms[arm], world, measure) for pair in pairs for arm in pair}
    measured = np.isfinite(list(scores.values())).all(axis=0)
    if not measured.any():
        return
    table = [differences_of(measure, scores[arm][measured], scores[rival][measured]) for arm, rival in pairs]
    tokens = {arm: arms[arm]["tokens"].to_numpy()[measured] for arm in scores}
    texts = [text_pairs(tokens[arm], tokens[rival]) for arm, rival in pairs]
    rng = np.random.default_rng([0, int(drawn), *f"{world} {measure}".encode()])
    corrected = max_t(np.array(table), rng, groups=texts)
    rows = []
    for (arm, rival), values, of, p in zip(pairs, table, texts, corrected, strict=True):
        same = int((tokens[arm] == tokens[rival]).sum())
        rows.append(_row((world, float(arm.number or 0), rival, drawn, measure), values, of, same, p))
    within = holm([row.p_equivalent_alone for row in rows])
    varied = {arm.number: factor_variation(arms[arm]) for arm in rws}
    rows = [replace(row, p_equivalent=p, variation=varied[row.scale]) for row, p in zip(rows, within, strict=True)]
    groups = addresses_of(world, arms[rws[0]]["prompt"].to_numpy()[measured])
    if groups is None:
        yield from rows
        return
    alike = holm([tost(values, row.margin, groups).p for values, row in zip(table, rows, strict=True)])
    for row, values, p, p_equivalent in zip(rows, table, max_t_of_groups(table, groups), alike, strict=True):
        _, low, high = clustered_interval(values, groups)
        yield replace(row, by_address=ByAddress(low, high, p, p_equivalent)) if np.ptp(values) > 0 else row


def _row(
    labels: tuple[str, float, Arm, bool, str],
    values: NDArray[np.float64],
    pairs: NDArray[np.int64],
    same: int,
    p: float,
) -> Comparison:
    measure, n, distinct = MEASURES[labels[-1]], values.size, int(pairs.max()) + 1
    share, wins, losses = measure.kind == "share", int((values > 0).sum()), int((values < 0).sum())
    if share and (distinct == n or nearly_equal(values)):  # where all are equal, each pair counts once
        each = min(wins, distinct), min(losses, distinct)
        test = tost_net(*each, distinct, measure.margin)
        least = least_net_rate(sum(each) / distinct, distinct) if sum(each) else None
    else:
        test = tost(values, measure.margin, pairs)
        error, freedom = spread_of(values, pairs)
        clusters = max(2, round(freedom) + 1)
        known = 0 < error < inf and not nearly_equal(values)
        least = least_difference(error * sqrt(clusters), clusters) if known else None
    ends, by_prompt = (Interval(*map(float, interval_of(values, KINDS[measure.kind], of))) for of in (pairs, None))
    tests = (test.p_different, p, measure.margin, test.p, test.p)
    won = (wins, losses) if share else (None, None)
    return Comparison(*labels, n, same, distinct, *ends, by_prompt[1:], *won, *tests, least)


def main_measures(world: str) -> tuple[str, str]:
    """Return the two measures that figures and answers use.

    >>> main_measures("english:era"), main_measures("mini:mini")
    (('reward', 'log_prob'), ('net mini-judge', 'coherent'))
    """
    if not WORLDS[world].exact and WORLDS[world].causal:
        return ("net mini-judge", "coherent")
    return ("reward", "log_prob" if WORLDS[world].exact else measures_of(world)[0])


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
        f"{MEASURES[name].title} in {WORLDS[world].model} at s_R = {scale:g}{', tokens sampled' if drawn else ''}"
        for world, drawn, name, scale in alike["RWS more"]
    )
    return (
        "RWS beats all three controls, whose factors do not follow the reward of the text, in "
        f"{more or 'none'} of {count} settings{f' ({where})' if where else ''}. It is equivalent to all three in "
        f"{equal or 'none'} and loses to all three in {less or 'none'}; the other {count - more - less - equal} are "
        f"mixed or undecided ({len({row.world for row in rows})} models, {max(row.n for row in rows)} prompts each)."
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
        f"By speech, {changed} of {len(own)} verdicts change (table evidence_by_address): RWS beats all three in "
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
        f"{'' if equal.by_address is None else f'; by speech {equal.by_address}'}). "
        f"{equal.apart - equal.others} of these are of RWS, its controls and temperatures alone."
    )
