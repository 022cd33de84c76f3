"""What the evidence study measures of an answer, and from which difference on a measure matters: the margins.

No margin follows from the results: each has its reason beside it. "Equivalent" means within the margin, by a test of
equivalence.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from paper_figures.data.examples import further_prompts
from paper_figures.statistics.intervals import (
    Interval,
    clustered_interval,
    exact_share,
    mean_interval,
    paired_differences,
)
from paper_figures.statistics.paired_proportions import net_share
from paper_figures.statistics.win_rates import paired_outcomes
from paper_figures.studies.design.evidence_arms import WORLDS, Arm
from rws_decode.extra.likelihood import STATISTICS
from rws_decode.extra.sequences.rewards import statistics_of
from rws_decode.rewards import load_reward
from rws_decode.rewards.registry import kind_of
from rws_theory.gain import reward_factor


@dataclass(frozen=True)
class Measure:
    """A measure of answers: how two answers of a prompt are compared, and the margin of equivalence.

    - kind "mean": their difference. kind "share": who has the greater score, +1, 0 or -1, as in a net win rate.
    - `margin` is in the unit of the measure; `reason` says why it is that. `factor` makes points of shares for reading.
    """

    name: str
    title: str
    unit: str
    kind: Literal["mean", "share"]
    margin: float
    reason: str
    factor: float = 1.0

    def text(self, value: float, sign: bool = True) -> str:
        """Return a value for reading, with its sign and without its unit.

        >>> MEASURES["coherent"].text(0.123), MEASURES["log_prob"].text(-0.0004), MEASURES["god"].text(2, sign=False)
        ('+12.3', '0.000', '2.00')
        """
        digits = 1 if self.factor > 1 else 3 if self.margin < 0.1 else 2
        rounded = round(self.factor * value, digits) + 0.0  # no minus zero
        return f"{rounded:{'+' if sign and rounded else ''}.{digits}f}"


_RATE = "half of the 21.9 points that the paper's Table 1 has between RWS and its default, on average"
_NATS = "a perplexity that is 5.8 % higher, about half of the 12 % of the paper's Section 5.4"
# The only place where margins are chosen.
MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        Measure("reward", "reward", "deviations", "mean", 0.1, "half of what is called a small effect, 0.2 deviations"),
        Measure("net", "net win rate by the guide", "points", "share", 0.11, _RATE, 100.0),
        Measure("net mini-judge", "net win rate by the other judge", "points", "share", 0.11, _RATE, 100.0),
        Measure("net exact", "net win rate by the exact rules", "points", "share", 0.11, _RATE, 100.0),
        Measure("net humanness", "net win rate by humanness", "points", "share", 0.11, _RATE, 100.0),
        Measure("net valid", "net win rate by valid", "points", "share", 0.11, _RATE, 100.0),
        Measure("net qed", "net win rate by qed", "points", "share", 0.11, _RATE, 100.0),
        Measure("log_prob", "log p", "nats a word", "mean", 0.057, _NATS),
        Measure("nll", "log perplexity", "nats a token", "mean", 0.057, _NATS),
        Measure(
            "coherent",
            "coherent answers",
            "points",
            "share",
            0.05,
            "one answer in 20: fewer would not be cared for",
            100.0,
        ),
        Measure("god", "GOD", "tokens", "mean", 0.5, "about half of the rise in the paper's Table 1, from 1.4 to 2.6"),
    )
}
_TIE = 1e-9  # raw reward; scores that differ by less are equal


def measures_of(world: str) -> tuple[str, ...]:
    """Return the measures of a world, those that matter most first.

    >>> measures_of("english:era")
    ('log_prob', 'reward', 'net', 'god')
    """
    if WORLDS[world].exact:
        return ("log_prob", "reward", "net", "god")
    judges = tuple(f"net {judge}" for judge in WORLDS[world].judges)
    language = ("coherent", "nll") if WORLDS[world].causal else ()
    return (*judges, *language, "reward", "net", "god")


def arms_of(answers: pd.DataFrame, world: str) -> dict[Arm, pd.DataFrame]:
    """Return the test answers of a world by arm, each sorted by prompt; arms that lack a prompt are left out."""
    rows = answers[(answers["world"] == world) & (answers["split"] == "test")]
    arms = {}
    for key, group in rows.groupby(["method", "number", "drawn", "steps"], dropna=False):
        method, number, drawn, steps = cast("tuple[str, float, bool, int]", key)
        one_by_one = int(steps) == WORLDS[world].length
        arm = Arm(method, None if number != number else float(number), float(drawn), one_by_one)
        arms[arm] = group.sort_values("prompt").reset_index(drop=True)
    most = max((len(group) for group in arms.values()), default=0)
    return {arm: group for arm, group in arms.items() if len(group) == most}


def scores_of(answers: pd.DataFrame, world: str, measure: str) -> NDArray[np.float64]:
    """Return the scores of one arm's answers, shape (n,), in the measure's unit; NaN where an answer has none."""
    setting = WORLDS[world]
    if measure == "log_prob":
        return answers["log_prob"].to_numpy(float) / setting.length
    if measure in ("reward", "net"):
        mean, deviation = _guide(setting.reward)
        return (answers["reward"].to_numpy(float) - mean) / deviation
    if measure.startswith("net "):
        judge = setting.judges.index(measure.removeprefix("net "))
        return np.array([scores[judge] for scores in answers["judge_scores"]], dtype=np.float64)
    if measure == "coherent":
        broken = answers["rules_broken"].to_numpy(float)
        return np.where(np.isnan(broken), np.nan, broken == 0)
    if measure == "nll":
        with np.errstate(divide="ignore", invalid="ignore"):
            return answers["nll"].to_numpy(float) / answers["causal_tokens"].to_numpy(float)
    return answers["god_tokens"].to_numpy(float)


def differences_of(measure: str, first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return first - second of a mean, or +1, 0, -1 of a share; 0 where they differ by rounding alone."""
    if MEASURES[measure].kind == "share":
        return paired_outcomes(first, second, tolerance=_TIE).astype(np.float64)
    return paired_differences(first, second)


