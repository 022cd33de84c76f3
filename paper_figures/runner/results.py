"""Results on disk: Parquet parts that are whole or absent, each named by the units it holds; and one table of them all.

Layout below the folder given: `STUDY/units-ORIGIN/NAME.parquet`, one part per batch of units. ORIGIN is a digest of
code and library versions, NAME the SHA-256 of the sorted hashes of the part's units. Beside the parts are
`HASH.failed.json` for a unit that failed, `traces/HASH-K.parquet`, and `origin.json`. A part that is on disk is done,
whoever wrote it; no other list of finished units is kept.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from paper_figures.runner.units import Unit
from rws_decode.common.files import parse_json, write_bytes

if TYPE_CHECKING:
    import pandas

__all__ = ["ResultsPart", "ResultsWarning", "read_failures", "read_part", "read_parts", "read_results", "write_part"]

_KEY, _SCHEMA = b"rws_decode.units", b"rws_decode.schema"
_VERSION = b"unit-rows 1"
_FIELDS = "unit_fields"  # a digest of the unit without its models' files


class ResultsWarning(UserWarning):
    """A file among the results that cannot be used, or results that contradict each other."""


@dataclass(frozen=True)
class ResultsPart:
    """A part: its file, the hashes of its units, and their rows, with a column `unit` that holds the hash."""

    path: Path
    units: tuple[str, ...]
    table: pa.Table


def part_name(hashes: Iterable[str]) -> str:
    """Return the file name of the part that holds the units of these hashes.

    >>> part_name(["b", "a"]) == part_name(["a", "b"])
    True
    """
    return hashlib.sha256("\n".join(sorted(hashes)).encode()).hexdigest() + ".parquet"


def write_part(
    folder: Path, units: Sequence[Unit], hashes: Sequence[str], rows: Sequence[Sequence[Mapping[str, Any]]]
) -> Path:
    """Write the rows of some units as one part, atomically, and return its path.

    rows: a list per unit, possibly empty. ValueError for a row that names a column of the unit; what Arrow cannot hold
    raises its ArrowInvalid or ArrowTypeError, a file system that refuses OSError. No file is left behind then.
    """
    lines = []
    for unit, name, unit_rows in zip(units, hashes, rows, strict=True):
        columns = {"unit": name, _FIELDS: hashlib.sha256(unit.key.encode()).hexdigest()} | unit.columns()
        for row in unit_rows:
            taken = columns.keys() & row.keys()
            if taken:
                raise ValueError(f"rows of {unit.experiment} name {sorted(taken)}: these are columns of the unit")
            lines.append(columns | dict(row))
    names = dict.fromkeys(name for line in lines for name in line)
    table = pa.table(
        {name: [line.get(name) for line in lines] for name in names} or {"unit": pa.array([], pa.string())}
    )
    table = table.replace_schema_metadata({_KEY: json.dumps(sorted(hashes)), _SCHEMA: _VERSION})
    buffer = pa.BufferOutputStream()
    pq.write_table(table, buffer, compression="zstd", write_page_checksum=True)
    return write_bytes(folder / part_name(hashes), buffer.getvalue().to_pybytes())


def read_part(path: Path) -> ResultsPart:
    """Read a part; ValueError, in one line that names the file, for one that is truncated, altered or foreign.

    Parts are kept in memory: every stage of a study reads those of the stages before. A changed file is read again.
    """
    state = path.stat()
    return _read_part(path, state.st_ino, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=1024)
def _read_part(path: Path, *_state: int) -> ResultsPart:
    try:
        source = pa.BufferReader(path.read_bytes())
        # A part is small: threads and a data set's scanner would cost more than they save.
        table = pq.ParquetFile(source, page_checksum_verification=True).read(use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path}: not a whole Parquet file ({' '.join(str(error).split())[:120]})") from error
    metadata = table.schema.metadata or {}
    if metadata.get(_SCHEMA) != _VERSION or "unit" not in table.column_names:
        raise ValueError(f"{path}: a Parquet file, but not a part of unit results")
    try:
        units = tuple(parse_json(metadata[_KEY]))
        if not all(isinstance(name, str) for name in units) or (len(table) and _FIELDS not in table.column_names):
            raise ValueError("names of units, and a digest of each row's, are needed")
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: it does not say which units it holds") from error
    if part_name(units) != path.name or not set(table["unit"].to_pylist()) <= set(units):
        raise ValueError(f"{path}: its name is not that of the units in it")
    return ResultsPart(path, units, table)


def read_parts(folder: Path) -> tuple[list[ResultsPart], list[str]]:
    """Return the parts of one origin's folder, by name, and a line for each file that is none."""
    parts, lines = [], []
    for path in sorted(folder.glob("*")) if folder.is_dir() else ():
        if (
            path.name.startswith(".")
            or path.is_dir()
            or path.name == "origin.json"
            or path.name.endswith(".failed.json")
        ):
            continue
        try:
            parts.append(read_part(path))
        except FileNotFoundError:
            continue
        except ValueError as error:
            lines.append(str(error))
    return parts, lines


