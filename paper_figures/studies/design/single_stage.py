"""Experiments that are one round of units: the options that they share, their run, and the record of what it gave."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paper_figures.runner.executors import add_run_arguments
from paper_figures.studies.design.options import add_decoding_arguments

if TYPE_CHECKING:
    import pandas

    from paper_figures.runner.runner import Report, Work
    from paper_figures.runner.units import Origin, Unit
    from paper_figures.table import Table

__all__ = [
    "add_arguments",
    "base_of",
    "check_options",
    "run_round",
    "schema_of",
    "seconds_of",
    "sources_of",
    "write_and_tell",
    "write_results",
]


def add_arguments(
    parser: argparse.ArgumentParser, *, length: int = 64, steps: int = 32, ranked: bool = False, batch: int = 16
) -> None:
    """Add how answers are decoded, by which predictor, and where units run."""
    parser.add_argument("--model", default="mini", help="mask predictor: shipped name, directory, hub id (mini)")
    add_decoding_arguments(parser, length=length, steps=steps, ranked=ranked)
    add_run_arguments(parser, batch=batch)


def check_options(args: argparse.Namespace) -> None:
    """Raise ValueError where --out is a file, the answers' shape does not divide, or seed, range or budget is none."""
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


def base_of(args: argparse.Namespace, experiment: str) -> Unit:
    """Return what all answers of an experiment share, as a unit without prompt."""
    from paper_figures.runner.units import Unit
    from paper_figures.studies.design.options import settings_from

    shape = {name: getattr(args, name) for name in ("length", "steps", "block", "device")}
    shape |= {name: getattr(args, name) for name in ("ranking", "precision") if hasattr(args, name)}
    strategy = {"name": "default"}
    settings = settings_from(args)
    return Unit(experiment=experiment, prompt="", strategy=strategy, predictor=args.model, settings=settings, **shape)


def run_round(args: argparse.Namespace, units: Sequence[Unit], work: Work) -> tuple[Report, Origin]:
    """Run, resume or reuse units where the options say; return the report, and what the results follow from."""
    from paper_figures.runner.executors import backend_of
    from paper_figures.runner.runner import run_units
    from paper_figures.runner.units import origin_of

    backend, origin = backend_of(args), origin_of(units, work)
    options: dict[str, Any] = {"batch": args.batch, "retry_failed": args.retry_failed}
    return run_units(units, work, Path(args.out), origin=origin, backend=backend, **options), origin


def write_and_tell(reports: Sequence[Report], found: Sequence[Table]) -> dict[str, Any]:
    """Write the tables of an experiment's rounds and return what `--json` prints of them."""
    from paper_figures.studies.summaries.printed import measured_tables
    from paper_figures.table import tables_text, write_tables

    folder = reports[-1].folder
    names = ("asked", "found", "computed", "failed")
    counts = {name: sum(len(getattr(report, name)) for report in reports) for name in names}
    message = tables_text(found) if found else "no unit has a result\n"
    write_tables(folder.parent, measured_tables(found))
    failed = f"{counts['failed']} of {counts['asked']} units failed: --retry-failed runs them again\n"
    return {
        "experiment": folder.parent.name,
        "folder": str(folder),
        "units": counts,
        "tables": {one.name: list(one.rows) for one in found},
        "message": f"{message}\n{failed if counts['failed'] else ''}\nresults: {folder}",
    }


def seconds_of(frame: pandas.DataFrame) -> float | None:
    """Return the seconds that the units of a table's rows took, added up; None where no row says."""
    return round(float(frame["seconds"].sum()), 3) if "seconds" in frame else None


def sources_of(origin: Origin | None) -> dict[str, Any] | None:
    """Return what results follow from as JSON-ready data: digests of code and of models' files, library versions.

    The digest `code` is that of the modules behind `work`, the module of the work.
    """
    if origin is None:
        return None
    models = {f"{model.role} {model.name}": found for model, found in origin.models.items()}
    return {"work": origin.root, "code": origin.code, "libraries": dict(origin.libraries), "models": models}


def schema_of(experiment: str) -> tuple[str, int]:
    """Return the schema and its version of an experiment's results.json."""
    return f"rws_decode.experiment.{experiment}.results", 2


def write_results(
    args: argparse.Namespace, unit: Unit, origin: Origin, body: Mapping[str, Any], **settings: Any
) -> None:
    """Write OUT/EXPERIMENT/results.json, unless it holds the same: settings, what numbers follow from, and the body."""
    from paper_figures.studies.design.options import settings_from
    from rws_decode.common.files import write_changed

    shape = {name: getattr(unit, name) for name in ("length", "steps", "block", "device")}
    known = {"model": args.model} | settings | shape | settings_from(args)
    schema, version = schema_of(unit.experiment)
    results: dict[str, Any] = {"schema": schema, "version": version}
    results |= {"settings": {name: value for name, value in known.items() if value is not None}}
    results |= {"sources": sources_of(origin), **body}
    text = json.dumps(results, indent=1, ensure_ascii=False, allow_nan=False)
    write_changed(Path(args.out) / unit.experiment / "results.json", text + "\n")
