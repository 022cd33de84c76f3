"""Run the stages of a study, and write its files.

Units run one stage after another, each following from the rows of those before. OUT/STUDY/results.json is what figures
and other programs read.
"""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from paper_figures.runner.executors import Backend, RunOptions, kept_open
from paper_figures.runner.parts import write_manifest
from paper_figures.runner.results import rows_of
from paper_figures.runner.runner import Report, run_units
from paper_figures.runner.units import Origin, Unit, origin_of
from paper_figures.runner.versions import provenance
from paper_figures.runner.worker import Work
from paper_figures.studies.design.asked import given_as
from paper_figures.studies.design.options import ComparisonOptions, PromptOptions, StageOptions, settings_from
from paper_figures.studies.summaries.printed import measured_tables
from paper_figures.studies.work.decoding import load_models
from paper_figures.studies.work.measuring import work as measure
from paper_figures.studies.work.timing import machine_name
from paper_figures.table import Table, write_tables
from paper_figures.table_text import files_line, terminal_text
from rws_decode.common.files import write_changed, write_json


@dataclass(frozen=True)
class Outcome:
    """The rows of all units that have a result, and how many units were asked for, found, computed and failed.

    `asked` are the hashes of the units; `origin` is what the rows depend on, None if the stages have none.
    """

    frame: pd.DataFrame
    counts: Mapping[str, int]
    folder: Path
    asked: tuple[str, ...]
    origin: Origin | None = None


@dataclass
class Stages:
    """The stages of one study over one backend.

    `compute` takes units, and another backend or None, and returns a `runner.Report`. `reports` holds one a stage.
    """

    compute: Callable[[Sequence[Unit], Backend | None], Any]
    reports: dict[str, Any] = field(default_factory=dict)
    origin: Origin | None = None

    def run(self, name: str, units: Sequence[Unit], elsewhere: Backend | None = None) -> pd.DataFrame:
        """Run a stage, elsewhere if told, and return its rows; it replaces an earlier stage of the same name."""
        if not units:
            return pd.DataFrame()
        self.reports[name] = self.compute(units, elsewhere)
        return self.reports[name].read()

    def outcome(self) -> Outcome:
        """Return the rows of all stages, each unit once."""
        reports = list(self.reports.values())
        rows, _ = rows_of(reports[0].folder)  # of all stages: they share a folder
        all_units = dict.fromkeys(unit for report in reports for unit in report.asked)
        names = ("computed", "failed")
        counts = {name: len({unit for report in reports for unit in getattr(report, name)}) for name in names}
        # A unit that an earlier stage computed and a later one found counts as computed.
        counts = {"asked": len(all_units), "found": len(all_units) - sum(counts.values())} | counts
        frame = pd.DataFrame([row for unit in all_units for row in rows.get(unit, ())])
        return Outcome(frame, counts, reports[0].folder, tuple(all_units), self.origin)


@contextmanager
def open_stages(options: RunOptions, units: Sequence[Unit], work: Work = measure) -> Iterator[Stages]:
    """Yield stages whose results go below --out, over one backend.

    `units` are some that name every model that any stage uses. All are loaded before the first unit that is missing;
    NotLoaded, a ValueError, for one that cannot be. With --dry-run few units run, and `dry_run.Foretold` ends the study
    behind its stages.
    """
    if options.dry_run:
        from paper_figures.studies.design.dry_run import DryStages, Foretold

        load_models(units)
        stages = DryStages(
            lambda *asked: stages.ask(*asked), origin=origin_of(units, work), work=work, batch=options.batch
        )
        yield stages
        raise Foretold(stages.plan(units[0].experiment, options))
    origin, unloaded = origin_of(units, work), [partial(load_models, units)]
    with kept_open(options.backend()) as backend:
        run_options: dict[str, Any] = {"origin": origin, "batch": options.batch, "retry_failed": options.retry_failed}

        def compute(asked: Sequence[Unit], elsewhere: Backend | None) -> Report:
            before = unloaded[0] if unloaded else int
            report = run_units(asked, work, options.out, backend=elsewhere or backend, before=before, **run_options)
            if report.computed or report.failed:
                unloaded.clear()
            return report

        yield Stages(compute, origin=origin)


def on_device(unit: Unit, device: str) -> Unit:
    """Return a unit that runs on a device, in float32 there too."""
    if device == "cpu":
        return unit
    return replace(unit, device=device, settings={**unit.settings, "dtype": "float32"})


def base_unit(options: ComparisonOptions | StageOptions, experiment: str) -> Unit:
    """Return a unit without a prompt, which holds what all answers of an experiment share."""
    shape = {name: getattr(options, name) for name in ("length", "steps", "block", "device", "ranking", "precision")}
    strategy, settings = {"name": "default"}, settings_from(options)
    return Unit(
        experiment=experiment, prompt="", strategy=strategy, predictor=options.model, settings=settings, **shape
    )


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


def finish(
    name: str,
    options: RunOptions,
    outcome: Outcome,
    tables: Sequence[Table],
    results: Mapping[str, Any] | None = None,
    *,
    about: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Write a study's tables, manifest and OUT/NAME/results.json, and return what `--json` prints.

    results.json has the experiment; settings, the options; sources, the module of the work, digests of the code behind
    it and of models, and library versions; units, the name of their folder; seconds, those of all units added up; and
    `results`. A study without tables has no such file; one whose record ships has about.json in its place
    (`about_run`). Files that hold the same stay as they are.
    """
    folder = outcome.folder.parent
    write_manifest(outcome.folder, getattr(options, "seed", 0), outcome.asked)
    if about is not None:
        write_json(folder / "about.json", about)
    write_tables(folder, measured_tables(tables))
    if tables and results is not None:
        whole = {"schema": SCHEMA[0], "version": SCHEMA[1], "experiment": name, "settings": settings_of(options)}
        whole |= {"sources": None, "units": outcome.folder.name}
        if (origin := outcome.origin) is not None:
            models = {f"{model.role} {model.name}": files for model, files in origin.models.items()}
            whole["sources"] = {"work": origin.root, "code": origin.code, "libraries": dict(origin.libraries)}
            whole["sources"]["models"] = models
        seconds = round(float(outcome.frame["seconds"].sum()), 3) if "seconds" in outcome.frame else None
        whole |= {"seconds": seconds, **results}
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
