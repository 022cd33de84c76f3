"""What a worker process does: it computes one batch of units and writes the part that holds their rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from paper_figures.runner.digests import code_digest, digest
from paper_figures.runner.loaded import expect
from paper_figures.runner.parts import part_name, read_part, write_part
from paper_figures.runner.units import Model, Origin, Unit, library_versions

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Measured:
    """A unit's rows together with one trace per row, which is kept beside them; the row's `trace` is its path."""

    rows: Rows
    traces: Sequence[Any]


# A picklable function: units that can share a decode -> the rows of each, with traces or without.
Work = Callable[[Sequence[Unit]], Sequence[Rows | Measured]]


@dataclass(frozen=True)
class Each:
    """Work that takes one unit at a time, made of a picklable function unit -> rows.

    >>> unit = Unit(experiment="x", prompt="why?", strategy={"name": "default"})
    >>> Each(lambda unit: [{"letters": len(unit.prompt)}])([unit])
    [[{'letters': 4}]]
    """

    function: Callable[[Unit], Rows | Measured]

    def __call__(self, units: Sequence[Unit]) -> list[Rows | Measured]:
        """Return the function's rows for each unit."""
        return [self.function(unit) for unit in units]


class NotWritten(OSError):
    """Results could not be written: no unit's fault, and no use in going on."""


class OtherCode(ValueError):
    """A worker has other code or libraries than the process that hands out the work."""


class Identity(NamedTuple):
    root: str
    code: str
    libraries: tuple[tuple[str, str], ...]
    models: tuple[tuple[Model, str], ...]


def identity_of(origin: Origin) -> Identity:
    models = tuple((model, digest(files)) for model, files in origin.models.items())
    return Identity(origin.root, origin.code, tuple(sorted(origin.libraries.items())), models)


class Task(NamedTuple):
    folder: str
    work: Work
    units: tuple[Unit, ...]
    hashes: tuple[str, ...]
    identity: Identity | None


def compute(task: Task) -> None:
    """Compute a batch and write its part, in a process of the backend."""
    folder = Path(task.folder)
    if _written(folder, task.hashes):
        return  # a worker wrote it, and died before it could say so
    if task.identity is not None:
        _prepare(task.identity)
    results = list(task.work(task.units))
    if len(results) != len(task.units):
        raise ValueError(f"work returned {len(results)} lists of rows for {len(task.units)} units")
    measured = [result if isinstance(result, Measured) else Measured(result, ()) for result in results]
    for result in measured:
        if result.traces and len(result.traces) != len(result.rows):
            raise ValueError(f"work returned {len(result.traces)} traces for {len(result.rows)} rows of a unit")
    try:
        rows = [_with_traces(folder, name, result) for name, result in zip(task.hashes, measured, strict=True)]
        write_part(folder, task.units, task.hashes, rows)
    except OSError as error:
        raise NotWritten(error.errno, f"results cannot be written: {error.strerror or error}", str(folder)) from error


def _written(folder: Path, hashes: Sequence[str]) -> bool:
    try:
        return set(read_part(folder / part_name(hashes)).units) == set(hashes)
    except (FileNotFoundError, ValueError):
        return False


def _with_traces(folder: Path, name: str, measured: Measured) -> Rows:
    if not measured.traces:
        return measured.rows
    paths = [trace.save(folder / "traces" / f"{name}-{number}.parquet") for number, trace in enumerate(measured.traces)]
    return [
        row | {"trace": path.relative_to(folder).as_posix()} for row, path in zip(measured.rows, paths, strict=True)
    ]


@lru_cache(maxsize=1)
def _prepare(identity: Identity) -> None:
    """Raise unless this process has the code and libraries named; drop models that were loaded from other files."""
    if (code_digest(identity.root), tuple(sorted(library_versions().items()))) != identity[1:3]:
        raise OtherCode(
            f"worker process {os.getpid()} has other code or library versions than this one: install the same and "
            "restart the workers"
        )
    expect(dict(identity.models))
