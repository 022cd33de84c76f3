"""A figure in the project's style, without a window, and its caption."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from io import BytesIO
from typing import Any, ParamSpec, TypeAlias

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rws_decode.common.palette import RULE

Panels: TypeAlias = Axes | Sequence[Axes] | None
P = ParamSpec("P")

_STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 10.0,
    "axes.titlesize": 10.0,
    "axes.titlelocation": "left",
    "axes.labelsize": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "legend.fontsize": 10.0,
    "legend.framealpha": 0.85,
    "legend.edgecolor": "none",
    "lines.linewidth": 1.6,
    "hatch.linewidth": 0.8,
    "pdf.fonttype": 42,
}
_DOTS_PER_INCH = 100
_CHARACTER = 5.45 / 72  # inches that a character of 10 pt takes on average


def house_style() -> AbstractContextManager[None]:
    """Use this package's style inside the block only, whatever the reader's own matplotlib settings are."""
    return style.context(_STYLE, after_reset=True)


def drawn(plot: Callable[P, Figure]) -> Callable[P, Figure]:
    """Make a function plot in this package's style; axes that it is given keep the style of their own figure."""

    @wraps(plot)
    def in_style(*args: P.args, **kwargs: P.kwargs) -> Figure:
        with house_style() if kwargs.get("axes") is None else nullcontext():
            return plot(*args, **kwargs)

    return in_style


def panels_of(
    axes: Panels, rows: int, columns: int, size: tuple[float, float], **grid: Any
) -> tuple[Figure, list[Axes]]:
    """Return a figure with rows x columns panels, row by row: a new one of that size in inches, or that of the axes.

    grid: as in `Figure.subplots`. ValueError where axes are given, and not as many as there are panels.
    """
    if axes is None:
        figure = Sheet(figsize=size, layout="constrained")
        return figure, list(figure.subplots(rows, columns, squeeze=False, **grid).flat)
    panels: list[Axes] = list(np.ravel(np.asarray(axes, dtype=object)))
    if len(panels) != rows * columns:
        raise ValueError(f"axes holds {len(panels)} panels: this picture needs {rows * columns}, {rows} x {columns}")
    return panels[0].figure.canvas.figure, panels


class Sheet(Figure):
    """A figure that a notebook shows as the value of its cell, without pyplot."""

    def _repr_png_(self) -> bytes:
        picture = BytesIO()
        with house_style():
            self.savefig(picture, format="png", dpi=_DOTS_PER_INCH)
        return picture.getvalue()


def legend(figure: Figure, panel: Axes, axes: Panels, place: str = "upper right") -> None:
    """Write the legend of a panel outside a figure of ours, above it in a row; inside the panel of given axes."""
    handles, labels = panel.get_legend_handles_labels()
    if axes is None:
        where: Any = f"outside {place}"
        figure.legend(handles, labels, loc=where, ncols=len(labels) if place.startswith("upper") else 1)
    else:
        panel.legend(handles, labels, loc="best")


def finished(figure: Figure, axes: Panels, *sentences: str) -> Figure:
    """Return the figure with these sentences as its caption; given axes get none, as the page around them is not ours.

    Empty sentences are left out.
    """
    if axes is None:
        lines = textwrap.wrap(" ".join(filter(None, sentences)), int(figure.get_figwidth() / _CHARACTER))
        look = {"ha": "left", "fontsize": 10, "linespacing": 1.25, "parse_math": False}
        figure.supxlabel("\n".join(lines), x=0.01, **look)
    return figure


def caption(figure: Figure) -> str:
    """Return what stands below a figure of this package: what it shows, in words; "" if it was plotted into given axes.

    >>> from rws_decode import plots
    >>> from rws_theory import selection_path
    >>> plots.caption(plots.selection(selection_path([[1.1, 0.6, 0.3], [1.0, 0.4, 0.4]], 1, 0.1, 10.0)))
    'The most confident is one of 2 sets at every factor from 0.1 to 10. The set changes at 4.812; this is proved.'
    """
    return " ".join(figure.get_supxlabel().split())