def origins(folder: str | Path) -> dict[str, list[Path]]:
    """Return each experiment's folders of results below `folder`, or of `folder` itself, the last written to first."""
    folder = Path(folder)
    direct = [path for path in folder.glob("units-*") if path.is_dir()]
    folders = direct or [path for path in folder.glob("*/units-*") if path.is_dir()]
    table: dict[str, list[Path]] = {}
    for path in sorted(folders, key=lambda path: (path.stat().st_mtime_ns, path.name), reverse=True):
        table.setdefault(path.parent.name, []).append(path)
    return table


def chosen(folder: str | Path, code: str | None) -> list[Path]:
    """Return one folder of results per experiment: the last written to, or that of the origin that `code` begins."""
    table = origins(folder)
    if not table:
        raise ValueError(f"{folder}: no results of experiments here")
    if code is None:
        return [paths[0] for _, paths in sorted(table.items())]
    folders = [path for _, paths in sorted(table.items()) for path in paths if path.name.startswith(f"units-{code}")]
    if len({path.name for path in folders}) != 1:
        names = sorted({path.name.removeprefix("units-") for paths in table.values() for path in paths})
        raise ValueError(f"code is {code!r}: it must begin one of {', '.join(names)}")
    return folders


def read_results(folder: str | Path, code: str | None = None) -> pandas.DataFrame:
    """Return every row of every part below a folder as one table, with the unit's fields as columns.

    folder: what `run_units` was given, or one experiment's folder in it. code: the digest of code and libraries whose
    results are wanted, or its first digits; without it, those last written, of each experiment: results of different
    code are never mixed, nor those of model files that changed: the last written are kept. Columns: `unit`, the hash;
    `code`; those of `Unit.columns`; those of the rows. Rows are ordered by experiment and hash, and so do not depend on
    how the work was divided.

    Guarantee: each unit once. Where two parts hold one unit (a worker died after it wrote, or two runs shared the
    folder), one is kept, and a ResultsWarning says so if their rows differ (columns that end in "seconds" aside). A
    file that is corrupt or foreign is left out and named by a ResultsWarning. ValueError where there are no results.
    """
    import pandas as pd

    all_rows = []
    for origin_folder in chosen(folder, code):
        rows, lines = rows_of(origin_folder)
        for line in lines:
            warnings.warn(line, ResultsWarning, stacklevel=2)
        all_rows += [row for name in sorted(rows) for row in rows[name]]
    return pd.DataFrame(all_rows)


def rows_of(folder: Path) -> tuple[dict[str, list[dict[str, Any]]], list[str]]:
    """Return the rows of each unit in one origin's folder, and a line for whatever was left out or differs."""
    parts, lines = read_parts(folder)
    parts = sorted(parts, key=lambda part: part.path.stat().st_mtime_ns, reverse=True)
    seen: dict[str, tuple[Path, list[dict[str, Any]]]] = {}
    newest: dict[str, str] = {}
    outdated = set()
    for part in parts:
        rows: dict[str, list[dict[str, Any]]] = {name: [] for name in part.units}
        for row in part.table.to_pylist():
            fields = row.pop(_FIELDS)
            if newest.setdefault(fields, row["unit"]) == row["unit"]:
                rows[row["unit"]].append({"unit": row.pop("unit"), "code": folder.name.removeprefix("units-")} | row)
            else:
                outdated.add(row["unit"])
        for name, unit_rows in rows.items():
            if name not in seen:
                seen[name] = (part.path, unit_rows)
            elif name not in outdated and list(map(_lasting, unit_rows)) != list(map(_lasting, seen[name][1])):
                lines.append(f"{part.path}: unit {name[:12]} differs from that in {seen[name][0].name}, which is kept")
    if outdated:
        lines.append(f"{folder}: {len(outdated)} units of earlier model files are left out")
    return {name: unit_rows for name, (_, unit_rows) in seen.items() if name not in outdated}, lines


def _lasting(row: Mapping[str, Any]) -> str:
    """Return what another run of the unit repeats, all that has a value and is not a duration; nan equals nan."""
    return repr(
        sorted((name, value) for name, value in row.items() if value is not None and not name.endswith("seconds"))
    )


def read_failures(folder: str | Path, code: str | None = None) -> list[dict[str, Any]]:
    """Return the records of units that failed and have no result: {"unit", "fields", "error", "crashes"}, by hash.

    error: {"type", "message", "traceback"}. Arguments as in `read_results`. ValueError for a file that is no record.
    """
    failures = []
    for origin_folder in chosen(folder, code):
        finished = {name for part in read_parts(origin_folder)[0] for name in part.units}
        for path in sorted(origin_folder.glob("*.failed.json")):
            if path.name.removesuffix(".failed.json") not in finished:
                try:
                    failures.append(_failure(parse_json(path.read_text(encoding="utf-8"))))
                except ValueError as error:
                    raise ValueError(f"{path}: not the record of a failed unit ({error}); remove it") from error
    return failures


def _failure(record: Any) -> dict[str, Any]:
    fields = record.get("fields") if isinstance(record, dict) else None
    if not isinstance(fields, dict) or not isinstance(fields.get("experiment"), str) or "unit" not in record:
        raise ValueError("its unit or fields are missing")
    return record
