"""Tables of an experiment: rows as data, rows for reading, a caption; written beside its results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rws_decode.experiments.sources import write_changed
from rws_decode.experiments.summaries import Summary, markdown_rows, summarise
from rws_decode.experiments.tables import to_csv, to_markdown

if TYPE_CHECKING:
    import pandas

__all__ = ["Table", "summary_table", "tables_text", "write_tables"]


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


def tables_text(tables: Sequence[Table]) -> str:
    """Return tables as Markdown, each with its name and caption."""
    return "\n".join(f"## {one.name}\n\n{one.caption}\n\n{to_markdown(one.shown)}" for one in tables)


def write_tables(folder: Path, tables: Sequence[Table]) -> str:
    """Write NAME.csv and NAME.md for each table, files that hold the same already left alone, and return the text."""
    for one in tables:
        write_changed(folder / f"{one.name}.csv", to_csv(one.rows))
        write_changed(folder / f"{one.name}.md", f"{one.caption}\n\n{to_markdown(one.shown)}")
    return tables_text(tables)
