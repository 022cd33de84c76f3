"""The stages of a study: units run one stage after another, each following from the rows of those before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paper_figures.runner.executors import Backend
from paper_figures.runner.units import Origin, Unit

if TYPE_CHECKING:
    import pandas

__all__ = ["Outcome", "Stages", "open_stages"]


@dataclass(frozen=True)
class Outcome:
    """The rows of all units that have a result, and how many units were asked for, found, computed and failed.

    origin: what they follow from; None if the stages were not told.
    """

    frame: pandas.DataFrame
    counts: Mapping[str, int]
    folder: Path
    origin: Origin | None = None


@dataclass
class Stages:
    """The stages of one study over one backend. compute: units -> a `runner.Report`; reports: one for each stage."""

    compute: Callable[[Sequence[Unit]], Any]
    reports: dict[str, Any] = field(default_factory=dict)
    origin: Origin | None = None

    def run(self, name: str, units: Sequence[Unit]) -> pandas.DataFrame:
        """Run a stage and return its rows; a stage with the name of an earlier one replaces it."""
        import pandas as pd

        if not units:
            return pd.DataFrame()
        self.reports[name] = self.compute(units)
        return self.reports[name].read()

    def outcome(self) -> Outcome:
        """Return the rows of all stages, each unit once."""
        import pandas as pd

        from paper_figures.runner.results import rows_of

        reports = list(self.reports.values())
        rows, _ = rows_of(reports[0].folder)  # of all stages: they share a folder
        asked = dict.fromkeys(unit for report in reports for unit in report.asked)
        names = ("computed", "failed")
        counts = {name: len({unit for report in reports for unit in getattr(report, name)}) for name in names}
        # A later stage finds what an earlier one computed: it counts as computed.
        counts = {"asked": len(asked), "found": len(asked) - sum(counts.values())} | counts
        frame = pd.DataFrame([row for unit in asked for row in rows.get(unit, ())])
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
    """Return stages whose results go below `out`; units: some that name every model that any stage uses."""
    from paper_figures.runner.runner import run_units
    from paper_figures.runner.units import origin_of
    from paper_figures.studies.work.measuring import work

    origin = origin_of(units, work)
    options: dict[str, Any] = {"origin": origin, "backend": backend, "batch": batch}
    options |= {"retry_failed": retry_failed, "progress": progress}
    return Stages(lambda asked: run_units(asked, work, out, **options), origin=origin)
