"""Compare RWS with every other arm of a record on the same prompts, by the intervals and verdicts of `rws ablate`.

Twins read no reward of the text that they write; other methods do, or cost more, or follow another order. Does RWS do
anything that its factor, a schedule or another prompt's rewards do not?
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from paper_figures.recorded import Recorded
from paper_figures.recorded.measures import MEASURES, differences_of, main_measures, measures_of, scores_of
from paper_figures.studies.evidence_arms import (
    CONTROLS,
    WORLDS,
    Arm,
    addresses_of,
    arms_of,
    chosen_scales,
    factor_variation,
    title_of,
    validation_answers,
    worlds_of,
)
from rws_decode.ablation.result import TwinComparison, compared_with
from rws_decode.ablation.verdict import side_of

LEVEL = 0.95
VERDICTS = ("better", "equivalent", "not better", "worse", "undecided")
# A twin's name in an ablation, and its method in a record.
TWINS = {
    "confidence": "default",
    "fixed factor": "constant",
    "factor by step": "schedule",
    "tuned fixed factor": "temperature",
    "other prompt's rewards": "swapped",
    "shuffled rewards": "shuffled",
    "sign turned": "flipped",
}
MADE = ("constant", "schedule", "swapped")  # the twins that exist at every s_R


@dataclass(frozen=True)
class Comparison:
    """RWS minus another arm on the same prompts, by one measure, as `ablate` compares.

    - `found` has difference, interval, verdict, and how many prompts, distinct pairs of texts and same texts there are.
      Its unit is that of `MEASURES`; SD is of the reward over confidence texts. Its intervals hold together for the
      twins of one s_R, measure and sampling, or for the other methods.
    - `uncut` is the mean before differences beyond the measure's bound are cut.
    - `variation` is the `factor_variation` of RWS, None where its rewards are not known.
    - `by_speech` has speeches as units, and `speeches` the means of each; None and empty where prompts have none.
    """

    world: str
    scale: float
    arm: Arm
    drawn: bool
    measure: str
    variation: float | None
    found: TwinComparison
    uncut: float
    by_speech: TwinComparison | None = None
    speeches: tuple[float, ...] = ()

    @property
    def verdict(self) -> str:
        """Return what the interval says of RWS: better, equivalent, not better, worse or undecided."""
        return self.found.verdict

    @property
    def blind(self) -> bool:
        """Return whether the arm is a reward-blind twin."""
        return is_twin(self.arm)

    @property
    def title(self) -> str:
        """Return what RWS is compared with."""
        shown = None if self.arm.method in (*CONTROLS, "better-scale") else self.arm.number
        return title_of(self.arm._replace(number=shown))

    def text(self) -> str:
        """Return difference, interval and unit, as "+1.2 [-3.0, +5.4] points"; the mean uncut where cuts matter."""
        measure, found = MEASURES[self.measure], self.found
        ends = (measure.text(found.difference), measure.text(found.low), measure.text(found.high))
        cut = abs(self.uncut - found.difference) > measure.margin
        return "{} [{}, {}] {}".format(*ends, measure.unit) + (f", uncut {measure.text(self.uncut)}" if cut else "")


def is_twin(arm: Arm) -> bool:
    """Return whether an arm is a reward-blind twin of RWS at some scale, in as many steps."""
    return arm.method in TWINS.values() and not arm.one_by_one


def rivals_of(arms: Sequence[Arm], rws: Arm, tuned: float | None) -> list[Arm]:
    """Return the arms that an arm of RWS is compared with, in the order of tables; `tuned` is c of the temperature.

    Sampled tokens are compared with sampled ones. A method of N copies always samples, and is compared with both.
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


def confidence_texts(answers: pd.DataFrame, world: str) -> pd.DataFrame:
    """Return the answers of confidence decoding to the validation prompts; the SD of the reward is over these."""
    rows = validation_answers(answers, world)
    return rows[(rows["method"] == "temperature") & (rows["number"] == 1.0)]


def compare(answers: pd.DataFrame) -> list[Comparison]:
    """Return RWS minus each other arm, for every model and reward, sampling, measure and s_R.

    answers: `completed`. By reward only where the validation prompts tell its SD.
    """
    rows: list[Comparison] = []
    for world in worlds_of(answers):
        arms, tuned = arms_of(answers, world), chosen_scales(answers, world).get("temperature")
        known = confidence_texts(answers, world)
        spread = float(scores_of(known, world, "reward").std()) if len(known) else 0.0
        rws = sorted(arm for arm in arms if arm.method == "rws")
        rivals = {arm: rivals_of(list(arms), arm, tuned) for arm in rws}
        varied = {arm: factor_variation(arms[arm]) for arm in rws}
        measures = [name for name in measures_of(world) if name != "reward" or spread > 0]
        for drawn, measure, arm in product((False, True), measures, rws):
            for rival in rivals[arm] if (arm.sampling_temperature > 0) == drawn else ():
                # Intervals hold together for all twins of an arm, and for all others.
                family = sum(is_twin(each) == is_twin(rival) for each in rivals[arm])
                found = compare_arms(arms[arm], arms[rival], world, measure, family, spread)
                if found is not None:
                    scale = float(arm.number or 0)
                    rows.append(Comparison(world, scale, rival, drawn, measure, varied[arm], *found))
    return rows


