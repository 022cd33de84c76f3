"""Rows of a benchmark, and where they are from: a local file, or the datasets library where it is installed."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rws_decode.common.files import parse_json
from rws_theory.extras import required

ENDINGS = (".json", ".jsonl", ".json.gz", ".jsonl.gz", ".parquet")


@dataclass(frozen=True)
class Origin:
    """Where rows are from: a file (its name and SHA-256), or a dataset of the hub (its id and fingerprint)."""

    name: str
    sha256: str | None = None
    fingerprint: str | None = None


def local_rows(path: str | os.PathLike[str], argument: str = "file") -> tuple[list[dict[str, Any]], Origin]:
    """Return the rows of a JSON (a list of objects), JSON Lines or Parquet file, the first two gzipped too.

    The content is told by the ending (see ENDINGS). ValueError, in one line that names `argument` and the file, for a
    file that is not there, another ending, broken content, a row that is no object (with its line), or no row at all.
    """
    file, where = Path(path), f"{argument} is {path}"
    if not file.is_file():
        raise ValueError(f"{where}: {'a directory' if file.is_dir() else 'no such file'}")
    if not file.name.endswith(ENDINGS):
        raise ValueError(f"{where}: files that end in {', '.join(ENDINGS)} are read")
    data = file.read_bytes()
    origin = Origin(file.name, hashlib.sha256(data).hexdigest())
    if file.suffix == ".gz":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"{where}: not gzip, or cut short ({error})") from error
    if file.suffix == ".parquet":
        rows = _parquet(where, data)
    else:
        rows = (_lines if ".jsonl" in file.suffixes[-2:] else _list)(where, decoded(where, data))
    if not rows:
        raise ValueError(f"{where}: it holds no row")
    for number, row in enumerate(rows, start=1):
        try:
            json.dumps(row, ensure_ascii=False, default=str).encode()
        except UnicodeEncodeError as error:
            half = ascii(error.object[error.start])
            raise ValueError(f"{where}: row {number} holds {half}, half of a character, which is no text") from error
    return rows, origin


def decoded(where: str, data: bytes) -> str:
    """Return a file's content as text; ValueError, beginning with `where`, if it is not UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{where}: not UTF-8 ({error.reason} at byte {error.start})") from error


def _lines(where: str, text: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    # At \n only: a JSON string may hold the other characters that splitlines() splits at.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                row = parse_json(line)
            except ValueError as error:
                raise ValueError(f"{where}: line {number} is not JSON ({error})") from error
            if not isinstance(row, dict):
                raise ValueError(f"{where}: line {number} is no object")
            rows.append(row)
    return rows


def _list(where: str, text: str) -> list[dict[str, Any]]:
    try:
        rows = parse_json(text)
    except ValueError as error:
        raise ValueError(f"{where}: not JSON ({error}); one object a line wants the ending .jsonl") from error
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError(f"{where}: a list of objects is needed")
    return rows


def _parquet(where: str, data: bytes) -> list[dict[str, Any]]:
    import pyarrow
    import pyarrow.parquet

    try:
        return pyarrow.parquet.read_table(io.BytesIO(data)).to_pylist()
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise ValueError(f"{where}: not Parquet ({' '.join(str(error).split())})") from error


def hub_rows(dataset: str, split: str) -> tuple[list[dict[str, Any]], Origin]:
    """Return the rows of a dataset by the library datasets; no remote code runs.

    Where HF_HUB_OFFLINE or HF_DATASETS_OFFLINE asks for no network, the library reads its cache alone. ValueError, in
    one line, where the library is not installed, or cannot load the dataset.
    """
    datasets = required("datasets", f"file is missing, and {dataset} is loaded by the library datasets")
    try:
        loaded = datasets.load_dataset(dataset, split=split)
    except (OSError, ValueError, RuntimeError, LookupError) as error:
        first = " ".join(str(error).split())
        raise ValueError(f"dataset {dataset}, split {split}, cannot be loaded: {first}") from error
    return [dict(row) for row in loaded], Origin(dataset, fingerprint=getattr(loaded, "_fingerprint", None))
