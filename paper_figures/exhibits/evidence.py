"""Read the evidence study's answers for figures and tables: each arm with its measures, prompt by prompt.

The results are those below the runs where they are there, else the record that ships with the package.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from paper_figures.exhibits.exhibit import MissingRun
from paper_figures.recorded import Recorded, recorded
from paper_figures.statistics.intervals import Interval, exact_share
from paper_figures.statistics.means import mean_interval, paired_mean_interval
from paper_figures.statistics.paired_proportions import paired_share_difference
from paper_figures.studies.design.evidence_arms import WORLDS, Arm

if TYPE_CHECKING:
    import pandas

__all__ = [
    "MEASURES",
    "Measure",
    "arms_of",
    "difference_of",
    "evidence_of",
    "inputs_of",
    "interval_of",
    "source_line",
    "worlds_in",
]

NAME = "evidence"
_RESAMPLES = 1999  # of a figure's interval: a page draws some hundred of them


@dataclass(frozen=True)
class Measure:
    """What is measured of each answer: its name in sentences, its unit, and whether it is 0 or 1."""

    title: str
    unit: str
    share: bool = False


# A column of the frames of `arms_of` -> what it is.
MEASURES: dict[str, Measure] = {
    "reward_sd": Measure("reward", "the guide's deviations"),
    "log_p_word": Measure("log p", "nats per word"),
    "coherent": Measure("coherent answers", "share of answers", share=True),
    "log_perplexity": Measure("log of perplexity", "nats per token"),
    "regret": Measure("regret", "nats"),
    "god_tokens": Measure("GOD", "tokens"),
    "forwards": Measure("forwards", "per answer"),
    "reward_calls": Measure("reward calls", "per answer"),
}


def evidence_of(runs: Path) -> Recorded:
    """Return the study's results below `runs` if they are there, else the record that ships with the package.

    Its answers have their regrets, and the better of two scales. MissingRun, with the command, where neither is there;
    ValueError for results that cannot be read.
    """
    parts = sorted((runs / NAME).glob("units-*/*.parquet"))
    if parts:
        state = max(path.stat().st_mtime_ns for path in (*parts, *(runs / NAME).glob("*.json")))
        return _read(runs.resolve(), len(parts), state)
    try:
        return recorded()
    except ValueError as error:
        made_by = f"python -m paper_figures experiment {NAME} --out {runs}"
        raise MissingRun(f"{error}: make it with {made_by}, which takes hours") from error


@lru_cache(maxsize=2)
def _read(runs: Path, _parts: int, state: int) -> Recorded:
    from paper_figures.runner.manifest import read_manifest
    from paper_figures.runner.results import read_results
    from paper_figures.studies.summaries.evidence import answers_of, frontiers_of, with_better_scale, with_regret

    manifest = read_manifest(runs / NAME)
    rows = read_results(runs / NAME, manifest and manifest.results.removeprefix("units-"))
    if manifest is not None:
        rows = rows[[unit in manifest for unit in rows["unit"]]]
    answers, frontiers = answers_of(rows), frontiers_of(rows)
    about = _about(answers, datetime.fromtimestamp(state / 1e9, UTC).date().isoformat())
    return Recorded(with_regret(with_better_scale(answers), frontiers), frontiers, about)


def _about(answers: pandas.DataFrame, date: str) -> dict[str, Any]:
    counts = {
        split: int(answers[answers["split"] == split].groupby("world")["prompt"].nunique().max())
        for split in answers["split"].unique()
    }
    prompts, validation = counts.get("test", 0), counts.get("validation", 0)
    worlds = [name for name in WORLDS if name in set(answers["world"])]
    sizes = f"--worlds {' '.join(worlds)} --prompts {prompts} --validation {validation}"
    return {
        "command": f"python -m paper_figures experiment {NAME} --out out/runs {sizes}",
        "date": date,
        "prompts": prompts,
        "validation": validation,
        "own": True,  # these are not the results that ship
    }


def source_line(evidence: Recorded) -> str:
    """Return the sentence of a caption that says which results are drawn, with their date and command."""
    about = evidence.about
    which = "results of this page's own run" if about.get("own") else "recorded results that ship with the package"
    return f"Drawn from the {which}, made on {about['date']} by `{about['command']}`."


def inputs_of(runs: Path) -> tuple[str, ...]:
    """Return the files below `runs` that are read, none where the record is."""
    path = runs / NAME / "last_run.json"
    return (f"{NAME}/{path.name}",) if path.is_file() else ()


def worlds_in(evidence: Recorded) -> list[str]:
    """Return the names of the worlds that have test answers, in the study's order."""
    answers = evidence.answers
    present = set(answers.loc[answers["split"] == "test", "world"])
    return [name for name in WORLDS if name in present]


