"""Tables of an experiment: rows as data, rows for reading, a caption; written beside its results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paper_figures.runner.sources import write_changed
from paper_figures.studies.summaries.files import to_csv, to_markdown
from paper_figures.studies.summaries.means import Summary, markdown_rows, summarise
from rws_theory.printed import printed_in

if TYPE_CHECKING:
    import pandas

__all__ = ["Table", "printed_tables", "summary_table", "tables_text", "write_tables"]


@dataclass(frozen=True)
class Table:
    """One table: `rows` as data for CSV and JSON, `shown` for reading, both with one set of columns; `caption`."""

    name: str
    caption: str
    rows: Sequence[Mapping[str, Any]]
    shown: Sequence[Mapping[str, Any]]


def summary_table(name: str, caption: str, frame: pandas.DataFrame, summary: Summary, seed: int = 0) -> Table | None:
    """Return the table of a summary, measures that the frame lacks left out; None where it has no row."""
    from dataclasses import replace

    if not len(frame):
        return None
    present = tuple(measure for measure in summary.measures if measure in frame)
    rows = summarise(frame, replace(summary, measures=present), seed=seed)
    return Table(name, caption, rows, markdown_rows(rows)) if rows else None


def printed_tables(*files: str) -> list[Table]:
    """Return tables as the paper printed them, by their names in `rws_theory.printed`.

    Never mixed with ours: `Summary.printed` sets a printed number beside one of ours where both are of one reward
    model; these are for reading where ours are of others.

    >>> [len(one.rows) for one in printed_tables("table8_temperature")]
    [8]
    """
    found = []
    for file in files:
        held = printed_in(file)
        base = held.get("default", {"god": held.get("default_god"), "seconds": held.get("default_seconds")})
        base = {"pass_at_1": base} if isinstance(base, float) else base
        known = {name: value for name, value in base.items() if value is not None}
        name = next(iter(held["rows"][0]))
        rows = [{name: "Default"} | known] if known else []
        columns = list(dict.fromkeys(column for row in [*held["rows"], *rows] for column in row))
        rows = [{column: row.get(column) for column in columns} for row in [*rows, *held["rows"]]]
        found.append(Table(f"printed: {file}", f"As printed: {held['where']}, {held.get('task', '')}.", rows, rows))
    return found


def tables_text(tables: Sequence[Table]) -> str:
    """Return tables as Markdown, each with its name and caption."""
    return "\n".join(f"## {one.name}\n\n{one.caption}\n\n{to_markdown(one.shown)}" for one in tables)


def write_tables(folder: Path, tables: Sequence[Table]) -> str:
    """Write NAME.csv and NAME.md for each table of ours, files that hold the same left alone, and return the text."""
    for one in tables:
        if one.name.startswith("printed: "):
            continue
        write_changed(folder / f"{one.name}.csv", to_csv(one.rows))
        write_changed(folder / f"{one.name}.md", f"{one.caption}\n\n{to_markdown(one.shown)}")
    return tables_text(tables)
