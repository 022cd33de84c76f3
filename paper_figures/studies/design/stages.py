"""Run the stages of a study: units run one stage after another, each following from the rows of those before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from paper_figures.runner.executors import Backend
from paper_figures.runner.results import rows_of
from paper_figures.runner.runner import run_units
from paper_figures.runner.units import Origin, Unit, origin_of
from paper_figures.studies.work.measuring import work


@dataclass(frozen=True)
class Outcome:
    """The rows of all units that have a result, and how many units were asked for, found, computed and failed.

    `origin` is what the rows depend on; None if the stages have none.
    """

    frame: pd.DataFrame
    counts: Mapping[str, int]
    folder: Path
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
        return Outcome(frame, counts, reports[0].folder, self.origin)


def open_stages(
    out: Path,
    units: Sequence[Unit],
    *,
    backend: Backend | None = None,
    batch: int = 24,
    retry_failed: bool = False,
    progress: bool = True,
) -> Stages:
    """Return stages whose results go below `out`.

    `units` are some that name every model that any stage uses.
    """
    origin = origin_of(units, work)
    options: dict[str, Any] = {"origin": origin, "backend": backend, "batch": batch}
    options |= {"retry_failed": retry_failed, "progress": progress}
    return Stages(lambda stage_units: run_units(stage_units, work, out, **options), origin=origin)
