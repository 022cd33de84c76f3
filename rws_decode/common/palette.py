"""The colours of all pictures and pages, after Okabe and Ito: readers who are colour-blind can tell them apart.

They also differ in lightness, for grey prints. A picture repeats every difference by a marker, a dash or a hatch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

BLACK, BLUE, VERMILION, GREEN = "#000000", "#0072B2", "#D55E00", "#009E73"
PURPLE, SKY, AMBER = "#CC79A7", "#56B4E9", "#E69F00"
# For what stands behind: text and lines, what was not chosen, rules of a grid.
GREY, PALE, RULE = "#505050", "#c8c8c8", "#e2e2e2"


@dataclass(frozen=True)
class Look:
    """How a series looks: four differences, each enough to tell it from the others."""

    color: str
    marker: str
    dash: Any
    hatch: str


LOOKS = (
    Look(BLUE, "o", "solid", ""),
    Look(VERMILION, "s", (0, (5, 1.5)), "////"),
    Look(GREEN, "^", (0, (3, 1.5, 1, 1.5)), "...."),
    Look(PURPLE, "D", (0, (1, 1.2)), "\\\\\\\\"),
    Look(AMBER, "v", (0, (7, 2, 2, 2)), "xxxx"),
    Look(SKY, "P", (0, (5, 1, 1, 1, 1, 1)), "----"),
)
