"""The runner: units in, parts of results on disk out, whatever is killed on the way.

A study needs three things: its units, one per answer; a function at the top of a module that takes the units of one
decode and returns the rows of each; and a `means.Summary` of what its table shows. `decoding.decode_units` decodes
units; models are loaded once per process.

    def measure(units):
        return [[{"text": trace.text, "god_steps": trace.god_steps}] for trace in decode_units(units)]

    def run(options):
        units = [Unit(experiment=..., prompt=..., strategy={"name": "rws", "reward_scale": s}, reward="mini") ...]
        with kept_open(options.backend()) as backend:
            report = run_units(units, measure, options.out, backend=backend, batch=options.batch)
        table = summarise(report.read(), summary())

Units that follow from other units' results, such as a fixed factor of equal mean, are a second stage. They name the
numbers that they were given: see `studies.comparison.numbers_of`.
"""

from __future__ import annotations

import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from paper_figures.runner.executors import Backend, in_process
from paper_figures.runner.parts import part_name, read_parts
from paper_figures.runner.results import rows_of
from paper_figures.runner.units import Origin, Unit, batch_key, origin_of, unit_hash
from paper_figures.runner.worker import NotLoaded, NotWritten, OtherCode, Task, Work, compute
from rws_decode.cli.progress import progress as shown_progress
from rws_decode.cli.progress import tell
from rws_decode.common.files import write_json
from rws_decode.common.later import pd

_STALE_SECONDS = 3600.0
_MOST_CRASHES = 3  # of a unit, before it is recorded as failed


class Report(NamedTuple):
    """What a run did, as hashes of units: those asked for, those that were there already, computed and failed.

    folder: of the results; failed: units without a result, that failed in this run or an earlier one.
    """

    folder: Path
    asked: tuple[str, ...]
    found: tuple[str, ...]
    computed: tuple[str, ...]
    failed: tuple[str, ...]

    def read(self) -> pd.DataFrame:
        """Return the rows of the units asked for, in that order, failed ones left out; see `results.read_unit_rows`."""
        rows, lines = rows_of(self.folder)
        for line in lines:
            tell(f"note: {line}")
        return pd.DataFrame([row for name in self.asked for row in rows.get(name, ())])


@dataclass(frozen=True)
class _Batch:
    units: tuple[Unit, ...]
    hashes: tuple[str, ...]
    crashes: int = 0

    def split(self, crashes: int) -> list[_Batch]:
        return [_Batch((unit,), (name,), crashes) for unit, name in zip(self.units, self.hashes, strict=True)]


def run_units(
    units: Sequence[Unit],
    work: Work,
    out: str | Path,
    *,
    origin: Origin | None = None,
    backend: Backend | None = None,
    batch: int = 1,
    retry_failed: bool = False,
    progress: bool = True,
    before: Callable[[], object] = int,
) -> Report:
    """Compute what is missing of the units' results below out/EXPERIMENT, and return what was done.

    units: of one experiment; equal ones count once. work: called in the backend's processes with up to `batch` units of
    one `batch_key`, it returns the rows of each. origin: if None, `origin_of(units, work)`. backend: in this
    process if None. progress: how many units are done, on standard error. before: called in one of the backend's
    processes before the first unit that is missing, such as what loads all models; its error ends the run.

    Guarantees. Whatever is killed at whatever moment, this process, a worker or the machine, parts on disk are whole,
    and the same call again computes only the units that are in none of them. The process that computed a batch writes
    it, so that nothing is lost with the process that asked; workers on other machines must see `out` under the same
    path. Batches are cut from all units, before those are left out that are done, so that an interrupted run decodes in
    the same company as an undisturbed one. Results of other code, libraries or model files are left alone, never used.

    A batch that raises is run again unit by unit; a unit that raises is recorded with its error (`read_failures`), does
    not stop the rest, and is run again only with `retry_failed`. A batch whose worker dies is run again, alone, so that
    no other is blamed, then unit by unit, and a unit is recorded after three deaths.

    ValueError for units of several experiments, an `out` that is a file, workers of other code, or a model that cannot
    be loaded (`worker.NotLoaded`); OSError where results cannot be written or the cluster is gone: what was written
    before stays, and nothing is half written.
    """
    if not units:
        raise ValueError("units is empty: at least one is needed")
    names = {unit.experiment for unit in units}
    if len(names) != 1:
        raise ValueError(f"units are of {sorted(names)}: one experiment is needed")
    if Path(out).exists() and not Path(out).is_dir():
        raise ValueError(f"out is {out}: a file; a directory is needed")
    origin = origin_of(units, work) if origin is None else origin
    backend = in_process() if backend is None else backend
    folder = (Path(out) / names.pop() / f"units-{origin.name}").resolve()
    _begin(folder, origin)

    table = {unit_hash(unit, origin): unit for unit in units}
    parts, lines = read_parts(folder)
    for line in lines:
        tell(f"left out: {line}")
    done = {name for part in parts for name in part.units} & table.keys()
    failed = {path.name.removesuffix(".failed.json") for path in folder.glob("*.failed.json")} & table.keys() - done
    skipped = done if retry_failed else done | failed
    run = _Run(folder, origin, work, backend, _batches(table, skipped, batch))
    if run.queue:
        run.loop(len(table), len(skipped), progress, next(iter(table.values())).experiment, before)
        _check_seen(folder, run.written)
    failed = (failed - run.computed) | run.failed

    def of(names: set[str]) -> tuple[str, ...]:
        return tuple(name for name in table if name in names)

    return Report(folder, tuple(table), of(done), of(run.computed), of(failed))


