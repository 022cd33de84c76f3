"""Place short labels beside points, where they cover neither points nor each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.transforms import Bbox

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
        inside = axes.get_window_extent()
        places = [axes.transData.transform((label.x, label.y)) / points for label in wanted]
        frame = Bbox.from_extents(*(end / points for end in inside.extents))
        taken = [Bbox.from_bounds(x - _POINT, y - _POINT, 2 * _POINT, 2 * _POINT) for x, y in places]
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
                    boxes[far, across, above, right, up] = Bbox.from_bounds(left, low, width, _HEIGHT * size)
            (far, across, above, right, up), box = min(
                boxes.items(),
                key=lambda item: _covered(item[1], taken, frame) + 0.4 * (item[0][1] ** 2 + item[0][2] ** 2) ** 0.5,
            )
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


def _covered(box: Bbox, taken: Sequence[Bbox], frame: Bbox) -> float:
    """Return the area of a box that lies on others or outside the frame."""
    inner = Bbox.intersection(box, frame)
    outside = box.width * box.height - (inner.width * inner.height if inner else 0.0)
    shared = [both.width * both.height for other in taken if (both := Bbox.intersection(box, other))]
    return outside + sum(shared)
