"""Compare RWS with every other arm of the evidence study on the same prompts, each with its power and its verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf, sqrt
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from paper_figures.recorded import Recorded
from paper_figures.statistics.equivalence import least_difference, least_net_rate, tost, tost_net
from paper_figures.statistics.intervals import Interval, clustered_interval, nearly_equal, spread_of
from paper_figures.statistics.resampling import text_pairs
from paper_figures.statistics.significance import holm, max_t, max_t_of_groups
from paper_figures.studies.design.evidence_arms import CONTROLS, WORLDS, Arm
from paper_figures.studies.summaries.evidence import title_of
from paper_figures.studies.summaries.evidence_measures import (
    MEASURES,
    addresses_of,
    arms_of,
    differences_of,
    factor_variation,
    interval_of,
    measures_of,
    scores_of,
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


_KINDS: dict[str, Literal["mean", "net"]] = {"mean": "mean", "share": "net"}  # of a measure's differences


def _verdict(difference: float, found: ByAddress) -> str:
    if found.p <= ALPHA and (found.low > 0 or found.high < 0):
        return "RWS more" if difference > 0 else "RWS less"
    return "equivalent" if found.p_equivalent <= ALPHA else "undecided"


def chosen_scales(answers: pd.DataFrame, world: str) -> dict[str, float]:
    """Return the scale of the greatest mean reward on validation prompts, for rws and for temperature."""
    rows = answers[(answers["world"] == world) & (answers["split"] == "validation")]
    means = rows.groupby(["method", "number"])["reward"].mean()
    methods = ("rws", "temperature")
    return {name: float(means[name].idxmax()) for name in methods if name in means.index.get_level_values(0)}


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


def difference_interval(answers: Sequence[pd.DataFrame], world: str, measure: str) -> Interval | None:
    """Return the first arm's answers less the second's with a 95 % interval; None where a measure is missing.

    It is over distinct pairs of texts where pairs repeat.
    """
    first, second = (scores_of(frame, world, measure) for frame in answers)
    if not np.isfinite([first, second]).all():
        return None
    pairs = text_pairs(*(frame["tokens"] for frame in answers))
    return interval_of(differences_of(measure, first, second), _KINDS[MEASURES[measure].kind], pairs)


def _family(
    arms: Mapping[Arm, pd.DataFrame],
    world: str,
    drawn: bool,
    measure: str,
    tuned: float | None,
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
    ends, by_prompt = (Interval(*map(float, interval_of(values, _KINDS[measure.kind], of))) for of in (pairs, None))
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
