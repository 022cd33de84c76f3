"""Prompts of anyone's own: a file with a prompt per row, as JSON, JSON Lines, Parquet, CSV or plain text."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from paper_figures.data.rows import ENDINGS, decoded, local_rows

PROMPT_ENDINGS = (*ENDINGS, ".csv", ".txt")


class PromptRow(NamedTuple):
    """A row: the user's turns, one unless `prompt` is a list, and the keywords asked for, None without that field."""

    turns: tuple[str, ...]
    keywords: tuple[str, ...] | None = None


def read_prompts(path: str | Path, argument: str = "file") -> list[PromptRow]:
    """Return the prompts of a file, told by its ending (see PROMPT_ENDINGS).

    A row has the field `prompt`, a text, or a list of the user's turns. It may have `keywords`, a list of texts, or one
    text with commas between them. Other fields are left alone. CSV has a header line; .txt has a prompt per line.

    ValueError, in one line that names `argument` and the file, and the row where there is one, for a file that cannot
    be read or is empty, a row without `prompt`, and a prompt that is no text.
    """
    file, where = Path(path), f"{argument} is {path}"
    if file.suffix == ".txt":
        return read_text(file, where)
    if file.suffix == ".csv":
        rows = _cells(where, decoded(where, _content(file, where)))
    elif file.name.endswith(ENDINGS) or not file.is_file():
        rows, _ = local_rows(file, argument)
    else:
        endings = ", ".join(PROMPT_ENDINGS)
        raise ValueError(f"{where}: files that end in {endings} are read; text:{path} reads a prompt per line")
    return [_row(where, number, row) for number, row in enumerate(rows, start=1)]


def read_text(path: str | Path, where: str) -> list[PromptRow]:
    """Return the prompts of a text file, one per line; ValueError as in `read_prompts`, beginning with `where`."""
    lines = [line.strip() for line in decoded(where, _content(Path(path), where)).splitlines()]
    if not any(lines):
        raise ValueError(f"{where}: it holds no prompt")
    return [PromptRow((line,)) for line in lines if line]


def _content(file: Path, where: str) -> bytes:
    if not file.is_file():
        raise ValueError(f"{where}: {'a directory' if file.is_dir() else 'no such file'}")
    return file.read_bytes()


def _cells(where: str, text: str) -> list[dict[str, Any]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows = []
    try:
        header = next(reader, [])
        for cells in reader:
            if cells and len(cells) != len(header):
                raise ValueError(f"{where}: line {reader.line_num} has {len(cells)} cells, the first has {len(header)}")
            rows += [dict(zip(header, cells, strict=True))] if cells else []
    except csv.Error as error:
        raise ValueError(f"{where}: line {reader.line_num} is not CSV ({error})") from error
    if not rows:
        raise ValueError(f"{where}: it holds no row; the first line names the columns")
    return rows


def _row(where: str, number: int, row: Mapping[str, Any]) -> PromptRow:
    if "prompt" not in row:
        raise ValueError(f"{where}: row {number} has no field prompt; it has {', '.join(row) or 'none'}")
    given = row["prompt"]
    turns = given if isinstance(given, list) else [given]
    if not turns or not all(isinstance(turn, str) and turn.strip() for turn in turns):
        raise ValueError(f"{where}: row {number}: prompt is {str(given)[:40]!r}, a text or a list of texts is needed")
    keywords = row.get("keywords")
    if isinstance(keywords, str):
        keywords = [keyword.strip() for keyword in keywords.split(",") if keyword.strip()]
    if keywords is None:
        return PromptRow(tuple(turns))
    if not isinstance(keywords, list) or not all(isinstance(keyword, str) and keyword for keyword in keywords):
        raise ValueError(f"{where}: row {number}: keywords are {str(keywords)[:40]!r}, a list of texts is needed")
    return PromptRow(tuple(turns), tuple(keywords))
