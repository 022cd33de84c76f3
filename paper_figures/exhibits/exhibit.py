"""What a figure or table is made of, and how it becomes files that are whole or absent."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.figure import Figure

from paper_figures.studies.summaries.files import to_csv, to_markdown
from rws_decode.common.files import write_bytes, write_json, write_text

__all__ = [
    "GROUPS",
    "Exhibit",
    "MissingRun",
    "Passage",
    "Picture",
    "Sheet",
    "save",
    "split_column",
    "to_latex",
]


class MissingRun(ValueError):
    """An experiment's results are not there; the message says which command makes them."""


@dataclass(frozen=True)
class Picture:
    """A drawn figure: file stem, what it shows, and the same in words for those who do not see it."""

    stem: str
    figure: Figure
    caption: str
    alt: str


@dataclass(frozen=True)
class Sheet:
    """A table: `rows` with numbers as measured (CSV), `shown` with the same as text (Markdown, page).

    Both are rows of one set of columns, None for what is missing. Columns named "paper: ..." hold what the paper
    printed, columns named "here: ..." what was measured.
    """

    stem: str
    rows: Sequence[Mapping[str, Any]]
    shown: Sequence[Mapping[str, str | None]]
    caption: str


@dataclass(frozen=True)
class Passage:
    """Text to be read as it stands, such as a prompt or a dialogue: file stem, text, caption."""

    stem: str
    text: str
    caption: str


@dataclass(frozen=True)
class Exhibit:
    """Everything that one module contributes: pictures, tables, passages, conclusions, inputs (files below the runs).

    The first conclusion is the headline, which the page begins with. Tables without rows are left out.
    """

    title: str
    pictures: tuple[Picture, ...] = ()
    sheets: tuple[Sheet, ...] = ()
    passages: tuple[Passage, ...] = ()
    conclusions: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "sheets", tuple(sheet for sheet in self.sheets if sheet.rows and sheet.shown))


def save(name: str, made: Exhibit, out: Path, runs: Mapping[str, Any] | None = None) -> list[Path]:
    """Write an exhibit's files below `out` and return their paths.

    figures/STEM.png and .pdf, tables/STEM.csv, .tex and .md, texts/STEM.txt, and figures/NAME.json, from which the page
    is built, with `runs`, facts about the experiments behind it by name. Each is written beside its target and renamed.
    The same exhibit gives the same bytes: no dates and no versions in files.
    """
    written: list[Path] = []
    for picture in made.pictures:
        for suffix, content in _printed(picture.figure).items():
            written.append(write_bytes(out / "figures" / f"{picture.stem}.{suffix}", content))
    for sheet in made.sheets:
        table = f"{sheet.caption}\n\n{to_markdown(sheet.shown)}"
        written.append(write_text(out / "tables" / f"{sheet.stem}.csv", to_csv(sheet.rows)))
        written.append(write_text(out / "tables" / f"{sheet.stem}.md", table))
        written.append(write_text(out / "tables" / f"{sheet.stem}.tex", to_latex(sheet)))
    for passage in made.passages:
        written.append(write_text(out / "texts" / f"{passage.stem}.txt", f"{passage.text.rstrip()}\n"))
    written.append(write_json(out / "figures" / f"{name}.json", _record(made) | {"runs": dict(runs or {})}))
    return written


def to_latex(sheet: Sheet) -> str:
    """Return a table's text as a LaTeX tabular for booktabs, its caption as a comment above it.

    >>> print(to_latex(Sheet("s", [], [{"scale": "1", "paper: win, %": None}], "A caption.")), end="")
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

    frame = pd.DataFrame(sheet.shown, dtype=object)
    frame = frame.where(frame.notna(), "--")
    if any(": " in column for column in frame.columns):
        parted = [split_column(column) for column in frame.columns]
        frame.columns = pd.MultiIndex.from_tuples([(GROUPS.get(group, group), label) for group, label in parted])
    text = frame.to_latex(index=False, escape=True, multicolumn_format="l")
    return f"% {' '.join(sheet.caption.split())}\n{text}"


# Columns of what was printed and of what was measured stand under these headings.
GROUPS = {"paper": "printed in the paper", "here": "here"}


def split_column(column: str) -> tuple[str, str]:
    """Return a column's group, "" where it has none, and its label.

    >>> split_column("paper: perplexity"), split_column("scale")
    (('paper', 'perplexity'), ('', 'scale'))
    """
    group, found, label = column.partition(": ")
    return (group, label) if found else ("", column)


def _printed(figure: Figure) -> dict[str, bytes]:
    """Return a figure as PNG and as PDF, laid out once: `savefig` would lay it out and draw it twice for each."""
    png, pdf = io.BytesIO(), io.BytesIO()
    figure.set_dpi(matplotlib.rcParams["savefig.dpi"])
    # matplotlib stamps its version, and PDFs the time, unless told not to.
    FigureCanvasAgg(figure).print_png(png, metadata={"Software": None})
    figure.set_layout_engine("none")  # what was placed stays where it is
    FigureCanvasPdf(figure).print_pdf(pdf, metadata={"Creator": None, "Producer": None, "CreationDate": None})
    return {"png": png.getvalue(), "pdf": pdf.getvalue()}


def _record(made: Exhibit) -> dict[str, Any]:
    return {
        "title": made.title,
        "pictures": [{"stem": p.stem, "caption": p.caption, "alt": p.alt} for p in made.pictures],
        "sheets": [
            {
                "stem": sheet.stem,
                "caption": sheet.caption,
                "columns": list(sheet.shown[0]),
                "rows": [list(row.values()) for row in sheet.shown],
            }
            for sheet in made.sheets
        ],
        "passages": [{"stem": p.stem, "text": p.text, "caption": p.caption} for p in made.passages],
        "conclusions": list(made.conclusions),
        "inputs": list(made.inputs),
    }
