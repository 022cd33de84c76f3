"""Ask what the reward does in RWS: hundreds of prompts a world, every control, and methods that truly use the reward.

Each world (`design.evidence_arms.WORLDS`) is a mask predictor, a guide and a shape. The stages are:

1. RWS and temperature at the paper's scales on validation prompts. The scale of the greatest mean reward is chosen for
   each of them in the same way.
2. All arms that need no run of another, on the test prompts: RWS at `--reward-scale` and at the chosen scale,
   temperatures, orders, more steps, best of N, particles, reward lookahead, and the exact tilt where there is one.
3. The controls that are made from the rws runs: the constant of equal mean, the mean schedule by step, another prompt's
   rewards, and the own rewards shuffled.
4. The frontier of log p and reward after each test prompt, where the world has tilts.

The results of the full study ship with the package (`paper_figures.recorded`), and `verify` computes a sample of them
again. The files below OUT/evidence are the units' parts, and `evidence.csv|md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from paper_figures.runner.parts import read_manifest, write_manifest
from paper_figures.runner.results import read_unit_rows
from paper_figures.runner.runner import run_units
from paper_figures.runner.units import Unit
from paper_figures.studies.design.evidence_arms import (
    WORLDS,
    Arm,
    World,
    base_unit,
    from_run,
    frontier_units,
    independent,
    numbers_of_runs,
    unit_of,
    validation_arms,
)
from paper_figures.studies.design.prompts import Prompt, Prompts, prompts_of
from paper_figures.studies.design.stages import Stages, about_run, finish, on_device, open_stages
from paper_figures.studies.options import EvidenceOptions
from paper_figures.studies.summaries.evidence import answers_of, completed, frontiers_of
from paper_figures.studies.summaries.evidence_comparisons import chosen_scales
from paper_figures.studies.summaries.evidence_tables import arm_tables
from paper_figures.studies.work.evidence import work
from paper_figures.table import Table
from rws_decode.cli.options import check_writable
from rws_decode.cli.progress import loading, tell

NAME = "evidence"


def run(options: EvidenceOptions) -> dict[str, Any]:
    """Run the study from parsed options; return what `--json` prints."""
    check_writable("--out", Path(options.out), "directory")
    worlds = [WORLDS[name] for name in options.worlds]
    loading(NAME, *(name for world in worlds for name in (world.model, world.reward)))

    with open_stages(options, [base_unit(world, options.seed) for world in worlds], work) as stages:
        for world in worlds:
            _run_world(world, prompts_of_world(world, options), options, stages)
        if options.dry_run:
            stages.run("frontiers", _frontier_units(worlds, options))
    searched = _frontiers(worlds, options)
    outcome = stages.outcome()
    tell(f"{NAME}: making the tables ...")
    study_tables = tables(pd.concat([outcome.frame, searched], ignore_index=True), seed=options.seed)
    return finish(NAME, options, outcome, study_tables, about=_about(options, outcome.frame))


def _about(options: EvidenceOptions, frame: pd.DataFrame) -> dict[str, Any]:
    """Return what the record of a run says of it: command, date, versions, processor, seconds, choices."""
    numbers = ("worlds", "prompts", "validation", "reward_scale", "drawn_scale", "weights", "seed")
    answers = answers_of(frame)
    return {
        **about_run(NAME, options, numbers),
        "seconds": round(float(frame["seconds"].sum())),
        "worlds": {name: asdict(WORLDS[name]) for name in options.worlds},
        "chosen": {name: chosen_scales(answers, name) for name in options.worlds},
    }


def prompts_of_world(world: World, options: EvidenceOptions) -> Prompts:
    """Return the test and validation prompts of a world; ValueError for more than its source has."""
    return prompts_of(world.data, options.prompts, options.validation, seed=options.seed, model=world.model)


def _frontier_units(worlds: Iterable[World], options: EvidenceOptions) -> list[Unit]:
    tests = ((world, prompts_of_world(world, options).test) for world in worlds if world.tilts)
    return [unit for world, test in tests for unit in frontier_units(world, test, options.weights, options.seed)]


def _frontiers(worlds: Iterable[World], options: EvidenceOptions) -> pd.DataFrame:
    """Search the frontiers of the worlds with tilts, below OUT/evidence-frontier; return their rows."""
    units = _frontier_units(worlds, options)
    if not units:
        return pd.DataFrame()
    # A weight is searched once for a whole batch: all prompts of a world are one.
    report = run_units(units, work, Path(options.out), backend=options.backend(), batch=options.prompts)
    write_manifest(report.folder, options.seed, report.asked)
    return report.read()


def read_rows(runs: Path, study: str = NAME) -> pd.DataFrame:
    """Return the rows of a study's last whole run below a folder; ValueError where there is none."""
    parts = []
    for folder in (runs / study, runs / f"{study}-frontier"):
        if read_manifest(folder) is not None:
            parts.append(read_unit_rows(folder))
        elif folder.name == study:
            raise ValueError(f"runs is {runs}: no whole run of `experiment {study} --out {runs}` is there")
    return pd.concat(parts, ignore_index=True)


