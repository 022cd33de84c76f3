"""Run the stages of a study: units run one stage after another, each following from the rows of those before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from paper_figures.runner.executors import RunOptions, kept_open
from paper_figures.runner.results import rows_of
from paper_figures.runner.runner import run_units
from paper_figures.runner.units import Origin, Unit, origin_of
from paper_figures.runner.worker import Work
from paper_figures.studies.design.options import ComparisonOptions, StageOptions, settings_from
from paper_figures.studies.work.measuring import work as measure


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

    `compute` takes units and returns a `runner.Report`. `reports` holds one report for each stage.
    """

    compute: Callable[[Sequence[Unit]], Any]
    reports: dict[str, Any] = field(default_factory=dict)
    origin: Origin | None = None

    def run(self, name: str, units: Sequence[Unit]) -> pd.DataFrame:
        """Run a stage and return its rows; it replaces an earlier stage of the same name."""
        if not units:
            return pd.DataFrame()
        self.reports[name] = self.compute(units)
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

    `units` are some that name every model that any stage uses.
    """
    origin = origin_of(units, work)
    with kept_open(options.backend()) as backend:
        run_options: dict[str, Any] = {"origin": origin, "backend": backend, "batch": options.batch}
        run_options["retry_failed"] = options.retry_failed
        yield Stages(lambda asked: run_units(asked, work, Path(options.out), **run_options), origin=origin)


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
