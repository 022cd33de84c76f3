"""What an exhibit is made of, how its pictures look, and how it becomes files, each whole or absent."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from paper_figures.studies.options import METHODS
from paper_figures.table import Table, write_tables
from rws_decode.checkpoints.files import shipped
from rws_decode.common.files import write_bytes, write_json, write_text
from rws_decode.common.page import Page
from rws_decode.common.palette import BLACK, BLUE, GREEN, PURPLE, VERMILION
from rws_decode.predictors import MaskPredictor, load_predictor

if TYPE_CHECKING:
    from matplotlib.typing import LineStyleType


class MissingRun(ValueError):
    """An experiment's results are not there; the message says which command makes them."""


@dataclass(frozen=True)
class Picture:
    """A figure: file stem, caption, and a description for readers who do not see it."""

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
    """Return a figure as PNG and as PDF, laid out once: `savefig` would lay it out and render it twice for each."""
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


GREY = "#767676"
PRINTED = "#555555"


@dataclass(frozen=True)
class Line:
    """The look of one strategy or curve: colour, marker and dash pattern, each distinct on its own."""

    color: str
    marker: str
    dash: LineStyleType
    label: str

    @property
    def style(self) -> dict[str, Any]:
        """Return the look as matplotlib takes it."""
        return {"color": self.color, "marker": self.marker, "linestyle": self.dash}


# Okabe and Ito's palette, whose colours also differ in lightness; markers and dashes repeat the distinction.
LINES: dict[str, Line] = {
    "left-to-right": Line(BLACK, "v", (0, (1, 1)), "left to right"),
    "default": Line(BLACK, "D", (0, (1, 1)), METHODS["default"].title),
    "temperature": Line(BLUE, "o", "solid", METHODS["temperature"].title),
    "rws": Line(VERMILION, "s", (0, (5, 1.5)), METHODS["rws"].title),
    "constant": Line(GREEN, "^", (0, (3, 1.5, 1, 1.5)), METHODS["constant"].title),
    "shuffled": Line(PURPLE, "X", (0, (1, 1.2)), METHODS["shuffled"].title),
    "a": Line(BLUE, "o", "solid", "a"),
    "b": Line(VERMILION, "s", (0, (5, 1.5)), "b"),
}


_RC: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9.0,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "legend.fontsize": 8.5,
    "legend.frameon": True,
    "legend.framealpha": 0.85,
    "legend.edgecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e2e2e2",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.linewidth": 1.6,
    "lines.markersize": 5.0,
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,
    "figure.constrained_layout.use": True,
}


# What a file of the reader's does not change: how pictures are made, and the layout that keeps legends outside.
_OURS = {"backend", "interactive", "figure.constrained_layout.use", "figure.autolayout"}


@contextmanager
def styled(*files: str | os.PathLike[str]) -> Iterator[None]:
    """Use the project's style inside the block only, whatever the user's own matplotlib settings are.

    files: in the format of matplotlibrc; what they set takes the place of the project's style, in their order.
    """
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_RC)
        for file in files:
            read = matplotlib.rc_params_from_file(file, use_default_template=False)
            matplotlib.rcParams.update({name: value for name, value in read.items() if name not in _OURS})
        yield


class Sheet(Figure):
    """A figure that belongs to no window; a notebook shows it as the value of its cell, without pyplot."""

    def _repr_png_(self) -> bytes:
        picture = BytesIO()
        with styled():
            self.savefig(picture, format="png", dpi=100, metadata={"Software": None})
        return picture.getvalue()


def figure(width: float, height: float) -> Figure:
    """Return an empty figure of that size in inches, belonging to no window and to no global state."""
    return Sheet(figsize=(width, height))


def panel_title(axes: Axes, text: str) -> None:
    """Set a panel's title at its left edge, where it stays clear of the neighbouring panel's."""
    axes.set_title(text, loc="left")


def plain_log(axes: Axes) -> None:
    """Make y logarithmic, with plain numbers; within one decade only minor ticks have labels."""
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("{x:g}")


def joint_legend(picture: Figure, ncols: int, loc: Any = "outside lower center") -> None:
    """Set one legend for all panels, with each label once, below them or elsewhere outside."""
    handles = {}
    for axes in picture.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    picture.legend(handles.values(), handles.keys(), loc=loc, ncols=ncols)


_WIDTH, _HEIGHT = 0.56, 1.15  # of a letter, in sizes of the font
_POINT = 3.5  # half a marker, in points
# Where a label stands from its point, in units of its distance.
_SIDES = ((1, 1), (1, -1), (-1, 1), (-1, -1), (1, 0), (-1, 0), (0, 1), (0, -1))


class Label(NamedTuple):
    """A point, in the units of its axes, and what stands beside it."""

    x: float
    y: float
    text: str
    color: str


