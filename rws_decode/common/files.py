"""Files that are either whole or absent: write beside the target, flush to disk, rename."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text; ValueError for one that is none, or is nested deeper than Python reads."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


def regular_file(path: Path, where: str = "") -> Path:
    """Return the path; ValueError, beginning with `where`, for a pipe or device, whose reading may never end."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise ValueError(f"{where}{path} is no regular file")
    return path


def read_json(path: Path) -> Any:
    """Return the value of a file of JSON; OSError, or ValueError as of `regular_file` and `parse_json`."""
    return parse_json(regular_file(path).read_text(encoding="utf-8"))


def json_lines(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield each line of a file that is not blank as where it stands, "FILE, line 3", and its value of JSON.

    ValueError, naming file and line, for what is no JSON, and for a file that is no text.
    """
    try:
        lines = regular_file(path).read_text(encoding="utf-8").split("\n")  # a JSON string may hold other ends of lines
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no text: {error.reason}") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            yield where, parse_json(line)
        except ValueError as error:
            raise ValueError(f"{where}: not JSON ({error})") from error


def check_trace_file(path: str | os.PathLike[str]) -> None:
    """Raise FileNotFoundError where there is no file of a trace."""
    if not os.path.isfile(path):
        within = Path(path) / "trace.parquet"
        raise FileNotFoundError(
            f"no trace at {path!s:.200}" + (f": is {within} meant?" if os.path.isfile(within) else "")
        )


def write_bytes(path: str | os.PathLike[str], data: bytes) -> Path:
    """Write `data` to `path` atomically and return the path.

    Readers see the old file or the new one, never a part: POSIX rename(2) replaces the target in one step, and
    the data reaches the disk before the name does. Missing parent directories are made. Raises OSError, which names
    the target, where the file system refuses, and no temporary file is left behind then; ValueError where a pipe or
    device stands there.
    """
    target = regular_file(Path(path))
    place = Path(os.path.realpath(target))  # what a link leads to, and not the link
    place.parent.mkdir(parents=True, exist_ok=True)
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.", suffix=".part")
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        # mkstemp makes files that only their owner can read; results are meant to be shared.
        os.chmod(temporary, 0o644)
        os.replace(temporary, place)
    except BaseException as error:
        if temporary is not None:
            os.unlink(temporary)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(target)) from error
        raise
    return target


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write `text` to `path` atomically as UTF-8, line ends as given, and return the path.

    Raises OSError as `write_bytes` does and UnicodeEncodeError for a lone surrogate.
    """
    return write_bytes(path, text.encode("utf-8"))


def write_changed(path: str | os.PathLike[str], text: str) -> Path:
    """Write a text file as `write_text` does, unless it holds that text already, and return the path."""
    target = Path(path)
    if not target.is_file() or target.read_bytes() != text.encode("utf-8"):
        write_text(target, text)
    return target


def write_json(path: str | os.PathLike[str], value: Any, *, indent: int | None = 2) -> Path:
    """Write `value` to `path` atomically as JSON (keys in their given order, newline at the end); return the path.

    NaN and infinities are not JSON and raise ValueError; a value that JSON cannot hold raises TypeError. In both
    cases no file is touched.
    """
    return write_text(path, json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False) + "\n")