def interval_of(
    values: ArrayLike, kind: Literal["mean", "share", "net"], pairs: NDArray[np.int64] | None = None
) -> Interval:
    """Return the mean of values with its 95 % interval: ABC, exact of a share of 0 and 1, Tango's of a net win rate.

    pairs: those of `text_pairs`; where pairs repeat, the interval is over distinct pairs (`clustered_interval`).
    """
    array = np.asarray(values, dtype=np.float64)
    if pairs is not None and pairs.max() + 1 < pairs.size:
        if np.ptp(array) > 0:
            found = clustered_interval(array, pairs)
            return Interval(*np.clip(found, -1.0, 1.0).tolist()) if kind == "net" else found
        array = array[: pairs.max() + 1]  # one value for each pair
    return _interval(array.tobytes(), kind)


@lru_cache(maxsize=4096)
def _interval(buffer: bytes, kind: str) -> Interval:
    values = np.frombuffer(buffer)
    if kind == "share":
        return exact_share(int(values.sum()), values.size)
    return net_share(values) if kind == "net" else mean_interval(values)


def factor_variation(rws: pd.DataFrame) -> float | None:
    """Return how much the factor of an arm of RWS varies within a run; None where its answers have no rewards.

    It is the median over prompts of the factor's SD over the steps as a share of its mean. Near 0 RWS is a fixed factor
    by its normalisation, so that its equivalence to one could not fail.

    >>> factor_variation(pd.DataFrame({"number": [8.0], "rewards": [[0.0, 0.0]]}))
    0.0
    """
    if rws["rewards"].isna().any():
        return None
    factors = [reward_factor(list(run), scale) for run, scale in zip(rws["rewards"], rws["number"], strict=True)]
    return float(np.median([np.std(run) / np.mean(run) for run in factors]))


def addresses_of(world: str, prompts: Iterable[str]) -> NDArray[np.str_] | None:
    """Return the address that each opening of a world is from; None where its prompts are no openings."""
    rows = further_prompts(WORLDS[world].model) if WORLDS[world].data == "openings" else []
    known = {f"opening-{number}": row["address"] for number, row in enumerate(rows)}
    named = [known.get(prompt, "") for prompt in prompts]
    return np.array(named) if all(named) else None


def worlds_of(answers: pd.DataFrame) -> list[str]:
    """Return the worlds with test answers, in the order of the study."""
    present = set(answers.loc[answers["split"] == "test", "world"])
    return [world for world in WORLDS if world in present]


@lru_cache(maxsize=8)
def _guide(reward: str) -> tuple[float, float]:
    """Return mean and deviation of a reward model over texts."""
    # A record is read where its network is not installed.
    if kind_of(reward) == "sequence":
        return statistics_of(reward)
    if reward in STATISTICS:
        return STATISTICS[reward]
    model = load_reward(reward)
    return float(model.mean), float(model.std)
