"""Run studies that are one stage of units: the options that they share, their run, and their files."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from paper_figures.runner.parts import write_manifest
from paper_figures.runner.runner import Report, run_units
from paper_figures.runner.units import Origin, Unit, origin_of
from paper_figures.runner.worker import Work
from paper_figures.studies.design.asked import (
    announce,
    asked_prompts,
    given_as,
    one_turn,
    recorded,
)
from paper_figures.studies.design.options import StageOptions, settings_from
from paper_figures.studies.design.prompts import Prompts
from paper_figures.studies.design.results_json import seconds_of, write_stage_results
from paper_figures.studies.summaries.printed import measured_tables
from paper_figures.table import Table, write_tables
from paper_figures.table_text import files_line, terminal_text
from rws_decode.canvas.schedule import block_plan
from rws_theory.commands.options import check_writable

Chosen = TypeVar("Chosen", bound="StageOptions")


def check_range(scale_min: float, scale_max: float, budget: int | None, steps: int) -> None:
    """Raise ValueError for bad ends of a range of scales, or a budget below the forwards of one answer."""
    if not 0 < scale_min < scale_max < math.inf:
        raise ValueError(f"--scale-min and --scale-max are {scale_min} and {scale_max}: 0 < min < max < inf is needed")
    if budget is not None and budget < steps:
        raise ValueError(f"--budget is {budget}: at least --steps, {steps}, is needed")


def begin(
    options: Chosen, experiment: str, models: Mapping[str, Iterable[str | None]], *, judged: bool = False
) -> tuple[Chosen, Prompts]:
    """Check the options and read the prompts before PyTorch is imported, and say what is loaded and left out.

    `models` are the reward and causal models by the option that names them. `judged` says whether answers are judged by
    the rules of the story language. Return the options as they are recorded, and the prompts. ValueError as
    `check_options` and `asked.asked_prompts` raise it, and for prompts of several turns.
    """
    check_options(options)
    prompts = asked_prompts(options)
    one_turn(options, prompts)
    announce(experiment, options.model, prompts, models, judged=judged)
    return recorded(options, prompts), prompts


def check_options(options: StageOptions) -> None:
    """Raise ValueError if --out is a file, the shape does not divide, or the seed is out of range."""
    if not 0 <= options.seed < 2**31:
        raise ValueError(f"--seed is {options.seed}: at least 0 and below 2**31 is needed")
    check_writable("--out", Path(options.out), "directory")
    block_plan(options.length, options.steps, options.block)


def prompt_settings(options: StageOptions) -> dict[str, Any]:
    """Return which prompts were asked, and how many, for results.json."""
    how = given_as(options)
    return {how: getattr(options, how), "prompts": options.prompts}


def base_unit(options: StageOptions, experiment: str) -> Unit:
    """Return a unit without a prompt, which holds what all answers of an experiment share."""
    shape = {name: getattr(options, name) for name in ("length", "steps", "block", "device", "ranking", "precision")}
    strategy, settings = {"name": "default"}, settings_from(options)
    return Unit(
        experiment=experiment, prompt="", strategy=strategy, predictor=options.model, settings=settings, **shape
    )


def run_stage(options: StageOptions, units: Sequence[Unit], work: Work) -> tuple[Report, Origin]:
    """Run, resume or reuse units as the options say; return the report, and what the results depend on."""
    origin = origin_of(units, work)
    run_options: dict[str, Any] = {"batch": options.batch, "retry_failed": options.retry_failed}
    return run_units(units, work, Path(options.out), origin=origin, backend=options.backend(), **run_options), origin


def finish(
    options: StageOptions,
    base: Unit,
    stages: Sequence[tuple[Report, Origin]],
    tables: Sequence[Table],
    frame: pd.DataFrame,
    *,
    settings: Mapping[str, Any],
    results: Mapping[str, Any],
) -> dict[str, Any]:
    """Write a study's tables, manifest and results.json, and return what `--json` prints.

    `stages` is what `run_stage` returned. `frame` holds the rows that the tables are of. `settings` are the study's own
    options, and `results` is what else results.json holds. Without tables, no manifest and no results.json are written.
    """
    reports = [report for report, _ in stages]
    folder = reports[-1].folder
    names = ("asked", "found", "computed", "failed")
    counts = {name: sum(len(getattr(report, name)) for report in reports) for name in names}
    message = terminal_text(tables) if tables else "no unit has a result\n"
    if tables:
        manifest_units = reports[0].asked if len(reports) == 1 else tuple(frame["unit"])
        write_tables(folder.parent, measured_tables(tables))
        write_manifest(reports[0].folder, options.seed, manifest_units)
        write_stage_results(options, base, stages[0][1], {"seconds": seconds_of(frame), **results}, **settings)
    failed = f"{counts['failed']} of {counts['asked']} units failed: --retry-failed runs them again\n"
    return {
        "experiment": folder.parent.name,
        "folder": str(folder),
        "units": counts,
        "tables": {table.name: list(table.rows) for table in tables},
        "message": f"{message}\n{failed if counts['failed'] else ''}results: {folder}\n"
        f"{files_line(Path(options.out) / base.experiment, tables)}",
    }
