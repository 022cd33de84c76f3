"""Write the files of a whole run: its tables, and OUT/STUDY/results.json, which figures and other programs read."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import pandas as pd

from paper_figures.runner.executors import RunOptions
from paper_figures.runner.parts import write_manifest
from paper_figures.runner.units import Origin
from paper_figures.runner.versions import provenance
from paper_figures.studies.design.asked import given_as
from paper_figures.studies.design.options import PromptOptions
from paper_figures.studies.design.stages import Outcome
from paper_figures.studies.summaries.printed import measured_tables
from paper_figures.studies.work.timing import machine_name
from paper_figures.table import Table, write_tables
from paper_figures.table_text import files_line, terminal_text
from rws_decode.common.files import write_changed

SCHEMA = ("rws_decode.experiment.results", 4)

# These options say where and how units run, not what is run, so no number depends on them.
_WHERE = frozenset(["out", "base_url", "yes", *(field.name for field in fields(RunOptions))])


def settings_of(options: RunOptions) -> dict[str, Any]:
    """Return the options that results depend on, as JSON-ready data; options that were not given are left out.

    Of the ways to name prompts only the one that was used is there.

    >>> from paper_figures.studies.options import DiversityOptions
    >>> list(settings_of(DiversityOptions(out="runs", workers=2, judges=("exact",))))[:5]
    ['data', 'prompts', 'model', 'rewards', 'judges']
    """
    settings = {field.name: getattr(options, field.name) for field in fields(options) if field.name not in _WHERE}
    if isinstance(options, PromptOptions):
        unused = {"data", "examples", "prompt"} - {given_as(options)}
        settings = {name: value for name, value in settings.items() if name not in unused}
    settings = {name: value for name, value in settings.items() if value is not None}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in settings.items()}


def about_run(name: str, options: RunOptions, numbers: Sequence[str]) -> dict[str, Any]:
    """Return what the record of a run says of it: command, date, versions, processor, and these of its options."""

    def words(value: Any) -> str:
        values = value if isinstance(value, tuple) else (value,)
        return " ".join(each if isinstance(each, str) else f"{each:g}" for each in values)

    device = getattr(options, "device", "cpu")
    numbers = (*numbers, *(["device"] if device != "cpu" else []))
    given = [f"--{number.replace('_', '-')} {words(getattr(options, number))}" for number in numbers]
    return {
        "study": name,
        "command": shlex.join(f"python -m paper_figures experiment {name} --out runs {' '.join(given)}".split()),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "versions": provenance(),
        "processor": machine_name(device),
        **{number: getattr(options, number) for number in numbers},
    }


def seconds_of(frame: pd.DataFrame) -> float | None:
    """Return the seconds of the units behind a table's rows, added up; None if no row has seconds."""
    return round(float(frame["seconds"].sum()), 3) if "seconds" in frame else None


def sources_of(origin: Origin | None) -> dict[str, Any] | None:
    """Return what results depend on, as JSON-ready data: digests of code and model files, and library versions.

    `work` names the module of the work, and `code` is the digest of the modules behind it.
    """
    if origin is None:
        return None
    models = {f"{model.role} {model.name}": files for model, files in origin.models.items()}
    return {"work": origin.root, "code": origin.code, "libraries": dict(origin.libraries), "models": models}


def finish(
    name: str,
    options: RunOptions,
    outcome: Outcome,
    tables: Sequence[Table],
    results: Mapping[str, Any] | None,
    seed: int,
) -> dict[str, Any]:
    """Write a study's tables, manifest and OUT/NAME/results.json, and return what `--json` prints.

    results.json has the experiment; settings, the options; sources, digests of code and models, and library versions;
    units, the name of their folder; seconds, those of all units added up; and `results`. A study without tables, or
    with None as `results`, has no such file. Files that hold the same stay as they are.
    """
    folder = outcome.folder.parent
    write_manifest(outcome.folder, seed, outcome.asked)
    write_tables(folder, measured_tables(tables))
    if tables and results is not None:
        whole = {"schema": SCHEMA[0], "version": SCHEMA[1], "experiment": name, "settings": settings_of(options)}
        whole |= {"sources": sources_of(outcome.origin), "units": outcome.folder.name}
        whole |= {"seconds": seconds_of(outcome.frame), **results}
        text = json.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False)
        write_changed(folder / "results.json", text + "\n")
    message = terminal_text(tables) if tables else "no table: the results that one needs are not there\n"
    if outcome.counts["failed"]:
        failed = f"{outcome.counts['failed']} of {outcome.counts['asked']} units failed"
        message += f"\n{failed}: --retry-failed runs them again\n"
    return {
        "experiment": name,
        "folder": str(outcome.folder),
        "units": dict(outcome.counts),
        "tables": {table.name: list(table.rows) for table in tables},
        "message": f"{message}\nresults: {outcome.folder}\n{files_line(folder, tables)}",
    }
