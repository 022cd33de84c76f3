"""Compute recorded answers again, and say which are the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from paper_figures.recorded import Recorded
from paper_figures.runner.units import Unit, batch_key
from paper_figures.studies.design.evidence_arms import FROM_RUN, WORLDS, Arm, numbers_of_runs, unit_of
from paper_figures.studies.evidence import prompts_of_world
from paper_figures.studies.options import EvidenceOptions
from paper_figures.studies.work.evidence import work
from paper_figures.table import records

__all__ = ["Difference", "Verified", "sample_of", "units_of", "verify"]

# A reward that differs by less is the same: the order of sums differs between processors.
_REWARD_TOLERANCE = 1e-3
_BATCH = 16


@dataclass(frozen=True)
class Difference:
    """An answer that is not the recorded one: its arm, both texts, and both rewards."""

    world: str
    prompt: str
    method: str
    number: float | None
    drawn: bool
    steps: int
    recorded_text: str
    text: str
    recorded_reward: float
    reward: float


@dataclass(frozen=True)
class Verified:
    """How many answers were computed again, and what became of them.

    equal: the same tokens and the same reward, to 0.001. near_ties: other tokens, and the decode counts a near-tie, at
    which the last digits of the logits decide. differ: the others.
    """

    checked: int
    equal: int
    near_ties: int
    differ: tuple[Difference, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the counts and differences as JSON holds them."""
        return asdict(self) | {"differ": [asdict(each) for each in self.differ]}


def sample_of(recorded: Recorded, size: int, seed: int) -> pd.DataFrame:
    """Return `size` recorded answers drawn without replacement; all of them where there are no more."""
    size = min(size, len(recorded.answers))
    drawn = np.random.default_rng(seed).choice(len(recorded.answers), size, replace=False)
    return recorded.answers.iloc[np.sort(drawn)]


def verify(recorded: Recorded, answers: pd.DataFrame) -> Iterator[Verified]:
    """Compute answers of the record again; yield the counts so far after each batch."""
    rows = records(answers)
    groups: dict[str, list[tuple[dict[str, Any], Unit]]] = {}
    for row, unit in zip(rows, units_of(recorded, rows), strict=True):
        groups.setdefault(batch_key(unit), []).append((row, unit))
    checked = equal = near = 0
    differ: list[Difference] = []
    # Answers of one world follow each other, so that each model is loaded once.
    batches = [pairs[start : start + _BATCH] for pairs in groups.values() for start in range(0, len(pairs), _BATCH)]
    for pairs in sorted(batches, key=lambda pairs: str(pairs[0][1].predictor)):
        for (row, _), result in zip(pairs, work([unit for _, unit in pairs]), strict=True):
            (again,) = list(result)
            checked += 1
            same_reward = abs(again["final_reward"] - row["reward"]) <= _REWARD_TOLERANCE
            if again["tokens"] == row["tokens"] and same_reward:
                equal += 1
            elif again["tokens"] != row["tokens"] and _near(row, again):
                near += 1
            else:
                differ.append(_difference(row, again))
        yield Verified(checked, equal, near, tuple(differ))


def units_of(recorded: Recorded, rows: list[dict[str, Any]]) -> list[Unit]:
    """Return the unit of each recorded answer, made from the record alone: prompts by its seed, runs by its rewards."""
    about = recorded.about
    options = EvidenceOptions(out="", prompts=about["prompts"], validation=about["validation"], seed=about["seed"])
    prompts: dict[str, dict[tuple[str, str], Any]] = {}
    numbers: dict[tuple[Any, ...], dict[str, dict[str, Any]]] = {}
    units = []
    for row in rows:
        world = WORLDS[row["world"]]
        if world.name not in prompts:
            of_world = prompts_of_world(world, options)
            parts = {"test": of_world.test, "validation": of_world.validation}
            prompts[world.name] = {(split, each.name): each for split, part in parts.items() for each in part}
        drawn, steps = bool(row["drawn"]), int(row["steps"])
        number = None if row["number"] is None or np.isnan(row["number"]) else float(row["number"])
        arm = Arm(row["method"], number, float(drawn), steps != world.steps)
        run = None
        if arm.method in FROM_RUN:
            key = (world.name, *arm)
            if key not in numbers:
                rewards = _rewards(recorded.answers, row)
                numbers[key] = numbers_of_runs(arm.method, float(number or 0), rewards, options.seed)
            run = numbers[key][row["prompt"]]
        prompt = prompts[world.name][row["split"], row["prompt"]]
        units.append(unit_of(world, arm, prompt, row["split"], options.seed, run))
    return units


def _rewards(answers: pd.DataFrame, row: Mapping[str, Any]) -> dict[str, list[float]]:
    """Return the recorded rewards, step by step, of the rws runs that a control is made from, by prompt."""
    same = (answers["method"] == "rws") & (answers["split"] == row["split"])
    for name in ("world", "number", "drawn", "steps"):
        same &= answers[name] == row[name]
    return {each["prompt"]: list(each["rewards"]) for each in records(answers[same])}


def _near(row: Mapping[str, Any], again: Mapping[str, Any]) -> bool:
    return any(each[name] > 0 for each in (row, again) for name in ("near_ties", "near_tokens"))


def _difference(row: Mapping[str, Any], again: Mapping[str, Any]) -> Difference:
    number = None if row["number"] is None or np.isnan(row["number"]) else float(row["number"])
    return Difference(
        row["world"],
        row["prompt"],
        row["method"],
        number,
        bool(row["drawn"]),
        int(row["steps"]),
        row["text"],
        again["text"],
        float(row["reward"]),
        float(again["final_reward"]),
    )
