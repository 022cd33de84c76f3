"""Run the stages of a study, write its files, or foretell what it takes.

Units run one stage after another, each following from the rows of those before. OUT/STUDY/results.json is what figures
and other programs read. A dry run counts the units, runs a few of each kind, and keeps nothing.
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
from types import SimpleNamespace
from typing import Any

from paper_figures.runner.executors import Backend, RunOptions, kept_open
from paper_figures.runner.parts import write_manifest
from paper_figures.runner.results import rows_of
from paper_figures.runner.runner import Report, run_units
from paper_figures.runner.units import Origin, Unit, batch_key, origin_of
from paper_figures.runner.versions import machine_name, provenance
from paper_figures.runner.worker import Measured, Work
from paper_figures.studies.answers import measured_tables
from paper_figures.studies.options import ComparisonOptions, PromptOptions, StageOptions, settings_from
from paper_figures.studies.prompts import given_as
from paper_figures.table import Table, write_tables
from paper_figures.table_text import files_line, terminal_text
from rws_decode.cli.progress import duration, tell
from rws_decode.common.files import write_changed, write_json
from rws_decode.common.later import pd
from rws_decode.steering import steering
from rws_decode.strategies.table import STRATEGIES

SCHEMA = ("rws_decode.experiment.results", 4)
# These options say where and how units run, not what is run, so no number depends on them.
_WHERE = frozenset(["out", "base_url", "yes", *(field.name for field in fields(RunOptions))])


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
def open_stages(options: RunOptions, units: Sequence[Unit], work: Work | None = None) -> Iterator[Stages]:
    """Yield stages whose results go below --out, over one backend; `work` is `work.measure` unless told.

    `units` are some that name every model that any stage uses. All are loaded before the first unit that is missing;
    NotLoaded, a ValueError, for one that cannot be. With --dry-run few units run, and `Foretold` ends the study behind
    its stages.
    """
    started = time.perf_counter()
    from paper_figures.studies.work import load_models, measure

    work = work or measure
    origin, unloaded = origin_of(units, work), [partial(load_models, units)]
    shared: dict[str, Any] = {"origin": origin, "batch": options.batch}
    if options.dry_run:
        load_models(units)
        loading = time.perf_counter() - started  # of PyTorch too
        stages = DryStages(lambda *units: stages.ask(*units), work=work, loading=loading, **shared)
        yield stages
        raise Foretold(stages.plan(units[0].experiment, options))
    with kept_open(options.backend()) as backend:
        shared["retry_failed"] = options.retry_failed

        def compute(units: Sequence[Unit], elsewhere: Backend | None) -> Report:
            before = unloaded[0] if unloaded else int
            report = run_units(units, work, options.out, backend=elsewhere or backend, before=before, **shared)
            if report.computed or report.failed:
                unloaded.clear()
            return report

        yield Stages(compute, origin=origin)


def base_unit(options: ComparisonOptions | StageOptions, experiment: str) -> Unit:
    """Return a unit without a prompt, which holds what all answers of an experiment share."""
    shape = {name: getattr(options, name) for name in ("length", "steps", "block", "device", "ranking", "precision")}
    shape |= {"predictor": options.model, "settings": settings_from(options)}
    return Unit(experiment=experiment, prompt="", strategy={"name": "default"}, **shape)


def on_device(unit: Unit, device: str) -> Unit:
    """Return a unit that runs on a device, in float32 there too."""
    if device == "cpu":
        return unit
    return replace(unit, device=device, settings={**unit.settings, "dtype": "float32"})


def settings_of(options: RunOptions) -> dict[str, Any]:
    """Return the options that results depend on, as JSON-ready data; options that were not given are left out.

    Of the ways to name prompts only the one that was used is there.

    >>> from paper_figures.studies.diversity import DiversityOptions
    >>> list(settings_of(DiversityOptions(out="runs", workers=2, judges=("exact",))))[:5]
    ['data', 'prompts', 'model', 'rewards', 'judges']
    """
    unused = {"data", "examples", "prompt"} - {given_as(options)} if isinstance(options, PromptOptions) else set()
    names = [field.name for field in fields(options) if field.name not in _WHERE | unused]
    settings = {name: value for name in names if (value := getattr(options, name)) is not None}
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

    results.json has the experiment; settings, the options; sources, the work, digests of the code behind it and of
    models, and library versions; units, the name of their folder; seconds, those of all units added up; and `results`,
    by default the rows of each table. A study without tables has no such file; one whose record ships has about.json
    in its place (`about_run`). Files that hold the same stay as they are.
    """
    folder = outcome.folder.parent
    write_manifest(outcome.folder, getattr(options, "seed", 0), outcome.asked)
    write_tables(folder, measured_tables(tables))
    rows = {table.name: list(table.rows) for table in tables}
    if about is not None:
        write_json(folder / "about.json", about)
    elif tables:
        whole = {"schema": SCHEMA[0], "version": SCHEMA[1], "experiment": name, "settings": settings_of(options)}
        whole |= {"sources": None, "units": outcome.folder.name}
        if (origin := outcome.origin) is not None:
            models = {f"{model.role} {model.name}": files for model, files in origin.models.items()}
            whole["sources"] = {"work": origin.root, "code": origin.code, "libraries": dict(origin.libraries)}
            whole["sources"]["models"] = models
        seconds = round(float(outcome.frame["seconds"].sum()), 3) if "seconds" in outcome.frame else None
        whole |= {"seconds": seconds, **(rows if results is None else results)}
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
        "tables": rows,
        "message": f"{message}\nresults: {outcome.folder}\n{files_line(folder, tables)}",
    }


