"""`rws summarize`: the tables of experiments, with the paper's numbers beside ours."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rws_decode.cli.options import json_option, option
from rws_decode.cli.progress import each, tell

if TYPE_CHECKING:
    from pathlib import Path

    import pandas

    from paper_figures.table import Table


GROUP = "Study"


@dataclass(frozen=True)
class SummarizeOptions:
    """Which results are shown."""

    folder: str = option(
        help="the folder given to experiments as --out, or one of the folders in it", metavar="DIR", positional=True
    )
    code: str | None = option(
        None, "results of this code, by its first digits (default: of the last whole run)", metavar="DIGEST"
    )
    all: bool = option(False, "show all results, not only those of each experiment's last whole run")
    seed: int | None = option(None, "of the bootstrap and the tests (default: that of the run, or 0)", least=0)
    json: bool = json_option("print the tables as JSON on standard output")


def summarize(options: SummarizeOptions) -> None:
    """Print the tables of experiments with the paper's numbers beside ours."""

    from paper_figures.runner.results import chosen, origins, read_failures, read_unit_rows, whole_run
    from paper_figures.table_text import terminal_text

    folders = {path.resolve().parent.name: path.resolve() for path in chosen(options.folder, options.code)}
    with warnings_as_notes():
        # One experiment at a time: a table of all would give each the columns of the others.
        frames = {
            name: read_unit_rows(path.parent, path.name.removeprefix("units-"), every_run=True)
            for name, path in folders.items()
        }
    last = {} if options.all else {name: whole_run(path) for name, path in folders.items()}
    failures = read_failures(options.folder, options.code, every_run=options.all)
    if failures:
        _note(f"{len(failures)} units failed; run the experiment with --retry-failed")
    others = sum(len(paths) - 1 for paths in origins(options.folder).values())
    if others and options.code is None:
        _note(f"{others} sets of results of other code are not shown; --code shows them")
    tables: dict[str, list[Table]] = {}
    hidden = 0
    # Frames of two studies may take a while: their intervals and tests are resampled.
    for name, frame in each(frames.items(), "summarize", len(frames), "study"):
        manifest = last.get(name)
        shown = [manifest is None or unit in manifest for unit in ([] if frame.empty else frame["unit"])]
        hidden += len(shown) - sum(shown)
        if any(shown):
            seed = manifest.seed if options.seed is None and manifest is not None else options.seed or 0
            rows: Any = frame[shown].reset_index(drop=True)
            tables[name] = _tables(name, rows, seed, folders[name].parent)
    if not tables:
        raise ValueError(f"{options.folder}: no unit has a result")
    if hidden:
        _note(f"{hidden} rows of other runs are not shown; --all shows them")
    if options.json:
        rows_of = {name: {table.name: list(table.rows) for table in listed} for name, listed in tables.items()}
        print(json.dumps({"tables": rows_of, "failures": len(failures)}, allow_nan=False))
    else:
        print("\n\n".join(f"# {name}\n\n{terminal_text(listed)}".rstrip() for name, listed in tables.items()))


def _note(text: str) -> None:
    tell(f"note: {text}")


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Say on standard error what is warned of within."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        _note(str(warning.message))


def _tables(experiment: str, rows: pandas.DataFrame, seed: int, folder: Path | None) -> list[Table]:
    """Return an experiment's tables; of one that has none of its own, a summary of every numeric column."""
    from inspect import signature

    from paper_figures.statistics.means import summary_for, summary_table
    from paper_figures.studies import STUDIES, study_module

    if experiment in STUDIES:
        tables = study_module(experiment).tables
        # Of those that keep more than units, such as verdicts.
        options = {"folder": folder} if "folder" in signature(tables).parameters else {}
        return list(tables(rows, seed=seed, **options))
    table = summary_table(experiment, "Every numeric column.", rows, summary_for(rows), seed)
    return [] if table is None else [table]
