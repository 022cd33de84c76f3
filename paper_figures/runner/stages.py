"""Rounds of units of one experiment: each may follow from the rows of those before; at the end the rows of all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paper_figures.runner.executors import Backend
from paper_figures.runner.units import Origin, Unit

if TYPE_CHECKING:
    import pandas

__all__ = ["Outcome", "Runner", "runner_on"]


@dataclass(frozen=True)
class Outcome:
    """The rows of all units that have a result, and how many units were asked for, found, computed and failed.

    origin: what they follow from; None where the runner was not told.
    """

    frame: pandas.DataFrame
    counts: Mapping[str, int]
    folder: Path
    origin: Origin | None = None


@dataclass
class Runner:
    """Rounds of units of one experiment run one after another over one backend; `outcome()` has the rows of all."""

    run: Callable[[Sequence[Unit]], Any]
    reports: dict[str, Any] = field(default_factory=dict)
    origin: Origin | None = None

    def __call__(self, name: str, units: Sequence[Unit]) -> pandas.DataFrame:
        """Run a round and return its rows; a round of a name that ran before takes its place."""
        import pandas as pd

        if not units:
            return pd.DataFrame()
        self.reports[name] = self.run(units)
        return self.reports[name].read()

    def outcome(self) -> Outcome:
        """Return the rows of all rounds, each unit once."""
        import pandas as pd

        from paper_figures.runner.results import rows_of

        reports = list(self.reports.values())
        rows, _ = rows_of(reports[0].folder)  # of all rounds: one experiment and origin
        asked = dict.fromkeys(unit for report in reports for unit in report.asked)
        names = ("computed", "failed")
        counts = {name: len({unit for report in reports for unit in getattr(report, name)}) for name in names}
        # A unit that an earlier round computed is found by a later one: it was computed here.
        counts = {"asked": len(asked), "found": len(asked) - sum(counts.values())} | counts
        whole = pd.DataFrame([row for unit in asked for row in rows.get(unit, ())])
        return Outcome(whole, counts, reports[0].folder, self.origin)


def runner_on(
    out: Path,
    units: Sequence[Unit],
    *,
    backend: Backend | None = None,
    batch: int = 24,
    retry_failed: bool = False,
    progress: bool = True,
) -> Runner:
    """Return a runner for rounds of units below `out`; units: some that name every model that any round uses."""
    from paper_figures.runner.runner import run_units
    from paper_figures.runner.units import origin_of
    from paper_figures.studies.work.measuring import work

    origin = origin_of(units, work)
    options: dict[str, Any] = {"origin": origin, "backend": backend, "batch": batch}
    options |= {"retry_failed": retry_failed, "progress": progress}
    return Runner(lambda wanted: run_units(wanted, work, out, **options), origin=origin)
