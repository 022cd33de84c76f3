"""One table, from a study's result to the page: rows as measured, the same as text, and a renderer for each format."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from rws_decode.common.files import write_changed

if TYPE_CHECKING:
    import pandas

Row = Mapping[str, Any]
Rows = Sequence[Row]

# Columns of what was printed and of what was measured stand under these headings.
_GROUPS = {"paper": "printed in the paper", "here": "here"}
# In HTML, cells with more letters, or longer than that, are text and wrap; others are numbers and stay on one line.
_LETTERS, _LONG = 20, 44
_NUMBER = re.compile(r"[+-]?\d[\d,]*(\.\d+)?(e[+-]?\d+)?( ?%)?$")
# A table with so many columns of text is read row by row on a narrow screen, not sideways.
_TEXTS = 3


class Brief(NamedTuple):
    """What a terminal shows of a table whose text is too wide for it: a caption of its own, and shorter rows."""

    caption: str
    rows: Rows


@dataclass(frozen=True)
class Table:
    """A table: `rows` with numbers as measured (CSV, JSON), `shown` with the same for reading, and a caption.

    name: the stem of its files. Each of `rows` and `shown` has one set of columns, None for what is missing. Columns
    named "paper: ..." hold what the paper printed, columns named "here: ..." what was measured. brief: what a terminal
    shows in place of caption and `shown`.
    """

    name: str
    rows: Rows
    shown: Rows
    caption: str
    brief: Brief | None = None


@dataclass(frozen=True)
class Column:
    """A column of a table as it is read: its heading, the field of a row that it shows, and how that is written.

    field: the heading where none is given. form: a format such as "+.2f", or a function of the row. ends: the fields
    of an interval's ends, which stand in brackets. unit: numbers are multiplied by it.

    >>> Column("win, %", "win", ".0f", ("low", "high"), 100).text({"win": 0.5, "low": 0.25, "high": 0.75})
    '50 [25, 75]'
    >>> Column("same").text({"same": True}), Column("n").text({"n": None}), Column("of", form=str).text({"n": 1})
    ('yes', None, "{'n': 1}")
    """

    label: str
    field: str = ""
    form: str | Callable[[Row], str | None] = ""
    ends: tuple[str, str] | None = None
    unit: float = 1.0

    def value(self, row: Row) -> Any:
        """Return a row's number as it was measured, in the column's unit; None where it is missing."""
        value = row.get(self.field or self.label)
        return value if value is None or self.unit == 1.0 else self.unit * value

    def text(self, row: Row) -> str | None:
        """Return a row's cell as text, a truth as yes or no; None where the value is missing."""
        if not isinstance(self.form, str):
            return self.form(row)
        value = row.get(self.field or self.label)
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, bool):
            return "yes" if value else "no"
        number, *ends = (self._number(row[name]) for name in (self.field or self.label, *(self.ends or ())))
        return f"{number} [{', '.join(ends)}]" if ends else number

    def _number(self, value: float) -> str:
        return f"{self.unit * value:{self.form}}" if self.form else cell_text(value, "")


def make_table(name: str, data: pandas.DataFrame | Rows, columns: Sequence[Column], caption: str) -> Table:
    """Return the table of a frame, or of rows: its files hold all of them, and `columns` say what is read.

    >>> import pandas as pd
    >>> make_table("s", pd.DataFrame({"win": [0.5]}), [Column("win, %", "win", ".0f", unit=100)], "A caption.").shown
    [{'win, %': '50'}]
    """
    rows = data if isinstance(data, Sequence) else records(data)
    return Table(name, rows, [{column.label: column.text(row) for column in columns} for row in rows], caption)


def wide(rows: Rows, keys: Callable[[Row], Row], cell: Callable[[Row], Row], columns: Sequence[str] = ()) -> Rows:
    """Return a line for each set of `keys`, with the `cell` of each of its rows; all lines have the same columns.

    columns: the headings of cells in their order, by default that of the rows.

    >>> rows = [{"guide": "mini", "measure": name, "mean": mean} for name, mean in [("win", 1), ("loss", 2)]]
    >>> wide(rows, lambda row: {"guide": row["guide"]}, lambda row: {row["measure"]: row["mean"]})
    [{'guide': 'mini', 'win': 1, 'loss': 2}]
    """
    lines: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        start = dict(keys(row))
        lines.setdefault(tuple(start.values()), start).update(cell(row))
    every = dict.fromkeys(name for line in lines.values() for name in line)
    first = list(dict.fromkeys(name for row in rows for name in keys(row)))
    order = [*first, *columns] if columns else every
    return [{name: line.get(name) for name in order} for line in lines.values()]


def records(frame: pandas.DataFrame) -> list[dict[str, Any]]:
    """Return a frame's rows, each as column name -> value; the names are text.

    >>> import pandas as pd
    >>> records(pd.DataFrame({"a": [1, 2]}))
    [{'a': 1}, {'a': 2}]
    """
    return cast("list[dict[str, Any]]", frame.to_dict("records"))


def to_csv(rows: Rows) -> str:
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


def to_markdown(rows: Rows) -> str:
    """Return rows of one set of columns as a Markdown table, floats to four significant digits, None as a dash.

    ValueError for no rows.

    >>> print(to_markdown([{"a": 1, "b": None}, {"a": 0.12345, "b": "x"}]), end="")
    | a | b |
    |---|---|
    | 1 | - |
    | 0.1235 | x |
    """
    if not rows:
        raise ValueError("rows is empty: a table needs one")
    lines = [list(rows[0]), *([cell_text(cell, "-").replace("|", "\\|") for cell in row.values()] for row in rows)]
    text = ["| " + " | ".join(line) + " |\n" for line in lines]
    return text[0] + "|" + "---|" * len(rows[0]) + "\n" + "".join(text[1:])


