"""`python -m paper_figures summarize`: the tables of the experiments in a folder, with the paper's numbers beside ours."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import pandas

    from paper_figures.runner.manifest import Manifest
    from paper_figures.table import Table

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `summarize` to a parser."""
    parser.add_argument(
        "folder", metavar="DIR", help="what the experiments were given as --out, or one of their folders"
    )
    parser.add_argument(
        "--code", metavar="DIGEST", help="results of this code (first digits); the last written if not given"
    )
    parser.add_argument("--all", action="store_true", help="all results, not those of each experiment's last whole run")
    parser.add_argument("--seed", type=int, help="of the bootstrap and the tests (that of the run, or 0)")
    parser.add_argument("--json", action="store_true", help="print the tables as JSON on standard output")


def run(args: argparse.Namespace) -> int:
    """Print a table per experiment; ValueError for a folder without results."""
    if args.seed is not None and args.seed < 0:
        raise ValueError(f"--seed is {args.seed}: at least 0 is needed")

    from paper_figures.runner.results import chosen, origins, read_failures, read_results
    from paper_figures.table import tables_text

    folders = {path.resolve().parent.name: path.resolve() for path in chosen(args.folder, args.code)}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # One by one: a table of all would give each the columns of the others.
        frames = {name: read_results(path.parent, path.name.removeprefix("units-")) for name, path in folders.items()}
    for warning in caught:
        print(f"note: {warning.message}", file=sys.stderr)
    runs = {} if args.all else {name: run for name, path in folders.items() if (run := _run_in(path)) is not None}

    def wanted(experiment: str, unit: str) -> bool:
        return experiment not in runs or unit in runs[experiment]

    failures = [
        one for one in read_failures(args.folder, args.code) if wanted(one["fields"]["experiment"], one["unit"])
    ]
    if failures:
        print(f"note: {len(failures)} units failed; run the experiment with --retry-failed", file=sys.stderr)
    others = sum(len(paths) - 1 for paths in origins(args.folder).values())
    if others and args.code is None:
        print(f"note: {others} sets of results of other code are not shown; --code shows them", file=sys.stderr)
    tables, left = {}, 0
    for name, frame in frames.items():
        shown = [wanted(name, unit) for unit in ([] if frame.empty else frame["unit"])]
        left += len(shown) - sum(shown)
        if any(shown):
            seed = args.seed if args.seed is not None else runs[name].seed if name in runs else 0
            rows = frame[shown].reset_index(drop=True)
            tables[name] = _tables(name, rows, seed, folders[name].parent)
    if not tables:
        raise ValueError(f"{args.folder}: no unit has a result")
    if left:
        print(f"note: {left} rows of other runs are not shown; --all shows them", file=sys.stderr)
    if args.json:
        held = {name: {one.name: list(one.rows) for one in found} for name, found in tables.items()}
        print(json.dumps({"tables": held, "failures": len(failures)}, allow_nan=False))
    else:
        print("\n\n".join(f"# {name}\n\n{tables_text(found)}".rstrip() for name, found in tables.items()))
    return 0


def _run_in(results: Path) -> Manifest | None:
    """Return the last whole run of an experiment if these are its results."""
    from paper_figures.runner.manifest import read_manifest

    run = read_manifest(results.parent)
    return run if run is not None and run.results == results.resolve().name else None


def _tables(experiment: str, rows: pandas.DataFrame, seed: int, folder: Path | None) -> list[Table]:
    """Return an experiment's tables; of one that has none of its own, a summary of every numeric column."""
    from importlib import import_module
    from inspect import signature

    from paper_figures.studies import STUDIES
    from paper_figures.studies.summaries.means import summary_for, summary_table

    if experiment in STUDIES:
        module = import_module(STUDIES[experiment].module)
        if hasattr(module, "tables"):
            # Of those that keep more than units, such as verdicts.
            beside = {"folder": folder} if "folder" in signature(module.tables).parameters else {}
            return list(module.tables(rows, seed=seed, **beside))
    table = summary_table(experiment, "Every numeric column.", rows, summary_for(rows), seed)
    return [] if table is None else [table]
