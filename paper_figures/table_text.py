"""Tables for a terminal: aligned columns that fit its width, where Markdown of the same would wrap."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from paper_figures.studies.answers import measured_tables
from paper_figures.table import Table, cell_text
from rws_theory.show import printable

WIDTH = 80
_GAP = 2  # blanks between columns
_LEAST = 20  # characters that a text is never cut below
_LINES = 100  # columns are set below each other as long as a table has not more lines
_HEADER = 9  # characters of a header that is broken into lines, if its cells are narrower

_NUMBER = re.compile(r"[+-]?[\d.]|-$")  # how the cells of a column of numbers begin

Cells = dict[str, list[str]]  # column -> its cells


def terminal_text(tables: Sequence[Table], width: int = WIDTH) -> str:
    """Return tables for reading on a terminal, each with its name and caption; no line is longer than `width`.

    What does not fit is cut, as the files of a table have it whole (`table.write_tables`).
    """
    parts = []
    for table in tables:
        caption, rows = (table.caption, table.shown) if table.brief is None else table.brief
        parts.append(f"## {table.name}\n\n{textwrap.fill(caption, width)}\n\n{fitted(rows, width)}\n")
    return "\n".join(parts)


def files_line(folder: Path, tables: Sequence[Table]) -> str:
    """Return the line that names the CSV files of a study's own tables, or that there are none."""
    names = [f"{table.name}.csv" for table in measured_tables(tables)]
    if not names:
        return f"no table was written to {folder}"
    line = f"tables: {folder / names[0]}" + "".join(f", {name}" for name in names[1:])
    return textwrap.fill(line, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def fitted(rows: Sequence[Mapping[str, Any]], width: int = WIDTH) -> str:
    """Return rows of one set of columns as aligned text of at most `width` characters a line.

    As much as is needed is done, in this order: columns of one value become a line above; headers are broken into
    lines; texts are cut short; columns are set below each other, with the first ones again, or named as left out.
    ValueError for no rows.

    >>> print(fitted([{"method": "rws", "net": 0.12345}, {"method": "margin", "net": None}]))
    method     net
    rws     0.1235
    margin       -
    """
    if not rows:
        raise ValueError("rows is empty: a table needs one")
    columns = {name: [printable(cell_text(row[name], "-")) for row in rows] for name in rows[0]}
    given = {name: cells for name, cells in columns.items() if set(cells) != {"-"}} or columns
    if _width(given) <= width:
        return _aligned(given)
    above = {name: cells[0] for name, cells in given.items() if len(cells) > 1 and len(set(cells)) == 1}
    given = {name: cells for name, cells in given.items() if name not in above}
    given = _with_broken_headers(given, width)
    given = _with_broken_headers(_cut(given, width), width)  # cells that were cut leave less width for their headers
    keys = _keys(given, width)
    blocks = _blocks(given, keys, width)
    fitting = max(1, _LINES // len(rows))
    left_out = [name.replace("\n", " ") for block in blocks[fitting:] for name in block if name not in keys]
    parts = [textwrap.fill(", ".join(f"{name} {value}" for name, value in above.items()), width)] if above else []
    parts += [_aligned(block) for block in blocks[:fitting]]
    if left_out:
        named = ", ".join(left_out)
        parts.append(textwrap.fill(f"Not shown here, but in the files of the table: {named}.", width))
    return "\n\n".join(parts)


def _width(columns: Cells) -> int:
    return sum(_column_width(name, cells) + _GAP for name, cells in columns.items()) - _GAP


def _column_width(name: str, cells: Sequence[str]) -> int:
    return max(map(len, [*name.split("\n"), *cells]))


def _with_broken_headers(columns: Cells, width: int) -> Cells:
    too_wide = _width(columns) > width
    return {_broken(name, cells) if too_wide else name: cells for name, cells in columns.items()}


def _broken(name: str, cells: Sequence[str]) -> str:
    """Return a header broken after blanks and underscores to about the width of its cells."""
    words, lines = re.findall(r"[^\s_]+_?|_", name), [""]
    most = max(_HEADER, *map(len, cells))
    for word in words:
        blank = " " if lines[-1] and not lines[-1].endswith("_") else ""
        if lines[-1] and len(lines[-1]) + len(blank) + len(word) > most:
            lines.append(word)
        else:
            lines[-1] += blank + word
    return "\n".join(lines)


def _cut(columns: Cells, width: int) -> Cells:
    """Return the columns with texts cut short, the longest first, as far as they must and may be.

    A first column that is narrower than a third of the line stays, as it says what a row is of.
    """
    texts = {name: cells for name, cells in columns.items() if _is_text(cells, width)}
    first = next(iter(columns), "")
    if first in texts and _column_width(first, texts[first]) < width / 3:
        del texts[first]
    most = max((len(cell) for cells in texts.values() for cell in cells), default=0)
    while _width(columns) > width and most > _LEAST:
        most -= 1
        columns = columns | {name: [_short(cell, most) for cell in cells] for name, cells in texts.items()}
    return columns


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: max(1, most - 3)]}..."


def _is_text(cells: Sequence[str], width: int) -> bool:
    """Return whether cells are words, or wider than half a line, rather than numbers with their intervals."""
    letters = sum(map(str.isalpha, "".join(cells)))
    return letters > sum(map(len, cells)) / 2 or max(map(len, cells)) > width // 2


def _keys(columns: Cells, width: int) -> list[str]:
    """Return the columns that name a row: as few of the first ones as tell all rows apart, if these fit."""
    names = list(columns)
    for count in range(1, len(names)):
        first = {name: columns[name] for name in names[:count]}
        if _width(first) > width / 2:
            break
        rows = list(zip(*first.values(), strict=True))
        if len(set(rows)) == len(rows):
            return list(first)
    return names[:1]


def _blocks(columns: Cells, keys: Sequence[str], width: int) -> list[Cells]:
    """Return the columns in parts that fit, each with the keys."""
    start = {name: columns[name] for name in keys}
    blocks = [dict(start)]
    for name, cells in columns.items():
        if name in start:
            continue
        if _width({**blocks[-1], name: cells}) > width and len(blocks[-1]) > len(start):
            blocks.append(dict(start))
        room = width - _width(blocks[-1]) - _GAP
        cut = [_short(cell, room) for cell in cells]
        blocks[-1][_broken(name, cut) if _column_width(name, cut) > room else name] = cut
    return blocks


def _aligned(columns: Cells) -> str:
    widths = {name: _column_width(name, cells) for name, cells in columns.items()}
    right = {name: all(map(_NUMBER.match, cells)) for name, cells in columns.items()}
    heads = zip_longest(*(reversed(name.split("\n")) for name in columns), fillvalue="")
    lines = [*reversed(list(heads)), *zip(*columns.values(), strict=True)]
    return "\n".join(
        (" " * _GAP)
        .join(
            cell.rjust(widths[name]) if right[name] else cell.ljust(widths[name])
            for name, cell in zip(columns, line, strict=True)
        )
        .rstrip()
        for line in lines
    )
