"""Foretell what a study takes: its units are counted, and a few of each kind are run, timed and thrown away."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd

from paper_figures.runner.executors import Backend, RunOptions
from paper_figures.runner.units import Unit, batch_key
from paper_figures.runner.worker import Measured, Work
from paper_figures.studies.design.stages import Outcome, Stages
from rws_decode.cli.progress import duration, tell
from rws_decode.strategies.table import STRATEGIES

_SAMPLE = 8  # units of a kind that are run, at most, and at most one in so many


class Foretold(Exception):
    """Ends a dry run; `plan` is what the study takes."""

    def __init__(self, plan: dict[str, Any]) -> None:
        super().__init__(plan["message"])
        self.plan = plan


@dataclass
class DryStages(Stages):
    """Stages whose units have the rows of a few that were run, so that later stages ask what they would ask.

    Texts are made different from each other, so what scores them is counted at most.
    """

    work: Work = field(kw_only=True)
    batch: int = field(kw_only=True)
    units: list[Unit] = field(default_factory=list)
    totals: dict[str, float] = field(default_factory=lambda: {"forwards": 0, "reward_calls": 0, "seconds": 0.0})
    kinds: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    timed: int = 0

    def ask(self, units: Sequence[Unit], _: Backend | None) -> SimpleNamespace:
        """Return a row of each unit, after its kind was run if it had not been."""
        by_kind: dict[str, list[Unit]] = {}
        for unit in dict.fromkeys(units):
            by_kind.setdefault(_kind(unit), []).append(unit)
        out = []
        for kind, members in by_kind.items():
            known = self.kinds[kind] if kind in self.kinds else self.kinds.setdefault(kind, self._sampled(members))
            for unit in members if known else ():
                row = unit.columns() | known[len(self.units) % len(known)] | {"unit": str(len(self.units))}
                row |= {"text": f"{row['text']} {row['unit']}"} if row.get("text") is not None else {}
                out.append(row)
                self.units.append(unit)
                for name, value in _cost(unit, row).items():
                    self.totals[name] += value
        return SimpleNamespace(read=lambda: pd.DataFrame(out))

    def _sampled(self, members: Sequence[Unit]) -> list[dict[str, Any]]:
        """Return the rows of the first of these units, each with its share of the seconds, `_seconds`."""
        count = max(1, min(self.batch, _SAMPLE, len(members) // _SAMPLE))
        sample = [unit for unit in members if batch_key(unit) == batch_key(members[0])][:count]
        seconds, results = 0.0, ()
        for _ in range(1 if self.kinds else 2):  # what is loaded at first use is no unit's time
            started = time.perf_counter()
            try:
                results = self.work(sample)
            except ValueError as error:
                tell(f"note: {members[0].strategy['name']}, {len(members)} units, fails: {error}")
            seconds = (time.perf_counter() - started) / len(sample)
        self.timed += len(sample)
        rows = [row for each in results for row in (each.rows if isinstance(each, Measured) else each)]
        return [{**row, "_seconds": seconds} for row in rows]

    def outcome(self) -> Outcome:
        """Return the rows of all stages so far."""
        return Outcome(pd.concat([report.read() for report in self.reports.values()]), {}, Path(), ())

    def plan(self, name: str, options: RunOptions) -> dict[str, Any]:
        """Return what the study takes, and the same in words as `message`."""
        prompts = len({unit.prompt for unit in self.units})
        counts = {"prompts": prompts, "units": len(self.units)}
        counts |= {each: round(self.totals[each]) for each in ("forwards", "reward_calls")}
        seconds, workers = self.totals["seconds"] / options.workers, options.workers
        message = (
            f"{name}: {prompts:,} prompts, at most {len(self.units):,} units, about {counts['forwards']:,} forwards "
            f"and {counts['reward_calls']:,} reward calls\nexpected: {duration(seconds)} with --workers {workers}, by "
            f"{self.timed} units of {len(self.kinds)} kinds that were run here and are not kept"
        )
        return {"experiment": name, **counts, "seconds": seconds, "timed_units": self.timed, "message": message}


def _kind(unit: Unit) -> str:
    """Return what units that take about as long share."""
    rule = [unit.strategy["name"], unit.strategy.get("method"), unit.steps, unit.length, unit.sampling_temperature > 0]
    return json.dumps([*rule, unit.models, unit.settings], sort_keys=True)


def _cost(unit: Unit, row: dict[str, Any]) -> dict[str, float]:
    """Return the forwards, reward calls and seconds of a unit: as its row says, else those that its steps have."""
    strategy = STRATEGIES.get(unit.strategy["name"].partition(":")[0])
    steps = 0 if strategy is None else unit.steps
    asks = steps if strategy is not None and "reward" in strategy.reads else 0
    parts = [*row.get("paths", ()), *row.get("timed_seconds", ())] or [row]
    forwards = sum(part.get("forwards", part.get("steps_run", steps)) for part in parts)
    calls = sum(part.get("reward_calls", asks) for part in parts) + len(unit.judges)
    if "paths" in row:  # a canvas of the path over s_R is scored, and so is every answer, by reward and judge
        calls = sum(part["forwards"] for part in parts if part["over"] == "reward-scale") + 2 * len(row["outputs"])
    times = unit.strategy.get("repetitions", 1)
    return {"forwards": times * forwards, "reward_calls": times * calls, "seconds": row["_seconds"]}
