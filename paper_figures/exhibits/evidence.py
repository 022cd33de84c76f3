"""Read the evidence study's answers for figures and tables: each arm with its measures, prompt by prompt.

The results are those below the runs where they are there, else the record that ships with the package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, floor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from paper_figures.exhibits.exhibit import MissingRun
from paper_figures.recorded import Recorded, recorded
from paper_figures.statistics.intervals import Interval, paired_differences
from paper_figures.statistics.resampling import text_pairs
from paper_figures.studies import evidence as summaries
from paper_figures.studies.evidence import chosen_scales, completed, read_rows
from paper_figures.studies.evidence_arms import WORLDS, Arm, scores_of, worlds_of
from paper_figures.studies.evidence_arms import arms_of as whole_arms
from paper_figures.studies.evidence_arms import interval_of as interval_of_values
from rws_decode.common.files import read_json

if TYPE_CHECKING:
    import pandas

NAME = "evidence"
Places = Mapping[Arm, tuple[Interval, Interval]]  # where an arm's answers lie by two measures


@dataclass(frozen=True)
class Measure:
    """What is measured of each answer: its name in sentences, its unit, and whether it is 0 or 1."""

    title: str
    unit: str
    share: bool = False

    @property
    def heading(self) -> str:
        """Return its name with its unit."""
        return f"{self.title}, {self.unit}"


# A column of the frames of `arms_of` -> what it is.
MEASURES: dict[str, Measure] = {
    "reward_sd": Measure("reward", "the guide's deviations"),
    "log_p_word": Measure("log p", "nats per word"),
    "coherent": Measure("coherent answers", "share of answers", share=True),
    "log_perplexity": Measure("log of perplexity", "nats per token"),
    "regret": Measure("regret", "nats"),
    "god_tokens": Measure("GOD", "tokens"),
}


def evidence_of(runs: Path) -> Recorded:
    """Return the last whole run of the study below `runs` if there is one, else the record that ships with the package.

    Its answers have their regrets, and the better of two scales. MissingRun, with the command, where neither is there;
    ValueError for results that cannot be read.
    """
    about = runs / NAME / "about.json"
    if about.is_file():
        return _completed(runs.resolve(), about.stat().st_mtime_ns)
    try:
        return recorded()
    except ValueError as error:
        made_by = f"rws experiment {NAME} --out {runs}"
        raise MissingRun(f"{error}: make it with {made_by}, which takes hours") from error


@lru_cache(maxsize=2)
def _completed(runs: Path, _state: int) -> Recorded:
    run = own_run(runs, NAME, summaries)
    return replace(run, answers=completed(run.answers, run.frontiers))


def own_run(runs: Path, study: str, of: Any) -> Recorded:
    """Return a study's last whole run below `runs`; of: the module of its summaries."""
    rows, about = read_rows(runs, study), read_json(runs / study / "about.json")
    # These are not the results that ship.
    return Recorded(of.answers_of(rows), of.frontiers_of(rows), {**about, "own": True})


def source_line(evidence: Recorded) -> str:
    """Return the sentence of a caption that says which results are drawn, with their date and command."""
    about = evidence.about
    which = "results of this page's own run" if about.get("own") else "recorded results that ship with the package"
    return f"Drawn from the {which}, made on {about['date']} by `{about['command']}`."


def inputs_of(runs: Path, study: str = NAME) -> tuple[str, ...]:
    """Return the files below `runs` that are read, none where the record is."""
    path = runs / study / "last_run.json"
    return (f"{study}/{path.name}",) if path.is_file() else ()


@lru_cache(maxsize=8)
def arms_of(evidence: Recorded, world: str) -> Mapping[Arm, pandas.DataFrame]:
    """Return the test answers of a world by arm, each frame by prompt in one order, with the columns of `MEASURES`.

    Arms that have not answered all test prompts of the world are left out, so that all arms are of the same prompts.
    An empty mapping where the world has no answers.
    """
    # Log perplexity is that of the exact world, else of the causal model.
    columns = {"reward_sd": "reward", "log_p_word": "log_prob", "coherent": "coherent", "log_perplexity": "nll"}
    arms = {}
    for arm, frame in sorted(whole_arms(evidence.answers, world).items(), key=_order):
        scores = {column: scores_of(frame, world, measure) for column, measure in columns.items()}
        if WORLDS[world].exact:
            scores["log_perplexity"] = -scores["log_p_word"]
        arms[arm] = frame.assign(**scores).set_index("prompt")
    return arms


def _order(item: tuple[Arm, Any]) -> tuple[Any, ...]:
    arm = item[0]
    return arm.method, -1.0 if arm.number is None else arm.number, arm.sampling_temperature, arm.one_by_one


def quality_of(world: str) -> str:
    """Return the measure of the quality of a world's texts: log p where it is exact, else the share coherent."""
    return "log_p_word" if WORLDS[world].exact else "coherent"