def arms_of(evidence: Recorded, world: str) -> Mapping[Arm, pandas.DataFrame]:
    """Return the test answers of a world by arm, each frame by prompt in one order, with the columns of `MEASURES`.

    Arms that have not answered all test prompts of the world are left out, so that all arms are of the same prompts.
    An empty mapping where the world has no answers.
    """
    return _arms(evidence, world)


@lru_cache(maxsize=8)
def _arms(evidence: Recorded, world: str) -> Mapping[Arm, pandas.DataFrame]:
    answers, shape = evidence.answers, WORLDS[world]
    rows = _measured(answers[(answers["world"] == world) & (answers["split"] == "test")], world)
    arms: dict[Arm, pandas.DataFrame] = {}
    for (method, number, drawn, steps), frame in rows.groupby(["method", "number", "drawn", "steps"], dropna=False):
        arm = Arm(
            str(method), None if number != number else float(number), float(bool(drawn)), int(steps) == shape.length
        )
        arms[arm] = frame.drop_duplicates("prompt").set_index("prompt").sort_index()
    whole = max(map(len, arms.values()), default=0)
    return {arm: frame for arm, frame in sorted(arms.items(), key=_order) if len(frame) == whole}


def _order(item: tuple[Arm, Any]) -> tuple[Any, ...]:
    arm = item[0]
    return arm.method, -1.0 if arm.number is None else arm.number, arm.sampling_temperature, arm.one_by_one


def _measured(answers: pandas.DataFrame, world: str) -> pandas.DataFrame:
    """Return the answers with the columns of `MEASURES`; NaN where an answer has no such measure."""
    import pandas as pd

    from rws_decode.rewards import load_reward

    guide = load_reward(WORLDS[world].reward)
    number = {
        name: pd.to_numeric(answers[name], errors="coerce").astype(float)
        for name in ("reward", "log_prob", "rules_broken", "nll", "causal_tokens", "regret", "god_tokens")
    }
    broken, log_p_word = number["rules_broken"], number["log_prob"] / WORLDS[world].length
    # That of the exact world, else of the causal model; exp of its mean over answers is their geometric mean.
    log_perplexity = -log_p_word if WORLDS[world].exact else number["nll"] / number["causal_tokens"]
    return answers.assign(
        reward_sd=(number["reward"] - guide.mean) / guide.std,
        log_p_word=log_p_word,
        coherent=(broken == 0).astype(float).where(broken.notna()),
        log_perplexity=log_perplexity,
        regret=number["regret"],
        god_tokens=number["god_tokens"],
    )


def interval_of(frame: pandas.DataFrame, measure: str) -> Interval | None:
    """Return the mean of a measure over an arm's answers with its 95 % interval; None where one has no such measure.

    A share has the exact interval, any other mean the BCa bootstrap's.
    """
    values = frame[measure].to_numpy(dtype=float)
    return None if np.isnan(values).any() or not values.size else _interval(values.tobytes(), MEASURES[measure].share)


@lru_cache(maxsize=4096)
def _interval(buffer: bytes, share: bool) -> Interval:
    values = np.frombuffer(buffer)
    if share:
        return exact_share(int(values.sum()), values.size)
    return mean_interval(values, np.random.default_rng(0), resamples=_RESAMPLES)


def difference_of(first: pandas.DataFrame, second: pandas.DataFrame, measure: str) -> Interval | None:
    """Return the mean of first - second over the prompts of both with its 95 % interval of pairs; None as above.

    Shares have Tango's score interval, other means the BCa bootstrap's of the differences.
    """
    prompts = first.index.intersection(second.index)
    pairs = [frame.loc[prompts, measure].to_numpy(dtype=float) for frame in (first, second)]
    if not len(prompts) or np.isnan(pairs).any():
        return None
    return _difference(*(values.tobytes() for values in pairs), MEASURES[measure].share)


@lru_cache(maxsize=4096)
def _difference(first: bytes, second: bytes, share: bool) -> Interval:
    pairs: Iterable[ArrayLike] = (np.frombuffer(first), np.frombuffer(second))
    if share:
        return paired_share_difference(*pairs)
    return paired_mean_interval(*pairs, np.random.default_rng(0), resamples=_RESAMPLES)