def place_labels(picture: Figure, labels: Mapping[Axes, Sequence[Label]], size: float = 8.0) -> None:
    """Write each label at the side of its point where it covers least. Call it when limits and legends are set.

    Labels without a text are points that others should not cover. A label that stands far from its point has a line
    to it.
    """
    picture.draw_without_rendering()  # only now does each panel have its size
    points = picture.dpi / 72
    for axes, wanted in labels.items():
        frame = np.array(axes.get_window_extent().extents) / points
        places = [axes.transData.transform((label.x, label.y)) / points for label in wanted]
        taken = [(x - _POINT, y - _POINT, x + _POINT, y + _POINT) for x, y in places]
        for label, (x, y) in zip(wanted, places, strict=True):
            if not label.text:
                continue
            width = _WIDTH * size * len(label.text.replace("$", "").replace("_", ""))
            boxes = {}
            for far in (1.0, 2.4, 4.0):
                for right, up in _SIDES:
                    across, above = 5.0 * far * right, 4.0 * far * up
                    left = x + across - width * (1 - right) / 2
                    low = y + above - _HEIGHT * size * (1 - up) / 2
                    boxes[far, across, above, right, up] = (left, low, left + width, low + _HEIGHT * size)
            distance = [0.4 * (across**2 + above**2) ** 0.5 for _, across, above, *_ in boxes]
            best = int((_covered(np.array([*boxes.values()]), np.array(taken), frame) + distance).argmin())
            (far, across, above, right, up), box = [*boxes.items()][best]
            taken.append(box)
            axes.annotate(
                label.text.replace("-", "\N{MINUS SIGN}"),
                (label.x, label.y),
                xytext=(across, above),
                textcoords="offset points",
                fontsize=size,
                color=label.color,
                ha={1: "left", 0: "center", -1: "right"}[right],
                va={1: "bottom", 0: "center", -1: "top"}[up],
                annotation_clip=True,
                arrowprops={"arrowstyle": "-", "color": label.color, "linewidth": 0.5} if far > 1 else None,
                path_effects=[withStroke(linewidth=2, foreground="white")],
                bbox={"boxstyle": "square,pad=0.05", "facecolor": "white", "edgecolor": "none", "alpha": 0.7},
                zorder=6,
            )


def _covered(boxes: NDArray[np.float64], taken: NDArray[np.float64], frame: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the area of each box that lies on others or outside the frame; a box is (left, low, right, high)."""

    def shared(others: NDArray[np.float64]) -> NDArray[np.float64]:
        sides = np.minimum(boxes[:, None, 2:], others[:, 2:]) - np.maximum(boxes[:, None, :2], others[:, :2])
        return sides.clip(min=0.0).prod(axis=2).sum(axis=1)

    return (boxes[:, 2:] - boxes[:, :2]).prod(axis=1) - shared(frame[None]) + shared(taken)


# A value, and the ends of its interval, None if it has none.
Mark = tuple[float, float | None, float | None]


@dataclass(frozen=True)
class Dots:
    """One series: its look, what the legend calls it, and name -> (value, low, high); hollow: printed, not measured."""

    look: Line
    label: str
    marks: Mapping[str, Mark]
    hollow: bool = False


def marks_of(rows: Mapping[str, Mapping[str, Any]], value: str = "mean") -> dict[str, Mark]:
    """Return name -> the mark of its row; a row without a value has none."""
    return {name: (row[value], row["low"], row["high"]) for name, row in rows.items() if row[value] is not None}


def draw_dots(axes: Axes, names: Sequence[str], series: Sequence[Dots], labelled: bool = True) -> None:
    """Draw one band per name, from the top, and in it the series from top to bottom; labelled: write the names beside.

    A printed number has a hollow marker and no interval, a measured one a filled marker and its interval.
    """
    for row, name in enumerate(names):
        present = [dots for dots in series if name in dots.marks]
        for index, dots in enumerate(present):
            value, low, high = dots.marks[name]
            spread = None if low is None or high is None else [[max(value - low, 0.0)], [max(high - value, 0.0)]]
            axes.errorbar(
                value,
                row + 0.7 * ((index + 0.5) / len(present) - 0.5),
                xerr=spread,
                color=PRINTED if dots.hollow else dots.look.color,
                marker=dots.look.marker,
                markerfacecolor="white" if dots.hollow else dots.look.color,
                linestyle="none",
                elinewidth=1.1,
                capsize=2.5,
                label=dots.label,
            )
        if row % 2:
            axes.axhspan(row - 0.5, row + 0.5, color="#f2f2f2", zorder=0, linewidth=0)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks(range(len(names)), names if labelled else [""] * len(names))
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.grid(axis="y", visible=False)


def height_of(names: Sequence[str], series: int) -> float:
    """Return the inches that a panel of so many names and series side by side needs."""
    return 0.55 + len(names) * max(0.26, 0.13 * series + 0.1)
