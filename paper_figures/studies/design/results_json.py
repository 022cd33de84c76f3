"""Write the results of a whole run as one JSON file, OUT/STUDY/results.json, which figures and other programs read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pandas as pd

from paper_figures.runner.executors import RunOptions
from paper_figures.runner.units import Origin, Unit
from paper_figures.studies.design.options import ComparisonOptions, StageOptions, settings_from
from paper_figures.studies.design.prompts import Prompts
from paper_figures.studies.design.stages import Outcome
from paper_figures.studies.summaries.printed import measured_tables
from paper_figures.table import Table
from rws_decode.common.files import parse_json, write_changed

SCHEMA = ("rws_decode.experiment.results", 3)

# These options say where and how units run, not what is run, so no number depends on them.
_WHERE = frozenset(["out", "base_url", "yes", *(field.name for field in fields(RunOptions))])


def settings_of(options: RunOptions) -> dict[str, Any]:
    """Return the options that results depend on, as JSON-ready data; options that were not given are left out.

    >>> from paper_figures.studies.options import DiversityOptions
    >>> list(settings_of(DiversityOptions(out="runs", workers=2, judges=("exact",))))[:5]
    ['data', 'prompts', 'model', 'rewards', 'judges']
    """
    settings = {field.name: getattr(options, field.name) for field in fields(options) if field.name not in _WHERE}
    settings = {name: value for name, value in settings.items() if value is not None}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in settings.items()}


def write_comparison_results(
    options: ComparisonOptions, prompts: Prompts, outcome: Outcome, tables: Sequence[Table]
) -> Path:
    """Write the results of a run and return the path of the file; a file that holds the same stays as it is.

    The file has these parts:

    - experiment; settings, the options; prompts, their source and how many there are;
    - selection, guide -> reward scale, if the scales were chosen on validation prompts;
    - sources, digests of code and models, and library versions;
    - units, the name of their folder; seconds, those of all units added up;
    - tables, name -> caption, rows and `shown`, the rows as text.
    """
    folder = outcome.folder.parent
    chosen = folder / "selection.json"
    guides = parse_json(chosen.read_text(encoding="utf-8"))["guides"] if chosen.is_file() else None
    results = {
        "schema": SCHEMA[0],
        "version": SCHEMA[1],
        "experiment": folder.name,
        "settings": settings_of(options),
        "prompts": {"source": prompts.source, "test": len(prompts.test), "validation": len(prompts.validation)},
        "selection": None if guides is None else {item["guide"]: item["chosen"] for item in guides},
        "sources": sources_of(outcome.origin),
        "units": outcome.folder.name,
        "seconds": seconds_of(outcome.frame),
        "tables": {
            item.name: {"caption": item.caption, "rows": list(item.rows), "shown": list(item.shown)}
            for item in measured_tables(tables)
        },
    }
    text = json.dumps(results, indent=1, ensure_ascii=False, allow_nan=False)
    return write_changed(folder / "results.json", text + "\n")


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


def schema_of(experiment: str) -> tuple[str, int]:
    """Return the schema of an experiment's results.json, and its version."""
    return f"rws_decode.experiment.{experiment}.results", 2


def write_stage_results(
    options: StageOptions, unit: Unit, origin: Origin, body: Mapping[str, Any], **settings: Any
) -> None:
    """Write OUT/EXPERIMENT/results.json: settings, what the numbers depend on, and the body.

    A file that holds the same stays as it is.
    """
    shape = {name: getattr(unit, name) for name in ("length", "steps", "block", "device")}
    given_settings = {"model": options.model} | settings | shape | settings_from(options)
    schema, version = schema_of(unit.experiment)
    results: dict[str, Any] = {"schema": schema, "version": version}
    results |= {"settings": {name: value for name, value in given_settings.items() if value is not None}}
    results |= {"sources": sources_of(origin), **body}
    text = json.dumps(results, indent=1, ensure_ascii=False, allow_nan=False)
    write_changed(Path(options.out) / unit.experiment / "results.json", text + "\n")