_TIMING = 20.0  # seconds that a dry run times units in, about


class Foretold(Exception):
    """Ends a dry run; `plan` is what the study takes."""

    def __init__(self, plan: dict[str, Any]) -> None:
        super().__init__(plan["message"])
        self.plan = plan


@dataclass
class DryStages(Stages):
    """Stages whose units have the rows of a few that were run, so that later stages ask what they would ask.

    Of each kind one unit is timed, those that cost most first, and a whole batch of the first kind of the same models:
    what it saves is taken to be saved by the others. A stage takes half of what is left of `_TIMING`; further kinds
    have the row of the one most like them, with seconds in proportion to their forwards. Texts are made different from
    each other, so what scores them is counted at most.
    """

    work: Work = field(kw_only=True)
    batch: int = field(kw_only=True)
    loading: float = 0.0
    units: list[Unit] = field(default_factory=list)
    totals: dict[str, float] = field(default_factory=lambda: {"forwards": 0, "reward_calls": 0, "seconds": 0.0})
    kinds: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    samples: dict[str, Unit] = field(default_factory=dict)
    saved: dict[Any, float] = field(default_factory=dict)
    spent: float = 0.0

    def ask(self, units: Sequence[Unit], _: Backend | None) -> SimpleNamespace:
        """Return a row of each unit, after its kind was run if it had not been."""
        by_kind: dict[str, list[Unit]] = {}
        for unit in dict.fromkeys(units):
            by_kind.setdefault(_kind(unit), []).append(unit)
        until = (self.spent + _TIMING) / 2
        for kind, members in sorted(by_kind.items(), key=lambda item: -len(item[1]) * _calls(item[1][0])["forwards"]):
            if kind not in self.kinds:
                known = self.spent > until and any(each.models == members[0].models for each in self.samples.values())
                self.kinds[kind] = self._alike(members[0]) if known else self._sampled(kind, members)
        out = []
        for kind, members in by_kind.items():
            for unit, row in ((unit, row) for unit in members for row in self.kinds[kind][:1]):
                row = unit.columns() | row | {"unit": str(len(self.units))}
                row |= {"text": f"{row['text']} {row['unit']}"} if row.get("text") is not None else {}
                out.append(row)
                self.units.append(unit)
                for name, value in _cost(unit, row).items():
                    self.totals[name] += value
        return SimpleNamespace(read=lambda: pd.DataFrame(out))

    def _sampled(self, kind: str, members: Sequence[Unit]) -> list[dict[str, Any]]:
        """Return the rows of the first of these units, with its share of a batch's seconds, `_seconds`."""
        if not self.samples:
            self._timed(members[:1])  # what is loaded at first use is no unit's time
        rows, seconds = self._timed(members[:1])
        self.samples[kind] = members[0]
        batch = [unit for unit in members if batch_key(unit) == batch_key(members[0])][: self.batch]
        group = (members[0].models, members[0].strategy["name"] in STRATEGIES)
        if group not in self.saved and len(batch) > 1 and self.spent < _TIMING / 2:
            self.saved[group] = min(1.0, self._timed(batch)[1] / (len(batch) * seconds))
        return [{**row, "_seconds": seconds * self.saved.get(group, 1.0)} for row in rows]

    def _timed(self, units: Sequence[Unit]) -> tuple[list[dict[str, Any]], float]:
        started, results = time.perf_counter(), ()
        try:
            results = self.work(units)
        except ValueError as error:
            tell(f"note: {units[0].strategy['name']} fails: {error}")
        seconds = time.perf_counter() - started
        self.spent += seconds
        return [row for each in results for row in (each.rows if isinstance(each, Measured) else each)], seconds

    def _alike(self, unit: Unit) -> list[dict[str, Any]]:
        """Return the rows of the timed kind that is most like a unit's, with its own numbers of calls."""

        def likeness(kind: str) -> tuple[bool, ...]:
            other = self.samples[kind]
            same_rule = other.strategy["name"] == unit.strategy["name"]
            return same_rule and "rws" in unit.strategy["name"], other.models == unit.models, same_rule

        kind = max((kind for kind in self.samples if self.kinds[kind]), key=likeness)
        share = _calls(unit)["forwards"] / max(1, _calls(self.samples[kind])["forwards"])
        own = {name: calls for name, calls in _calls(unit).items() if name in self.kinds[kind][0]}
        return [row | own | {"_seconds": share * row["_seconds"]} for row in self.kinds[kind]]

    def outcome(self) -> Outcome:
        """Return the rows of all stages so far."""
        return Outcome(pd.concat([report.read() for report in self.reports.values()]), {}, Path(), ())

    def plan(self, name: str, options: RunOptions) -> dict[str, Any]:
        """Return what the study takes, and the same in words as `message`."""
        counts = {"prompts": len({unit.prompt for unit in self.units}), "units": len(self.units)}
        counts |= {each: round(self.totals[each]) for each in ("forwards", "reward_calls")}
        seconds, workers = self.loading + self.totals["seconds"] / options.workers, options.workers
        timed, kinds = len(self.samples), len(self.kinds)
        rest = f"; the other {kinds - timed}, past {_TIMING:g} seconds, are taken as the one most like them"
        message = (
            f"{name}: {counts['prompts']:,} prompts, at most {counts['units']:,} units, about "
            f"{counts['forwards']:,} forwards and {counts['reward_calls']:,} reward calls\nexpected: "
            f"{duration(seconds)} with --workers {workers}, by one unit each of {timed} of {kinds} kinds, run here in "
            f"{duration(self.spent)} and not kept{rest if timed < kinds else ''}; start and tables come on top"
        )
        return {"experiment": name, **counts, "seconds": seconds, "timed_units": timed, "message": message}


