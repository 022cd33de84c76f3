"""The look of all figures: colours that colour-blind readers and grey prints can tell apart, text of at least 8 pt."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.studies.options import METHODS
from rws_decode.common.palette import BLACK, BLUE, GREEN, PURPLE, VERMILION

if TYPE_CHECKING:
    from matplotlib.typing import LineStyleType

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
    """Use the house style inside the block only, whatever the user's own matplotlib settings are.

    files: in the format of matplotlibrc; what they set takes the place of the house style, in their order.
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
