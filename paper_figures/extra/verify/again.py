"""Compute recorded answers again, and say which are the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from paper_figures.recorded import Recorded
from paper_figures.runner.units import Unit, batch_key
from paper_figures.studies import evidence, laws
from paper_figures.studies.evidence import EvidenceOptions, prompts_of_world
from paper_figures.studies.evidence_arms import FROM_RUN, WORLDS, Arm, numbers_of_runs, unit_of
from paper_figures.table import records

# A number that differs by less is the same: the order of sums differs between processors.
_TOLERANCE = 1e-3
_BATCH = 16


@dataclass(frozen=True)
class Difference:
    """An answer that is not the recorded one: how it was made, both texts (or their digests), and both rewards."""

    world: str
    prompt: str
    answer: str
    recorded_text: str
    text: str
    recorded_reward: float
    reward: float


@dataclass(frozen=True)
class Verified:
    """How many answers were computed again, and what became of them.

    equal: the same tokens, and the same reward and log-probabilities, to 0.001. near_ties: other tokens, and the decode
    counts a near-tie, at which the last digits of the logits decide. differ: the others.
    """

    checked: int
    equal: int
    near_ties: int
    differ: tuple[Difference, ...]


def sample_of(recorded: Recorded, size: int, seed: int) -> pd.DataFrame:
    """Return `size` recorded answers sampled without replacement; all of them where there are no more."""
    size = min(size, len(recorded.answers))
    drawn = np.random.default_rng(seed).choice(len(recorded.answers), size, replace=False)
    return recorded.answers.iloc[np.sort(drawn)]


def verify(recorded: Recorded, answers: pd.DataFrame) -> Iterator[Verified]:
    """Compute answers of the record again; yield the counts so far after each batch."""
    rows = records(answers)
    of_laws = recorded.about.get("study") == laws.NAME
    units = laws_units(recorded, rows) if of_laws else units_of(recorded, rows)
    work = (laws if of_laws else evidence).work
    groups: dict[str, list[tuple[dict[str, Any], Unit]]] = {}
    for row, unit in zip(rows, units, strict=True):
        groups.setdefault(batch_key(unit), []).append((row, unit))
    checked = equal = near = 0
    differ: list[Difference] = []
    # Answers of one model follow each other, so that each model is loaded once.
    batches = [pairs[start : start + _BATCH] for pairs in groups.values() for start in range(0, len(pairs), _BATCH)]
    for pairs in sorted(batches, key=lambda pairs: str(pairs[0][1].predictor)):
        for (row, _), result in zip(pairs, work([unit for _, unit in pairs]), strict=True):
            (again,) = list(result)
            checked += 1
            if again["tokens"] == row["tokens"] and _same_numbers(row, again):
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


def laws_units(recorded: Recorded, rows: list[dict[str, Any]]) -> list[Unit]:
    """Return the unit of each recorded text of the study `laws`."""
    count, seed = recorded.about["prompts"], recorded.about["seed"]
    prompts = {
        name: {
            prompt.name: (prompt, answer) for prompt, answer in laws.prompts_of_world(laws.WORLDS[name], count, seed)
        }
        for name in {row["world"] for row in rows}
    }
    kinds = [(row["world"], row["method"], int(row["words"]), row["drawing"]) for row in rows]
    return [laws.unit_of(*kind, *prompts[kind[0]][row["prompt"]], seed) for kind, row in zip(kinds, rows, strict=True)]


def _same_numbers(row: Mapping[str, Any], again: Mapping[str, Any]) -> bool:
    pairs = [(row["reward"], again["final_reward"])]
    # Where a model is not exact, or a sampler's distribution is not known, there is no such number.
    known = [name for name in ("log_prob", "log_q") if row.get(name) is not None and np.isfinite(row[name])]
    pairs += [(row[name], again[name]) for name in known]
    return all(abs(first - second) <= _TOLERANCE for first, second in pairs)


def _rewards(answers: pd.DataFrame, row: Mapping[str, Any]) -> dict[str, list[float]]:
    """Return the recorded rewards, step by step, of the rws runs that a control is made from, by prompt."""
    same = (answers["method"] == "rws") & (answers["split"] == row["split"])
    for name in ("world", "number", "drawn", "steps"):
        same &= answers[name] == row[name]
    return {each["prompt"]: list(each["rewards"]) for each in records(answers[same])}


def _near(row: Mapping[str, Any], again: Mapping[str, Any]) -> bool:
    return any(each[name] > 0 for each in (row, again) for name in ("near_ties", "near_tokens"))


def _difference(row: Mapping[str, Any], again: Mapping[str, Any]) -> Difference:
    if "words" in row:
        answer = f"{row['method']}, {row['drawing']}, {row['words']} words a step"
    else:
        number = "" if row["number"] is None or np.isnan(row["number"]) else f" {row['number']:g}"
        answer = f"{row['method']}{number}{', drawn' if row['drawn'] else ''}, {row['steps']} steps"
    there, here = (each.get("text", each["tokens"]) for each in (row, again))
    rewards = float(row["reward"]), float(again["final_reward"])
    return Difference(row["world"], row["prompt"], answer, there, here, *rewards)
