"""What a worker process does: it computes one batch of units, with models that it holds, and writes their rows."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from paper_figures.runner.digests import code_digest
from paper_figures.runner.parts import part_name, read_part, write_part
from paper_figures.runner.units import Model, Origin, Unit, library_versions
from rws_theory.show import Note

# Threads of one worker must not load a model twice.
_LOADING = threading.Lock()
# What the files of the models in the caches below were: a worker outlives many runs.
_FILES: dict[Model, Any] = {}
# What this process holds: role -> name and options -> model.
_LOADED: dict[str, dict[tuple[Any, ...], Any]] = {}

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Measured:
    """A unit's rows together with one trace per row, which is kept beside them; the row's `trace` is its path."""

    rows: Rows
    traces: Sequence[Any]


# A picklable function: units that can share a decode -> the rows of each, with traces or without.
Work = Callable[[Sequence[Unit]], Sequence[Rows | Measured]]


class NotWritten(OSError):
    """Results could not be written: no unit's fault, and no use in going on."""


class OtherCode(ValueError):
    """A worker has other code or libraries than the process that hands out the work."""


class NotLoaded(ValueError):
    """A model cannot be loaded: no unit that needs it can be computed."""


class Task(NamedTuple):
    folder: str
    work: Work
    units: tuple[Unit, ...]
    hashes: tuple[str, ...]
    origin: Origin


def compute(task: Task) -> None:
    """Compute a batch and write its part, in a process of the backend."""
    folder = Path(task.folder)
    if _written(folder, task.hashes):
        return  # a worker wrote it, and died before it could say so
    if task.origin.checked:
        _prepare(task.origin)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Note)  # told of all prompts before the first unit
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


def _prepare(origin: Origin) -> None:
    """Raise unless this process has the origin's code and libraries; drop models that were loaded from other files."""
    if (code_digest(origin.root), library_versions()) != (origin.code, origin.libraries):
        raise OtherCode(
            f"worker process {os.getpid()} has other code or library versions than this one: install the same and "
            "restart the workers"
        )
    with _LOADING:
        if any(_FILES.get(model, files) != files for model, files in origin.models.items()):
            _LOADED.clear()
        _FILES.update(origin.models)


def forget(*roles: str) -> None:
    """Drop the models of these roles (predictor, reward, causal) that this process holds, so that memory is free."""
    with _LOADING:
        for role in roles:
            _LOADED.pop(role, None)


def kept(role: str, key: tuple[Any, ...], load: Callable[[], Any], most: int = 1) -> Any:
    """Return a role's model of this key, loaded if this process does not hold it; `most` of a role are kept.

    The last used ones stay. Threads of one process load a model once. NotLoaded where `load` fails.
    """
    with _LOADING:
        loaded = _LOADED.setdefault(role, {})
        if key not in loaded:
            # Before the next is loaded: memory may not hold both.
            while len(loaded) >= most:
                del loaded[next(iter(loaded))]
            try:
                loaded[key] = load()
            except Exception as error:
                reason = " ".join(str(error).split()) or type(error).__name__
                named = key[0].rpartition("/")[2] in reason
                raise NotLoaded(reason if named else f"{role} {key[0]} cannot be loaded: {reason}") from error
        loaded[key] = loaded.pop(key)  # the last used stands last
        return loaded[key]