def _kind(unit: Unit) -> str:
    """Return what units that take about as long share."""
    rule = [unit.strategy["name"], unit.strategy.get("method"), unit.steps, unit.length, unit.sampling_temperature > 0]
    return json.dumps([*rule, unit.models, unit.settings], sort_keys=True)


def _calls(unit: Unit) -> dict[str, int]:
    """Return the forwards and reward calls of a unit, as its steps, or the method that steers it, have them."""
    if method := unit.settings.get("steer") or unit.strategy.get("method"):
        methods = steering(f"strategy is {method}")
        calls = methods.forwards_of(method, unit.steps), methods.reward_calls_of(method, unit.steps)
        return dict(zip(("forwards", "reward_calls"), calls, strict=True))
    strategy = STRATEGIES.get(unit.strategy["name"].partition(":")[0])
    asks = strategy is not None and "reward" in strategy.reads
    return {"forwards": 0 if strategy is None else unit.steps, "reward_calls": asks * unit.steps}


def _cost(unit: Unit, row: dict[str, Any]) -> dict[str, float]:
    """Return the forwards, reward calls and seconds of a unit: as its row says, else as `_calls` has them."""
    forwards, asks = _calls(unit).values()
    parts = [*row.get("paths", ()), *row.get("timed_seconds", ())] or [row]
    forwards = sum(part.get("forwards", part.get("steps_run", forwards)) for part in parts)
    calls = sum(part.get("reward_calls", asks) for part in parts) + len(unit.judges)
    if "paths" in row:  # a canvas of the path over s_R is scored, and so is every answer, by reward and judge
        calls = sum(part["forwards"] for part in parts if part["over"] == "reward-scale") + 2 * len(row["outputs"])
    times = unit.strategy.get("repetitions", 1)
    return {"forwards": times * forwards, "reward_calls": times * calls, "seconds": row["_seconds"]}