@lru_cache(maxsize=4)
def comparisons_of(record: Recorded) -> tuple[Comparison, ...]:
    """Return the comparisons of a record, computed once for all exhibits that show them."""
    return tuple(compare(record.answers))


def compare_arms(
    first: pd.DataFrame, second: pd.DataFrame, world: str, measure: str, family: int, spread: float = 1.0
) -> tuple[TwinComparison, float, TwinComparison | None, tuple[float, ...]] | None:
    """Return first - second as `ablate` compares; the mean uncut; the same with speeches as units, and of each speech.

    first, second: the answers of two arms to the same prompts; None where none has both scores. family: how many
    intervals hold together. spread: what differences in reward are divided by. Prompts are in one random order.
    """
    scores = np.array([scores_of(frame, world, measure) for frame in (first, second)])
    known = np.flatnonzero(np.isfinite(scores).all(axis=0))
    if not known.size:
        return None
    order = known[np.random.default_rng(0).permutation(known.size)]
    values = differences_of(measure, *scores[:, order]) / (spread if measure == "reward" else 1.0)
    texts = list(zip(*(frame["tokens"].iloc[order] for frame in (first, second)), strict=True))
    settings: Any = {"margin": MEASURES[measure].margin, "bound": MEASURES[measure].bound}
    settings["level"] = 1 - (1 - LEVEL) / family
    found = _compared(measure, values.tolist(), texts, settings)
    addresses = addresses_of(world, first["prompt"].iloc[order])
    if addresses is None:
        return found, float(values.mean()), None, ()
    means = tuple(float(values[addresses == name].mean()) for name in dict.fromkeys(addresses.tolist()))
    return found, float(values.mean()), _compared(measure, means, texts, settings), means


def _compared(measure: str, values: Sequence[float], texts: Sequence[Any], settings: dict[str, Any]) -> TwinComparison:
    """Return the comparison of units, with the verdict of the negative difference where the smaller value is better."""
    found = compared_with("", values, texts, **settings)
    turned = side_of(-found.high, -found.low, settings["margin"])
    return replace(found, verdict=turned) if MEASURES[measure].smaller else found


def alike_settings(rows: Sequence[Comparison]) -> tuple[int, dict[str, list[tuple[str, bool, str, float]]]]:
    """Return how many settings have all three twins of `MADE`, and verdict -> those where all three have it.

    A setting is (model and reward, whether tokens are sampled, measure, s_R), by the main measures of the model.
    """
    sets: dict[tuple[str, bool, str, float], list[str]] = {}
    for row in rows:
        if row.arm.method in MADE and row.measure in main_measures(row.world):
            sets.setdefault((row.world, row.drawn, row.measure, row.scale), []).append(row.verdict)
    whole = {key: kept for key, kept in sets.items() if len(kept) == len(MADE)}
    return len(whole), {verdict: [key for key, kept in whole.items() if {*kept} == {verdict}] for verdict in VERDICTS}


def reward_answer(rows: Sequence[Comparison]) -> str:
    """Say in how many settings RWS beats its fixed factor, its schedule and another prompt's rewards alike.

    It is empty where no runs have all three.
    """
    count, alike = alike_settings(rows)
    if not count:
        return ""
    more, equal, level, less = (len(alike[verdict]) for verdict in VERDICTS[:4])
    where = "; ".join(
        f"{MEASURES[name].title} in {WORLDS[world].model} at s_R = {scale:g}{', tokens sampled' if drawn else ''}"
        for world, drawn, name, scale in alike["better"]
    )
    varied = variation_text(rows)
    return (
        f"RWS is better than all three controls that ignore the reward in {more or 'none'} of {count} settings"
        f"{f' ({where})' if where else ''}. It is equivalent to all three in {equal or 'none'}, not better in "
        f"{level or 'none'}, worse in {less or 'none'}; the other {count - more - less - equal - level} are mixed or "
        f"undecided ({len({row.world for row in rows})} models, {max(row.found.n for row in rows)} prompts each)."
    ) + (f" Within a run the factor varies by {varied} (median CV)." if varied else "")


def variation_text(rows: Sequence[Comparison]) -> str:
    """Return the least and the greatest variation of the factor within a run, as "7 to 20 %"; empty if unknown."""
    shares = [100 * row.variation for row in rows if row.variation is not None]
    ends = dict.fromkeys(f"{share:.0f}" for share in (min(shares), max(shares))) if shares else ()
    return f"{' to '.join(ends)} %" if ends else ""


def speech_answer(rows: Sequence[Comparison]) -> str:
    """Say how many comparisons are decided with speeches as units; empty where prompts have no speeches."""
    own = [row for row in rows if row.by_speech]
    if not own:
        return ""
    by_prompt, by_speech = (
        sum(verdict != "undecided" for verdict in verdicts)
        for verdicts in ([row.verdict for row in own], [row.by_speech.verdict for row in own if row.by_speech])
    )
    return (
        f"Prompts of one speech may be alike. With prompts as units {by_prompt} of {len(own)} comparisons there are "
        f"decided, with the {len(own[0].speeches)} speeches as units {by_speech}: of so few units intervals are wide."
    )