def path_of(arms: Mapping[Arm, Any], method: str) -> list[Arm]:
    """Return the greedy arms of a method by rising number; the default is the temperature 1.

    >>> [arm.number for arm in path_of({Arm("temperature", 2.0): 0, Arm("default"): 0}, "temperature")]
    [None, 2.0]
    """
    methods = (method, "default") if method == "temperature" else (method,)
    greedy = [arm for arm in arms if not arm.sampling_temperature and not arm.one_by_one and arm.method in methods]
    return sorted(greedy, key=lambda arm: 1.0 if arm.number is None else arm.number)


def chosen_scale(evidence: Recorded, world: str) -> Arm | None:
    """Return the greedy arm of RWS at the scale that was chosen on validation prompts; None if there is none."""
    scales = evidence.about.get("chosen", {}).get(world) or chosen_scales(evidence.answers, world)
    return next((arm for arm in path_of(arms_of(evidence, world), "rws") if arm.number == scales.get("rws")), None)


def places_of(evidence: Recorded, world: str, x: str, y: str, keep: Callable[[Arm], bool] = lambda arm: True) -> Places:
    """Return the mean of two measures of each arm that is kept and has both, with their intervals."""
    return {
        arm: (at, level)
        for arm, frame in arms_of(evidence, world).items()
        if keep(arm) and (at := interval_of(frame, x)) and (level := interval_of(frame, y))
    }


@dataclass(frozen=True, eq=False)
class Placed:
    """The study's results, and where the arms that a figure draws lie, by world, or by world and measure."""

    evidence: Recorded
    places: Mapping[Any, Places]

    @property
    def arms(self) -> list[Arm]:
        """Return the arms that are drawn, of all worlds."""
        return [arm for places in self.places.values() for arm in places]


def placed(runs: Path, x: str, y: Callable[[str], str], keep: Callable[[Arm], bool]) -> Placed:
    """Read the study and place the arms that are kept by x and by a world's y; MissingRun without run and record."""
    evidence = evidence_of(runs)
    places = {world: places_of(evidence, world, x, y(world), keep) for world in worlds_of(evidence.answers)}
    return Placed(evidence, {world: arms for world, arms in places.items() if arms})


def fields_of(name: str, interval: Interval | None) -> dict[str, float | None]:
    """Return a mean and its ends as fields of a table's row.

    >>> fields_of("GOD", Interval(0.5, 0.25, 0.75))
    {'GOD': 0.5, 'GOD, low': 0.25, 'GOD, high': 0.75}
    """
    return dict(zip((name, f"{name}, low", f"{name}, high"), interval or (None,) * 3, strict=True))


def text_of(interval: Interval, digits: int = 2, signed: bool = False) -> str:
    """Return a mean with its interval as text.

    >>> text_of(Interval(0.5, 0.25, 0.75), signed=True)
    '+0.50 [+0.25, +0.75]'
    """
    mean, low, high = (f"{number:{'+' if signed else ''}.{digits}f}" for number in interval)
    return f"{mean} [{low}, {high}]"


def bound_text(value: float, digits: int = 2, least: bool = False) -> str:
    """Return an upper bound as text, rounded up, so that it stays true; a lower one, rounded down, if `least`.

    >>> bound_text(1.2044), bound_text(1.2, 1), bound_text(0.957, least=True)
    ('1.21', '1.2', '0.95')
    """
    scaled = round(value * 10**digits, 9)  # 1.2 is stored a little below, other numbers above
    return f"{(floor(scaled) if least else ceil(scaled)) / 10**digits:.{digits}f}"


def interval_of(frame: pandas.DataFrame, measure: str) -> Interval | None:
    """Return the mean of a measure over an arm's answers with its 95 % interval; None where one has no such measure.

    A share has the exact interval, any other mean that of `mean_interval`.
    """
    values = frame[measure].to_numpy(dtype=float)
    known = values.size and not np.isnan(values).any()
    return interval_of_values(values, "share" if MEASURES[measure].share else "mean") if known else None


def difference_of(first: pandas.DataFrame, second: pandas.DataFrame, measure: str) -> Interval | None:
    """Return the mean of first - second over the prompts of both with its 95 % interval of pairs; None as above.

    Shares have Tango's score interval, other means that of `mean_interval`; over distinct pairs of
    texts where pairs repeat.
    """
    prompts = first.index.intersection(second.index)
    pairs = [frame.loc[prompts, measure].to_numpy(dtype=float) for frame in (first, second)]
    if not len(prompts) or np.isnan(pairs).any():
        return None
    of = text_pairs(*(frame.loc[prompts, "tokens"] for frame in (first, second)))
    if MEASURES[measure].share:
        return interval_of_values(pairs[0] - pairs[1], "net", of)
    return interval_of_values(paired_differences(*pairs), "mean", of)
