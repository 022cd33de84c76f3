"""The parts of an exhibit, and how they become files, each whole or absent."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.figure import Figure

from paper_figures.table import Table, write_tables
from rws_decode.checkpoints.files import shipped
from rws_decode.common.files import write_bytes, write_json, write_text
from rws_decode.common.page import Page
from rws_decode.predictors import MaskPredictor, load_predictor


class MissingRun(ValueError):
    """An experiment's results are not there; the message says which command makes them."""


@dataclass(frozen=True)
class Picture:
    """A drawn figure: file stem, caption, and a description for readers who do not see it."""

    stem: str
    figure: Figure
    caption: str
    alt: str


@dataclass(frozen=True)
class Interactive:
    """A page to drag or scrub: file stem, the page, and what it is of, in some words."""

    stem: str
    page: Page
    title: str


def interactive(stem: str, title: str, model: str, page: Callable[[MaskPredictor], Page]) -> Interactive | None:
    """Return a page to drag, of a shipped mask predictor; None for another, which may take minutes or a GPU to load."""
    return Interactive(stem, page(_loaded(model)), title) if model in shipped("BertForMaskedLM") else None


@lru_cache(maxsize=2)
def _loaded(name: str) -> MaskPredictor:
    return load_predictor(name, progress=False)


@dataclass(frozen=True)
class Story:
    """What the report says of an exhibit before its appendix: a claim, further sentences, and a caveat.

    `stem` names the picture that is shown with it. The interactive page of the exhibit, if it has one, is shown on
    screens in place of the picture.
    """

    claim: str
    text: tuple[str, ...]
    caveat: str
    stem: str


@dataclass(frozen=True)
class Exhibit:
    """Everything that one module contributes: pictures, tables, conclusions, inputs (files below the runs).

    The first conclusion is the headline. Tables without rows are left out. Some exhibits tell a part of the report's
    story, and some have a page to drag.
    """

    title: str
    pictures: tuple[Picture, ...] = ()
    tables: tuple[Table, ...] = ()
    conclusions: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    story: Story | None = None
    interactive: Interactive | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "tables", tuple(table for table in self.tables if table.rows and table.shown))


def save(name: str, made: Exhibit, out: Path, runs: Mapping[str, Any] | None = None) -> list[Path]:
    """Write an exhibit's files below `out` and return their paths.

    figures/STEM.png and .pdf, tables/STEM.csv, .tex and .md, pages/STEM.html, and figures/NAME.json, from which the
    page is built, with `runs`, facts about the experiments behind it by name.
    The same exhibit gives the same bytes: no dates and no versions in files.
    """
    written: list[Path] = []
    for picture in made.pictures:
        for suffix, content in _printed(picture.figure).items():
            written.append(write_bytes(out / "figures" / f"{picture.stem}.{suffix}", content))
    written += write_tables(out / "tables", made.tables, latex=True)
    if made.interactive is not None:
        written.append(write_text(out / "pages" / f"{made.interactive.stem}.html", made.interactive.page.html))
    written.append(write_json(out / "figures" / f"{name}.json", _record(made) | {"runs": dict(runs or {})}))
    return written


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
        "tables": [
            {
                "stem": table.name,
                "caption": table.caption,
                "columns": list(table.shown[0]),
                "rows": [list(row.values()) for row in table.shown],
            }
            for table in made.tables
        ],
        "conclusions": list(made.conclusions),
        "inputs": list(made.inputs),
        "story": None if made.story is None else asdict(made.story),
        "interactive": made.interactive and {"stem": made.interactive.stem, "title": made.interactive.title},
    }
