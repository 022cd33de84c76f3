"""Traces as Parquet files: one flat table and one metadata key, as docs/trace-format.md describes them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rws_decode.common.files import parse_json
from rws_decode.trace.checks import changed_candidates, spelled
from rws_decode.trace.data import LAYOUT, STEP_MAP_LACKS, TOKENS_LACK, UNUSUAL, TraceData, last_commits, last_tokens

SCHEMA = "rws_decode.trace"
VERSION = 6
_READ = (5, VERSION)
_CELLS = 2**26  # steps times positions that are read at most, 512 MiB for each dense array

# Columns that differ from row to row, and those that are repeated in all rows of a step.
_OF_ROWS = {
    "step": pa.int32(),
    "position": pa.int32(),
    "committed": pa.bool_(),
    "masked_again": pa.bool_(),
    "unscaled": pa.bool_(),
    "candidate": pa.int32(),
    "value": pa.float64(),
}
_OF_STEPS = {
    name: pa.int32() if dtype == "int64" else pa.type_for_alias(dtype)
    for name, (dtype, axes) in LAYOUT.items()
    if axes == "R"
}
_COLUMNS = pa.schema(
    [
        pa.field(name, kind, nullable=kind == pa.float64() or name in STEP_MAP_LACKS)
        for name, kind in (_OF_ROWS | _OF_STEPS).items()
    ]
)

# Dictionaries where a value stands in all rows of a step, the bytes of float64 values one plane after the other: the
# smallest of the encodings that every reader knows.
_FORMAT: dict[str, Any] = {
    "compression": "zstd",
    "compression_level": 15,
    "use_dictionary": list(_OF_STEPS),
    "use_byte_stream_split": ["value"],
    "write_statistics": False,
    "store_schema": False,  # Arrow's own copy of the schema, which Parquet does not need
    "write_page_checksum": True,
}


def trace_table(trace: TraceData) -> pa.Table:
    """Return the rows of a trace, by step and position, without its metadata."""
    rows = ~np.isnan(trace.value) | trace.chosen | trace.masked_again | trace.edited | trace.unscaled
    if trace.whole_candidates:
        rows |= changed_candidates(trace.candidate, trace.masked)
    step, position = rows.nonzero()
    columns: dict[str, NDArray[Any]] = {
        "step": step,
        "position": position,
        "committed": (trace.chosen | trace.edited)[rows],
        "masked_again": (trace.masked_again | trace.edited)[rows],
        "unscaled": trace.unscaled[rows],
        "candidate": trace.candidate[rows],
        "value": trace.value[rows],
        **{name: array[step] for name in _OF_STEPS if (array := getattr(trace, name)) is not None},
    }
    arrays = []
    for field in _COLUMNS:
        values = columns.get(field.name)
        unknown = pa.nulls(len(step), field.type)
        arrays.append(unknown if values is None else pa.array(values, mask=np.isnan(values)).cast(field.type))
    return pa.table(arrays, schema=_COLUMNS)


def trace_bytes(trace: TraceData) -> bytes:
    """Return the file of a trace."""
    never = trace.tokens[trace.commit_step < 0]
    header = {
        "schema": SCHEMA,
        "version": VERSION,
        "trace": trace.metadata(),
        "prompt": None if trace.prompt is None else trace.prompt.tolist(),
        "uncommitted_token": int(never[0]) if never.size else -1,
        "whole_candidates": trace.whole_candidates,
        "spelled": spelled(trace.text, trace.pieces, trace.tokens.tolist()),
    }
    text = json.dumps(header, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    sink, table = pa.BufferOutputStream(), trace_table(trace)
    with pq.ParquetWriter(sink, table.schema, **_FORMAT) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({SCHEMA: text})
    return sink.getvalue().to_pybytes()


def read_trace(data: bytes, settings: set[str]) -> tuple[dict[str, Any], bool]:
    """Return a trace's fields from the bytes of its file, and whether its text is spelled; ValueError for other bytes.

    settings: the names of the fields that the metadata must hold, neither fewer nor more.
    """
    try:
        file = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
        header = parse_json((file.metadata.metadata or {}).get(SCHEMA.encode(), b"null"))
        # What could not be saved again, lone surrogates and numbers beyond JSON, no trace has.
        json.dumps(header, ensure_ascii=False, allow_nan=False).encode()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise ValueError(f"not a whole Parquet file: {error}") from error
    if not isinstance(header, dict) or header.get("schema") != SCHEMA:
        raise ValueError(f"not a trace: the metadata lacks {SCHEMA}")
    if (version := header.get("version")) not in _READ:
        raise ValueError(f"trace version {version!r}: this reads versions {_READ[0]} to {VERSION}")
    fields, prompt = header.get("trace"), header.get("prompt")
    of_step_map = version == VERSION and isinstance(fields, dict) and fields.get("strategy", ...) is None
    tokens = isinstance(fields, dict) and fields.get("record") == "tokens"
    lacking = STEP_MAP_LACKS if of_step_map else TOKENS_LACK if tokens else frozenset[str]()
    whole = isinstance(prompt, list) or (of_step_map and prompt is None)
    if not (isinstance(fields, dict) and whole and fields.keys() | UNUSUAL.keys() == settings):
        raise ValueError("lacks parts of a trace, or holds others")
    columns_of_file = {field.name: field.type for field in file.schema_arrow}
    if columns_of_file != _OF_ROWS | _OF_STEPS or len(columns_of_file) != len(file.schema_arrow):
        raise ValueError("the columns are not those of a trace")
    steps, length = fields["steps_run"], fields["length"]
    if type(steps) is not int or type(length) is not int or not 0 < file.metadata.num_rows <= steps * length:
        raise ValueError(f"{file.metadata.num_rows} rows do not fit steps_run {steps!r} and length {length!r}")
    if steps * length > _CELLS:
        raise ValueError(f"steps_run {steps} times length {length} is more than {_CELLS}")
    try:
        table = file.read().select(_COLUMNS.names)
        table.validate(full=True)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"not a whole Parquet file: {error}") from error
    columns = {}
    for field in _COLUMNS:
        nulls, lacked = table[field.name].null_count, field.name in lacking
        if nulls and not lacked and field.type != pa.float64():
            raise ValueError(f"{field.name} must not be null")
        if lacked and nulls < len(table):
            source = "a step map, whose strategy is null," if of_step_map else "a record of tokens"
            raise ValueError(f"{field.name} must be null: {source} does not tell it")
        columns[field.name] = None if lacked else table[field.name].to_numpy()
    uncommitted, whole = header.get("uncommitted_token"), header.get("whole_candidates")
    if type(uncommitted) is not int or type(whole) is not bool:
        raise ValueError("uncommitted_token must be a whole number and whole_candidates true or false")
    columns_of_file = _arrays(columns, steps, length, uncommitted, whole)
    given = fields | columns_of_file
    given["prompt"] = None if prompt is None else np.array(prompt, dtype=np.int64)
    return given, header.get("spelled") is True


def _arrays(columns: dict[str, Any], steps: int, length: int, uncommitted: int, whole: bool) -> dict[str, NDArray[Any]]:
    step, position = (columns[name].astype(np.int64) for name in ("step", "position"))
    cell = step * length + position
    inside = (step >= 0) & (step < steps) & (position >= 0) & (position < length)
    if not inside.all() or (np.diff(cell) <= 0).any():
        raise ValueError("rows must go by step and position, each once, within steps_run and length")
    chosen, again = np.zeros((2, steps, length), np.bool_)
    chosen[step, position], again[step, position] = columns["committed"], columns["masked_again"]
    edited = chosen & again  # the token was taken away and another set
    chosen, again = chosen & ~edited, again & ~edited
    # Whether a token stands at each position after each step; before the first none does.
    stands = (chosen.astype(np.int8) - again).cumsum(axis=0)
    if (stands > 1).any():
        raise ValueError("a position is committed twice")
    if (stands < 0).any() or (edited & (stands == 0)).any():
        raise ValueError("a position is masked again where no token stood before the step")
    if ((stands - chosen + again)[step, position] != columns["masked_again"]).any():
        raise ValueError("a row stands at a position that was committed before")
    commit_step, provisional = last_commits(chosen, again)
    if uncommitted < 0 and (commit_step < 0).any():
        raise ValueError("positions are not committed, and uncommitted_token does not say what stands there")
    first = np.flatnonzero(np.diff(step, prepend=-1))
    if not np.array_equal(step[first], np.arange(steps)):
        raise ValueError(f"every step from 0 to {steps - 1} must have rows")
    arrays: dict[str, Any] = {}
    for name in _OF_STEPS:
        if columns[name] is None:
            arrays[name] = None
            continue
        kind = columns[name].dtype
        arrays[name] = columns[name][first].astype(np.int64 if kind == np.int32 else kind)
        if not np.array_equal(columns[name], columns[name][first][step], equal_nan=kind == np.float64):
            raise ValueError(f"{name} differs among the rows of a step")
    value, candidate = np.full((steps, length), np.nan), np.full((steps, length), -1)
    unscaled = np.zeros((steps, length), np.bool_)
    unscaled[step, position] = columns["unscaled"].astype(np.bool_)
    value[step, position], candidate[step, position] = columns["value"], columns["candidate"]
    if whole:
        latest = np.maximum.accumulate(np.where(candidate >= 0, np.arange(steps)[:, None], 0), axis=0)
        candidate = np.take_along_axis(candidate, latest, axis=0)
        if (candidate < 0).any():
            raise ValueError("candidates are missing: whole_candidates says that all are kept")
    tokens = np.where(commit_step < 0, uncommitted, last_tokens(candidate, commit_step, edited))
    rows = {"value": value, "unscaled": unscaled, "provisional": provisional, "edited": edited, "candidate": candidate}
    return arrays | {"tokens": tokens, "commit_step": commit_step} | rows
