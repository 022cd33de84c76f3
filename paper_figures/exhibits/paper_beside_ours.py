"""A table of printed and measured numbers: one row per name, the paper's numbers left, ours right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paper_figures.table import Column, Table

Numbers = Mapping[str, Mapping[str, Any]]


def beside(stem: str, key: str, printed: Numbers, here: Numbers, caption: str, shown: Numbers | None = None) -> Table:
    """Return a table with one row per name, the paper's names first; a name of both sides has both in one row.

    printed, here: name -> column -> number or text; shown: our numbers as text, if the plain number is not enough.
    Columns become "paper: ..." and "here: ...", and are empty if that side has no such name. Give reward models the
    paper's names (`names.guide_name`), so that they share the paper's rows.

    >>> table = beside("s", "model", {"A": {"win": 60.2}}, {"B": {"win": 0.5}}, "A caption.")
    >>> [dict(row) for row in table.shown]  # doctest: +NORMALIZE_WHITESPACE
    [{'model': 'A', 'paper: win': '60.2', 'here: win': None}, {'model': 'B', 'paper: win': None, 'here: win': '0.5'}]
    """
    sides = {"paper": printed, "here": here}
    columns = {
        side: dict.fromkeys(column for row in of_side.values() for column in row) for side, of_side in sides.items()
    }
    rows, texts = [], []
    for name in dict.fromkeys([*printed, *here]):
        row: dict[str, Any] = {key: name}
        text: dict[str, str | None] = {key: name}
        for side, of_side in sides.items():
            for column in columns[side]:
                value = of_side.get(name, {}).get(column)
                text_here = (shown or {}).get(name, {}).get(column) if side == "here" else None
                row[f"{side}: {column}"] = value
                text[f"{side}: {column}"] = number_text(value) if text_here is None else text_here
        rows.append(row)
        texts.append(text)
    return Table(stem, rows, texts, caption)


def columns_beside(
    stem: str, key: str, printed: Numbers, here: Numbers, columns: Sequence[Column], caption: str
) -> Table:
    """Return the table of `beside` where every name of `here` has a row, and `columns` say what is shown of it.

    >>> columns = [Column("win, %", "win", ".0f", ("low", "high"))]
    >>> here = {"A": {"win": 60.0, "low": 50.0, "high": 70.0}}
    >>> [dict(row) for row in columns_beside("s", "model", {"A": {"win": 60.2}}, here, columns, "A caption.").shown]
    [{'model': 'A', 'paper: win': '60.2', 'here: win, %': '60 [50, 70]'}]
    """
    numbers = {name: {column.label: column.value(row) for column in columns} for name, row in here.items()}
    texts = {name: {column.label: column.text(row) for column in columns} for name, row in here.items()}
    return beside(stem, key, printed, numbers, caption, texts)


def number_text(value: Any) -> str | None:
    """Return a number to four significant digits; text and None as they are.

    >>> number_text(0.123456), number_text("a"), number_text(None), number_text(1200)
    ('0.1235', 'a', None, '1200')
    """
    if value is None or isinstance(value, str):
        return value
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def agrees(printed: float, computed: float) -> bool:
    """Return whether `computed` rounds to `printed` at the decimals that `printed` shows; a tie may round either way.

    >>> agrees(0.486, 0.48641), agrees(1.73, 4.8121)
    (True, False)
    """
    decimals = len(f"{printed!r}".partition(".")[2])
    return abs(printed - computed) <= 0.5 * 10.0**-decimals + 1e-12
