"""Place short labels beside points, where they cover neither points nor each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray

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
