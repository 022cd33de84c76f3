"""Results on disk: Parquet parts that are whole or absent, each named by the units it holds.

Layout below the folder given: `STUDY/units-ORIGIN/NAME.parquet`, one part per batch of units. ORIGIN is a digest of
code and library versions, NAME the SHA-256 of the sorted hashes of the part's units. Beside the parts are
`HASH.failed.json` for a unit that failed, `traces/HASH-K.parquet`, and `origin.json`. A part that is on disk is done,
whoever wrote it; no other list of finished units is kept.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from paper_figures.runner.units import Unit
from rws_decode.common.files import parse_json, regular_file, write_bytes, write_changed
from rws_decode.common.later import pa, pq

_KEY, _SCHEMA = b"rws_decode.units", b"rws_decode.schema"
_VERSION = b"unit-rows 1"
UNIT_FIELDS = "unit_fields"  # a digest of the unit without its models' files
# What every row has of its unit; settings and labels stand under their own names.
_COLUMNS = {UNIT_FIELDS, "scale", *(each.name for each in fields(Unit))} - {"settings", "labels"}


# Which units the last whole run, and so its tables, are about. A folder keeps the units of every run, so that none is
# computed twice. They may be of other seeds, lengths or prompts, or of reward scales chosen on prompts that are test
# prompts here: no table may mix them.
_LAST_RUN = "last_run.json"
_DIGITS = 16  # of a unit's hash: enough to tell units apart, and a quarter of the file


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
        columns = {"unit": name, UNIT_FIELDS: hashlib.sha256(unit.key.encode()).hexdigest()} | unit.columns()
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
        source = pa.BufferReader(regular_file(path).read_bytes())
        # A part is small: threads and a data set's scanner would cost more than they save.
        table = pq.ParquetFile(source, page_checksum_verification=True).read(use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path}: not a whole Parquet file ({' '.join(str(error).split())[:120]})") from error
    metadata = table.schema.metadata or {}
    if metadata.get(_SCHEMA) != _VERSION or "unit" not in table.column_names:
        raise ValueError(f"{path}: a Parquet file, but not a part of unit results")
    try:
        units = tuple(parse_json(metadata[_KEY]))
        if not all(isinstance(name, str) for name in units) or (len(table) and not {*table.column_names} >= _COLUMNS):
            raise ValueError("names of units, and the columns of each row's, are needed")
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: it does not say which units it holds") from error
    if len(table) and not all(_texts(table[name]) for name in ("history", "judges")):
        raise ValueError(f"{path}: history and judges of each row must be lists of texts")
    if part_name(units) != path.name or not set(table["unit"].to_pylist()) <= set(units):
        raise ValueError(f"{path}: its name is not that of the units in it")
    return ResultsPart(path, units, table)


def _texts(column: pa.ChunkedArray) -> bool:
    """Return whether each value is a list of texts. Where all are empty, Arrow does not know that they hold texts."""
    if not pa.types.is_list(column.type) or column.null_count:
        return False
    return pa.types.is_string(column.type.value_type) or pa.types.is_null(column.type.value_type)


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


@dataclass(frozen=True)
class Manifest:
    """What a run asked for.

    results: the name of its units' folder; seed: of its tables; units: the first digits of its units' hashes.
    """

    results: str
    seed: int
    units: frozenset[str]

    def __contains__(self, unit: str) -> bool:
        """Return whether the run asked for the unit of this hash."""
        return unit[:_DIGITS] in self.units


def write_manifest(results: Path, seed: int, units: Iterable[str]) -> Path:
    """Record that the last run below results.parent has its units in `results`, unless that is recorded already."""
    names = sorted(unit[:_DIGITS] for unit in units)
    record = {"results": results.name, "seed": seed, "units": names}
    return write_changed(results.parent / _LAST_RUN, json.dumps(record) + "\n")


def read_manifest(folder: Path) -> Manifest | None:
    """Return the last whole run of an experiment's folder, None where none is recorded; ValueError for another file.

    >>> read_manifest(Path("nowhere")) is None
    True
    """
    path = folder / _LAST_RUN
    if not path.is_file():
        return None
    try:
        record = parse_json(path.read_text(encoding="utf-8"))
        return Manifest(str(record["results"]), int(record["seed"]), frozenset(record["units"]))
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise ValueError(f"{path}: not the record of a run; remove it to see all results") from error
