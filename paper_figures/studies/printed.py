"""Show what the paper printed, as tables beside those of our numbers."""

from __future__ import annotations

from collections.abc import Sequence

from paper_figures.table import Table
from rws_theory.printed import printed_in

PREFIX = "printed: "  # begins the name of every table that the paper printed


def printed_tables(*files: str) -> list[Table]:
    """Return tables as the paper printed them, by their names in `rws_theory.printed`.

    They are for reading, and are never mixed with ours.

    >>> [len(table.rows) for table in printed_tables("table8_temperature")]
    [8]
    """
    tables = []
    for file in files:
        printed = printed_in(file)
        base = printed.get("default", {"god": printed.get("default_god"), "seconds": printed.get("default_seconds")})
        base = {"pass_at_1": base} if isinstance(base, float) else base
        default = {name: value for name, value in base.items() if value is not None}
        name = next(iter(printed["rows"][0]))
        rows = [{name: "Default"} | default] if default else []
        columns = list(dict.fromkeys(column for row in [*printed["rows"], *rows] for column in row))
        rows = [{column: row.get(column) for column in columns} for row in [*rows, *printed["rows"]]]
        tables.append(
            Table(f"{PREFIX}{file}", rows, rows, f"As printed: {printed['where']}, {printed.get('task', '')}.")
        )
    return tables


def measured_tables(tables: Sequence[Table]) -> list[Table]:
    """Return the tables of our own results.

    Tables that the paper printed are for reading and are not written.
    """
    return [table for table in tables if not table.name.startswith(PREFIX)]
