"""Studies that are one stage of units: the options that they share, their run, and their files."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paper_figures.runner.executors import add_run_arguments
from paper_figures.studies.design.options import add_decoding_arguments

if TYPE_CHECKING:
    import pandas

    from paper_figures.runner.runner import Report
    from paper_figures.runner.units import Origin, Unit
    from paper_figures.runner.worker import Work
    from paper_figures.table import Table

__all__ = ["add_arguments", "base_unit", "check_arguments", "finish", "run_stage"]


def add_arguments(
    parser: argparse.ArgumentParser, *, length: int = 64, steps: int = 32, ranked: bool = False, batch: int = 16
) -> None:
    """Add how answers are decoded, by which predictor, and where units run."""
    parser.add_argument("--model", default="mini", help="mask predictor: shipped name, directory, hub id (mini)")
    add_decoding_arguments(parser, length=length, steps=steps, ranked=ranked)
    add_run_arguments(parser, batch=batch)


def check_arguments(args: argparse.Namespace) -> None:
    """Raise ValueError for an --out that is a file, a shape that does not divide, or a bad seed, range or budget."""
    from rws_decode.canvas.schedule import block_plan

    if not 0 <= getattr(args, "seed", 0) < 2**31:
        raise ValueError(f"--seed is {args.seed}: at least 0 and below 2**31 is needed")
    if hasattr(args, "scale_min") and not 0 < args.scale_min < args.scale_max < math.inf:
        ends = f"{args.scale_min} and {args.scale_max}"
        raise ValueError(f"--scale-min and --scale-max are {ends}: 0 < min < max < inf is needed")
    if getattr(args, "budget", None) is not None and args.budget < args.steps:
        raise ValueError(f"--budget is {args.budget}: at least --steps, {args.steps}, is needed")
    if Path(args.out).exists() and not Path(args.out).is_dir():
        raise ValueError(f"--out is {args.out}: a file; a directory is needed")
    block_plan(args.length, args.steps, args.block)


def base_unit(args: argparse.Namespace, experiment: str) -> Unit:
    """Return what all answers of an experiment share, as a unit without prompt."""
    from paper_figures.runner.units import Unit
    from paper_figures.studies.design.options import settings_from

    shape = {name: getattr(args, name) for name in ("length", "steps", "block", "device")}
    shape |= {name: getattr(args, name) for name in ("ranking", "precision") if hasattr(args, name)}
    strategy = {"name": "default"}
    settings = settings_from(args)
    return Unit(experiment=experiment, prompt="", strategy=strategy, predictor=args.model, settings=settings, **shape)


def run_stage(args: argparse.Namespace, units: Sequence[Unit], work: Work) -> tuple[Report, Origin]:
    """Run, resume or reuse units where the options say; return the report, and what the results follow from."""
    from paper_figures.runner.executors import backend_of
    from paper_figures.runner.runner import run_units
    from paper_figures.runner.units import origin_of

    backend, origin = backend_of(args), origin_of(units, work)
    options: dict[str, Any] = {"batch": args.batch, "retry_failed": args.retry_failed}
    return run_units(units, work, Path(args.out), origin=origin, backend=backend, **options), origin


def finish(
    args: argparse.Namespace,
    base: Unit,
    stages: Sequence[tuple[Report, Origin]],
    tables: Sequence[Table],
    frame: pandas.DataFrame,
    *,
    settings: Mapping[str, Any],
    results: Mapping[str, Any],
) -> dict[str, Any]:
    """Write a study's tables, manifest and results.json, and return what `--json` prints.

    stages: what `run_stage` returned; frame: the rows that the tables are of; settings: the study's own options;
    results: what results.json holds besides. Without tables no manifest and no results.json are written.
    """
    from paper_figures.runner.manifest import write_manifest
    from paper_figures.runner.results_json import seconds_of, write_stage_results
    from paper_figures.studies.summaries.printed import measured_tables
    from paper_figures.table import tables_text, write_tables

    reports = [report for report, _ in stages]
    folder = reports[-1].folder
    names = ("asked", "found", "computed", "failed")
    counts = {name: sum(len(getattr(report, name)) for report in reports) for name in names}
    message = tables_text(tables) if tables else "no unit has a result\n"
    if tables:
        asked = reports[0].asked if len(reports) == 1 else tuple(frame["unit"])
        write_tables(folder.parent, measured_tables(tables))
        write_manifest(reports[0].folder, getattr(args, "seed", 0), asked)
        write_stage_results(args, base, stages[0][1], {"seconds": seconds_of(frame), **results}, **settings)
    failed = f"{counts['failed']} of {counts['asked']} units failed: --retry-failed runs them again\n"
    return {
        "experiment": folder.parent.name,
        "folder": str(folder),
        "units": counts,
        "tables": {table.name: list(table.rows) for table in tables},
        "message": f"{message}\n{failed if counts['failed'] else ''}\nresults: {folder}",
    }
