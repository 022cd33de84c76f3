"""Look up what the paper printed, to set it beside our numbers: one number, or a whole table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from paper_figures.table import Table
from rws_decode.rewards.registry import PUBLISHED
from rws_theory.printed import printed_in

PREFIX = "printed: "  # begins the name of every table that the paper printed


@dataclass(frozen=True)
class Printed:
    """The place where the paper printed a measure, and how its rows match ours.

    `table` is a file of `rws_theory/printed`, and `value` is its column. `match` maps a column of ours to the printed
    one that must equal it. `only` maps columns of ours to the values for which the paper printed anything. `names` maps
    our values to the printed ones where they differ, as for reward models.
    """

    table: str
    value: str
    match: Mapping[str, str] = field(default_factory=dict)
    only: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[Any, Any] = field(default_factory=dict)


def printed_value(printed: Printed | None, line: Mapping[str, Any]) -> Any:
    """Return what the paper printed for a line of ours.

    The result is None if it printed nothing, or if its numbers are not installed.

    >>> table = Printed("table8_temperature", "god", {"scale": "scale"}, {"strategy": "temperature"})
    >>> printed_value(table, {"strategy": "temperature", "scale": 2.0}), printed_value(table, {"strategy": "rws"})
    (1.56, None)
    """
    if printed is None or any(line.get(name) != value for name, value in printed.only.items()):
        return None
    for row in printed_in(printed.table)["rows"]:
        if all(
            row.get(theirs) == printed.names.get(line.get(ours), line.get(ours))
            for ours, theirs in printed.match.items()
        ):
            return row.get(printed.value)
    return None


def paper_names() -> dict[str, str]:
    """Return a map from our names of the paper's reward models to the names in its tables, for `Printed.names`.

    >>> paper_names()["skywork-v0.2"], paper_names()["openbmb/Eurus-RM-7b"]
    ('Skywork', 'Eurus')
    """
    return {name: entry.paper for entry in PUBLISHED.values() for name in (entry.name, entry.hub_id)}


def printed_tables(*files: str) -> list[Table]:
    """Return tables as the paper printed them, by their names in `rws_theory.printed`.

    They are never mixed with ours. `Summary.printed` sets a printed number beside one of ours if both are of one reward
    model. These tables are for reading where ours are of other reward models.

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
