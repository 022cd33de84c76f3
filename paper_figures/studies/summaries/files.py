"""Tables as CSV and Markdown."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["to_csv", "to_markdown"]


def to_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows of one set of columns as CSV with a header line; None is an empty field.

    Numbers are written so that reading them gives the same floats. ValueError for no rows.

    >>> print(to_csv([{"a": 1, "b": None}, {"a": 0.1, "b": "x, y"}]), end="")
    a,b
    1,
    0.1,"x, y"
    """
    if not rows:
        raise ValueError("rows is empty: a table needs one")
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def to_markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows of one set of columns as a Markdown table, floats to four significant digits, None as a dash.

    >>> print(to_markdown([{"a": 1, "b": None}, {"a": 0.12345, "b": "x"}]), end="")
    | a | b |
    |---|---|
    | 1 | - |
    | 0.1235 | x |
    """
    if not rows:
        raise ValueError("rows is empty: a table needs one")
    lines = [list(rows[0]), *([_cell(value) for value in row.values()] for row in rows)]
    text = ["| " + " | ".join(line) + " |\n" for line in lines]
    return text[0] + "|" + "---|" * len(rows[0]) + "\n" + "".join(text[1:])


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return (f"{value:.4g}" if isinstance(value, float) else str(value)).replace("|", "\\|")
