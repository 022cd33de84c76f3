"""Run studies that are one stage of units: the options that they share, their run, and their files."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from paper_figures.runner.executors import RunOptions
from paper_figures.studies.design.options import DecodingOptions, PredictorOptions, PromptOptions
from rws_theory.commands.options import fixed, option

if TYPE_CHECKING:
    import pandas

    from paper_figures.runner.runner import Report
    from paper_figures.runner.units import Origin, Unit
    from paper_figures.runner.worker import Work
    from paper_figures.table import Table

__all__ = ["PromptStageOptions", "StageOptions", "base_unit", "check_options", "check_range", "finish", "run_stage"]


@dataclass(frozen=True)
class StageOptions(RunOptions, DecodingOptions, PredictorOptions):
    """The options of a study of one stage. A study's own class gives them other defaults and adds its own."""


@dataclass(frozen=True)
class PromptStageOptions(StageOptions, PromptOptions):
    """The options of a study of one stage that draws prompts and ranks by log-odds in float64."""

    data: str = "examples"
    prompts: int = option(16, "how many")
    seed: int = option(0, "of what is drawn")
    ranking: Literal["log-odds", "probability", "topk"] = fixed("log-odds")
    precision: Literal["model", "bfloat16", "float32", "float64"] = fixed("float64")


def check_range(scale_min: float, scale_max: float, budget: int | None, steps: int) -> None:
    """Raise ValueError for bad ends of a range of scales, or a budget below the forwards of one answer."""
    if not 0 < scale_min < scale_max < math.inf:
        raise ValueError(f"--scale-min and --scale-max are {scale_min} and {scale_max}: 0 < min < max < inf is needed")
    if budget is not None and budget < steps:
        raise ValueError(f"--budget is {budget}: at least --steps, {steps}, is needed")


def check_options(options: StageOptions) -> None:
    """Raise ValueError if --out is a file, the shape does not divide, or the seed is out of range."""
    from rws_decode.canvas.schedule import block_plan

    if isinstance(options, PromptStageOptions) and not 0 <= options.seed < 2**31:
        raise ValueError(f"--seed is {options.seed}: at least 0 and below 2**31 is needed")
    if Path(options.out).exists() and not Path(options.out).is_dir():
        raise ValueError(f"--out is {options.out}: a file; a directory is needed")
    block_plan(options.length, options.steps, options.block)


def base_unit(options: StageOptions, experiment: str) -> Unit:
    """Return a unit without a prompt, which holds what all answers of an experiment share."""
    from paper_figures.runner.units import Unit
    from paper_figures.studies.design.options import settings_from

    shape = {name: getattr(options, name) for name in ("length", "steps", "block", "device", "ranking", "precision")}
    strategy, settings = {"name": "default"}, settings_from(options)
    return Unit(
        experiment=experiment, prompt="", strategy=strategy, predictor=options.model, settings=settings, **shape
    )


def run_stage(options: StageOptions, units: Sequence[Unit], work: Work) -> tuple[Report, Origin]:
    """Run, resume or reuse units as the options say; return the report, and what the results depend on."""
    from paper_figures.runner.runner import run_units
    from paper_figures.runner.units import origin_of

    origin = origin_of(units, work)
    run_options: dict[str, Any] = {"batch": options.batch, "retry_failed": options.retry_failed}
    return run_units(units, work, Path(options.out), origin=origin, backend=options.backend(), **run_options), origin


def finish(
    options: StageOptions,
    base: Unit,
    stages: Sequence[tuple[Report, Origin]],
    tables: Sequence[Table],
    frame: pandas.DataFrame,
    *,
    settings: Mapping[str, Any],
    results: Mapping[str, Any],
) -> dict[str, Any]:
    """Write a study's tables, manifest and results.json, and return what `--json` prints.

    `stages` is what `run_stage` returned. `frame` holds the rows that the tables are of. `settings` are the study's own
    options, and `results` is what else results.json holds. Without tables, no manifest and no results.json are written.
    """
    from paper_figures.runner.manifest import write_manifest
    from paper_figures.studies.design.results_json import seconds_of, write_stage_results
    from paper_figures.studies.summaries.printed import measured_tables
    from paper_figures.table import tables_text, write_tables

    reports = [report for report, _ in stages]
    folder = reports[-1].folder
    names = ("asked", "found", "computed", "failed")
    counts = {name: sum(len(getattr(report, name)) for report in reports) for name in names}
    message = tables_text(tables) if tables else "no unit has a result\n"
    if tables:
        manifest_units = reports[0].asked if len(reports) == 1 else tuple(frame["unit"])
        write_tables(folder.parent, measured_tables(tables))
        write_manifest(reports[0].folder, getattr(options, "seed", 0), manifest_units)
        write_stage_results(options, base, stages[0][1], {"seconds": seconds_of(frame), **results}, **settings)
    failed = f"{counts['failed']} of {counts['asked']} units failed: --retry-failed runs them again\n"
    return {
        "experiment": folder.parent.name,
        "folder": str(folder),
        "units": counts,
        "tables": {table.name: list(table.rows) for table in tables},
        "message": f"{message}\n{failed if counts['failed'] else ''}\nresults: {folder}",
    }
