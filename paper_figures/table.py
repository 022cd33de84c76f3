"""One table, from a study's result to the page: rows as measured, the same as text, and a renderer for each format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from rws_decode.common.files import write_changed

if TYPE_CHECKING:
    import pandas

Row = Mapping[str, Any]
Rows = Sequence[Row]

# Columns of what was printed and of what was measured stand under these headings.
GROUPS = {"paper": "printed in the paper", "here": "here"}


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

    def values(self, row: Row) -> dict[str, Any]:
        """Return heading -> a row's number as it was measured, in the column's unit, and the ends of its interval."""
        fields = {self.label: self.field or self.label}
        if self.ends is not None:
            fields |= {f"{self.label}, {end}": field for end, field in zip(("low", "high"), self.ends, strict=True)}
        numbers = {name: row.get(field) for name, field in fields.items()}
        return {n: v if v is None or self.unit == 1.0 else self.unit * v for n, v in numbers.items()}

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
        if self.ends and row[self.ends[0]] == row[self.ends[1]]:  # of a bootstrap
            return f"{number} in every prompt"
        return f"{number} [{', '.join(ends)}]" if ends else number

    def _number(self, value: float) -> str:
        # Rounding must leave no "-0".
        return f"{round(self.unit * value, 9) + 0.0:{self.form}}" if self.form else cell_text(value, "")


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
    import pandas as pd

    return pd.DataFrame(rows, dtype=object).to_csv(index=False, lineterminator="\n")


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
        split = [column.partition(": ") if ": " in column else ("", "", column) for column in frame.columns]
        frame.columns = pd.MultiIndex.from_tuples([(GROUPS.get(group, group), label) for group, _, label in split])
    text = frame.to_latex(index=False, escape=True, multicolumn_format="l")
    return f"% {' '.join(table.caption.split())}\n{text}" if table.caption else text


def write_tables(folder: Path, tables: Sequence[Table], *, latex: bool = False) -> list[Path]:
    """Write NAME.csv and NAME.md of each table, with `latex` NAME.tex too, and return their paths.

    Each file is whole or absent. A file that already holds the same is left alone.
    """
    paths = []
    for table in tables:
        paths.append(write_changed(folder / f"{table.name}.csv", to_csv(table.rows)))
        text = f"{table.caption}\n\n{to_markdown(table.shown)}".lstrip()
        paths.append(write_changed(folder / f"{table.name}.md", text))
        if latex:
            paths.append(write_changed(folder / f"{table.name}.tex", to_latex(table)))
    return paths


def cell_text(cell: Any, missing: str) -> str:
    """Return a cell as text, a float to four significant digits, None as `missing`."""
    if cell is None:
        return missing
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)