def to_latex(table: Table) -> str:
    """Return a table's text as a LaTeX tabular for booktabs, its caption as a comment above it.

    >>> print(to_latex(Table("s", [], [{"scale": "1", "paper: win, %": None}], "A caption.")), end="")
    % A caption.
    \\begin{tabular}{ll}
    \\toprule
     & printed in the paper \\\\
    scale & win, \\% \\\\
    \\midrule
    1 & -- \\\\
    \\bottomrule
    \\end{tabular}
    """
    import pandas as pd

    frame = pd.DataFrame(
        [{name: cell_text(cell, "--") for name, cell in row.items()} for row in table.shown], dtype=object
    )
    if any(": " in column for column in frame.columns):
        split = [split_column(column) for column in frame.columns]
        frame.columns = pd.MultiIndex.from_tuples([(_GROUPS.get(group, group), label) for group, label in split])
    text = frame.to_latex(index=False, escape=True, multicolumn_format="l")
    return f"% {' '.join(table.caption.split())}\n{text}"


def to_html(table: Table, caption_id: str, marked: Mapping[str, Callable[[str], str]]) -> tuple[str, bool]:
    """Return a table's text as an HTML table, and whether a narrow screen shows it row by row.

    Columns of text wrap, columns of numbers are set flush right. caption_id: the id of the element that holds the
    caption. marked: column -> what makes HTML of its cells, where plain text does not do.
    """
    groups, labels = zip(*map(split_column, table.shown[0]), strict=True)
    kinds = [_kind([row[column] for row in table.shown]) for column in table.shown[0]]
    stacked = kinds.count("text") + kinds.count("long text") >= _TEXTS
    head = "".join(
        f'<th scope="col"{_classes(group, kind)}>{escape(label)}</th>'
        for label, group, kind in zip(labels, groups, kinds, strict=True)
    )
    if any(groups):
        head = f"{_spans(groups)}</tr>\n<tr>{head}"
    lines = []
    for row in table.shown:
        cells = []
        for label, group, kind, cell in zip(labels, groups, kinds, row.values(), strict=True):
            tag, scope = ("td", "") if cells else ("th", ' scope="row"')
            text = "&ndash;" if cell is None else marked.get(label, escape)(cell_text(cell, ""))
            name = f"{_GROUPS.get(group, group)}: {label}" if group else label
            cells.append(f'<{tag}{scope}{_classes(group, kind)} data-label="{escape(name)}">{text}</{tag}>')
        lines.append(f"<tr>{''.join(cells)}</tr>")
    body = "\n".join(lines)
    html = (
        f'<table aria-labelledby="{escape(caption_id)}"{_classes("rows" if stacked else "")}>\n'
        f"<thead>\n<tr>{head}</tr>\n</thead>\n<tbody>\n{body}\n</tbody>\n</table>"
    )
    return html, stacked


def split_column(column: str) -> tuple[str, str]:
    """Return a column's group, "" where it has none, and its label.

    >>> split_column("paper: perplexity"), split_column("scale")
    (('paper', 'perplexity'), ('', 'scale'))
    """
    group, colon, label = column.partition(": ")
    return (group, label) if colon else ("", column)


def write_tables(folder: Path, tables: Sequence[Table], *, latex: bool = False) -> list[Path]:
    """Write NAME.csv and NAME.md of each table, with `latex` NAME.tex too, and return their paths.

    Each file is whole or absent. A file that already holds the same is left alone.
    """
    paths = []
    for table in tables:
        paths.append(write_changed(folder / f"{table.name}.csv", to_csv(table.rows)))
        paths.append(write_changed(folder / f"{table.name}.md", f"{table.caption}\n\n{to_markdown(table.shown)}"))
        if latex:
            paths.append(write_changed(folder / f"{table.name}.tex", to_latex(table)))
    return paths


def cell_text(cell: Any, missing: str) -> str:
    """Return a cell as text, a float to four significant digits, None as `missing`."""
    if cell is None:
        return missing
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def _kind(cells: Sequence[Any]) -> str:
    """Return what a column holds: "number", "text", "long text", or "" for short entries.

    >>> _kind(["1.5", None, "-2"]), _kind(["a reward model that did not guide"]), _kind(["+0.1 [-1, +2] p 0.5"])
    ('number', 'text', '')
    """
    texts = [cell_text(cell, "") for cell in cells if cell is not None]
    if texts and all(map(_NUMBER.match, texts)):
        return "number"
    if any(len(text) > _LONG or sum(map(str.isalpha, text)) > _LETTERS for text in texts):
        return "long text" if max(map(len, texts)) > 2 * _LONG else "text"
    return ""


def _spans(groups: Sequence[str]) -> str:
    """Return the upper line of the head: each group over its columns."""
    runs = [(group, len(list(columns))) for group, columns in groupby(groups)]
    return "".join(
        f'<th colspan="{count}"{_classes(group)} scope="colgroup">{escape(_GROUPS.get(group, group))}</th>'
        if group
        else f'<td colspan="{count}"></td>'
        for group, count in runs
    )


def _classes(*names: str) -> str:
    given = " ".join(name for name in names if name)
    return f' class="{escape(given)}"' if given else ""