def _run_world(world: World, prompts: Prompts, options: EvidenceOptions, stages: Stages) -> None:
    validation = stages.run(f"{world.name} validation", validation_units(world, prompts, options))
    scales = chosen_scales(answers_of(validation), world.name)
    first = stages.run(f"{world.name} arms", units_before(world, prompts, options, scales))
    stages.run(f"{world.name} controls", units_after(world, prompts, options, first))


def validation_units(world: World, prompts: Prompts, options: EvidenceOptions) -> list[Unit]:
    """Return the units of the first stage."""
    asked = ((arm, prompt) for arm in validation_arms() for prompt in prompts.validation)
    return [_unit(world, arm, prompt, "validation", options) for arm, prompt in asked]


def units_before(world: World, prompts: Prompts, options: EvidenceOptions, scales: dict[str, float]) -> list[Unit]:
    """Return the units of the second stage; `scales` are those chosen."""
    rws = sorted({*options.reward_scale, scales["rws"], options.drawn_scale})
    arms = independent(world, rws, scales["temperature"], options.drawn_scale)
    return [_unit(world, arm, prompt, "test", options) for arm in arms for prompt in prompts.test]


def units_after(world: World, prompts: Prompts, options: EvidenceOptions, rows: pd.DataFrame) -> list[Unit]:
    """Return the units of the third stage, made from the rows of the rws runs among `rows`."""
    runs = rows[(rows["method"] == "rws") & (rows["split"] == "test") & (rows["world"] == world.name)]
    scales = sorted(runs[runs["sampling_temperature"] == 0]["number"].unique())
    units = []
    for arm in from_run(scales, options.drawn_scale):
        same = runs[(runs["number"] == arm.number) & (runs["sampling_temperature"] == arm.sampling_temperature)]
        rewards = {row["example"]: list(row["rewards"]) for row in same.to_dict("records")}
        numbers = numbers_of_runs(arm.method, float(arm.number or 0), rewards, options.seed)
        answered = (prompt for prompt in prompts.test if prompt.name in numbers)
        units += [_unit(world, arm, prompt, "test", options, numbers[prompt.name]) for prompt in answered]
    return units


def _unit(
    world: World, arm: Arm, prompt: Prompt, split: str, options: EvidenceOptions, run: dict[str, Any] | None = None
) -> Unit:
    return on_device(unit_of(world, arm, prompt, split, options.seed, run), options.device)


def tables(frame: pd.DataFrame, *, seed: int = 0) -> Sequence[Table]:
    """Return the study's tables from its rows: each world's arms. No draw hangs on `seed`."""
    return arm_tables(completed(answers_of(frame), frontiers_of(frame)))