def _begin(folder: Path, origin: Origin) -> None:
    """Make the folder, say in it what its name stands for, and remove what killed writers left long ago."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "origin.json").is_file():
        write_json(folder / "origin.json", {"code": origin.code, "libraries": dict(origin.libraries)})
    for path in [*folder.glob(".*.part"), *folder.glob("traces/.*.part")]:
        try:
            if time.time() - path.stat().st_mtime > _STALE_SECONDS:
                path.unlink()
        except FileNotFoundError:
            continue


def _batches(table: dict[str, Unit], skipped: set[str], size: int) -> deque[_Batch]:
    groups: dict[str, list[str]] = {}
    for name, unit in table.items():
        groups.setdefault(batch_key(unit), []).append(name)
    # Units of the same models follow each other, so that a process loads each model as seldom as it can.
    ordered = sorted(groups.values(), key=lambda names: [str(model) for model in table[names[0]].models])
    cut = [names[start : start + size] for names in ordered for start in range(0, len(names), size)]
    missing = [[name for name in names if name not in skipped] for names in cut]
    return deque(_Batch(tuple(table[name] for name in names), tuple(names)) for names in missing if names)


@dataclass
class _Run:
    folder: Path
    origin: Origin
    work: Work
    backend: Backend
    queue: deque[_Batch]
    suspects: deque[_Batch] = field(default_factory=deque)
    computed: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)

    def loop(self, total: int, before: int, progress: bool, name: str, first: Callable[[], object]) -> None:
        running: dict[Future[None], _Batch] = {}
        counted = before
        with shown_progress(name, total, "unit", done=before, shown=progress) as bar, ExitStack() as stack:
            executor = stack.enter_context(self.backend.open())
            try:
                executor.submit(first).result()
            except BrokenExecutor as error:
                raise NotLoaded(f"{name}: the process that loads the models died, as it does without memory") from error
            while self.queue or self.suspects or running:
                broken = self._submit(executor, running)
                ready, _ = wait(running, return_when=FIRST_COMPLETED) if running else ((), ())
                for future in ready:
                    broken |= self._finish(future, running.pop(future))
                if broken:
                    # Every batch in flight was lost with the pool.
                    for future in [*wait(running).done]:
                        self._finish(future, running.pop(future))
                    if not self.backend.replaceable:
                        raise ValueError("executor broke: its processes are gone; run again with another to go on")
                    stack.close()
                    executor = stack.enter_context(self.backend.open())
                if self.failed:
                    bar.remark(f"{len(self.failed)} failed")
                done = before + len(self.computed) + len(self.failed)
                bar.advance(done - counted)
                counted = done

    def _submit(self, executor: Executor, running: dict[Future[None], _Batch]) -> bool:
        """Hand out work: one suspect alone, or as much as the backend takes; say whether the executor is broken."""
        while True:
            if self.suspects:
                if running:
                    return False
                source = self.suspects
            elif self.queue and len(running) < 2 * self.backend.slots and not any(map(Future.done, running)):
                source = self.queue
            else:
                return False
            batch = source.popleft()
            task = Task(str(self.folder), self.work, batch.units, batch.hashes, self.origin)
            try:
                running[executor.submit(compute, task)] = batch
            except BrokenExecutor as error:
                self._crashed(batch, error, 1)
                return True

    def _finish(self, future: Future[None], batch: _Batch) -> bool:
        """Take in what became of a batch; say whether its executor is broken."""
        if future.cancelled():
            raise ConnectionError("the cluster's scheduler is gone: start it and run again to go on")
        error = future.exception()
        if error is None:
            self.computed.update(batch.hashes)
            self.written.add(part_name(batch.hashes))
            for name in batch.hashes:
                (self.folder / f"{name}.failed.json").unlink(missing_ok=True)
        elif isinstance(error, NotLoaded | NotWritten | OtherCode | KeyboardInterrupt):
            raise error
        elif isinstance(error, BrokenExecutor):
            self._crashed(batch, error, 1)
            return True
        elif type(error).__name__ == "KilledWorker":
            # Dask has tried several workers already, but perhaps in company.
            self._crashed(batch, error, _MOST_CRASHES - 1)
        elif len(batch.units) > 1:
            self.queue.extendleft(reversed(batch.split(batch.crashes)))
        else:
            self._record(batch, error)
        return False

    def _crashed(self, batch: _Batch, error: BaseException, weight: int) -> None:
        """Try a batch again alone, then its units alone, until one is known to end the process that it runs in."""
        crashes = batch.crashes + weight
        if len(batch.units) > 1 and crashes > 1:
            self.suspects.extend(batch.split(min(crashes, _MOST_CRASHES - 1)))
        elif len(batch.units) > 1 or crashes < _MOST_CRASHES:
            self.suspects.append(_Batch(batch.units, batch.hashes, crashes))
        else:
            self._record(_Batch(batch.units, batch.hashes, crashes), error)

    def _record(self, batch: _Batch, error: BaseException) -> None:
        (unit,), (name,) = batch.units, batch.hashes
        lines = "".join(traceback.format_exception(error)).splitlines()
        shown = {"type": type(error).__name__, "message": str(error), "traceback": "\n".join(lines[-40:])}
        record = {"unit": name, "fields": unit.columns(), "error": shown, "crashes": batch.crashes}
        write_json(self.folder / f"{name}.failed.json", record)
        self.failed.add(name)


def _check_seen(folder: Path, written: set[str], patience: float = 60.0) -> None:
    """Raise unless parts that workers reported can be seen here, waiting a while for a file system that is late."""
    until = time.monotonic() + patience
    while missing := written - {path.name for path in folder.glob("*.parquet")}:
        if time.monotonic() > until:
            raise OSError(
                f"{folder}: {len(missing)} parts were written and are not seen from here: workers must share the folder"
            )
        time.sleep(1.0)
