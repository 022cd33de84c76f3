"""How the arms of the evidence study look in its figures, and what they are called there.

A family has one colour and one marker in all figures. A hollow marker is of an arm that draws its tokens, a half-filled
one of an arm that commits one token a step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from paper_figures.exhibits.style import Line
from paper_figures.statistics.intervals import Interval
from paper_figures.studies.design.evidence_arms import CONTROLS, METHODS, Arm
from paper_figures.studies.summaries.evidence import arm_title
from rws_decode.common.palette import AMBER, BLACK, BLUE, GREEN, PURPLE, SKY, VERMILION

FAMILIES: dict[str, Line] = {
    "default": Line(BLACK, "D", "none", "default (confidence)"),
    "temperature": Line(BLUE, "o", "solid", "temperature"),
    "rws": Line(VERMILION, "s", (0, (5, 1.5)), "RWS"),
    "control": Line(GREEN, "^", (0, (3, 1.5, 1, 1.5)), "RWS's factors without its reward"),
    "order": Line(AMBER, "v", (0, (1, 1.2)), "another order"),
    "compute": Line(SKY, "P", "none", "more forwards or samples"),
    "reward": Line(PURPLE, "X", (0, (7, 2, 2, 2)), "uses the reward while it decodes"),
}
MARKS_LINE = "Hollow markers: tokens are drawn. Half-filled: one token a step."


def family_of(arm: Arm) -> str:
    """Return the family of an arm, a key of `FAMILIES`.

    >>> family_of(Arm("swapped", 8.0)), family_of(Arm("default", None, 0.0, True)), family_of(Arm("margin"))
    ('control', 'compute', 'order')
    """
    if arm.method in ("temperature", "rws"):
        return arm.method
    if arm.method == "default":
        return "compute" if arm.one_by_one else "default"
    return "control" if arm.method in CONTROLS else METHODS[arm.method].kind


def title_of(arm: Arm) -> str:
    """Return an arm's name.

    >>> title_of(Arm("rws", 8.0)), title_of(Arm("temperature", 0.5))
    ('RWS 8', 'temperature 0.5')
    """
    return arm_title(arm.method, arm.number, bool(arm.sampling_temperature), arm.one_by_one)


def path_of(arms: Mapping[Arm, Any], method: str) -> list[Arm]:
    """Return the greedy arms of a method by rising number; the default is the temperature 1.

    >>> [arm.number for arm in path_of({Arm("temperature", 2.0): 0, Arm("default"): 0}, "temperature")]
    [None, 2.0]
    """
    chosen = [
        arm
        for arm in arms
        if not arm.sampling_temperature
        and not arm.one_by_one
        and (arm.method == method or (method == "temperature" and arm.method == "default"))
    ]
    return sorted(chosen, key=lambda arm: 1.0 if arm.number is None else arm.number)


def ends_of(interval: Interval) -> np.ndarray:
    """Return how far an interval reaches below and above its mean, shape (2, 1); 0 where it has no finite end."""
    spread = np.array([[interval.mean - interval.low], [interval.high - interval.mean]])
    return np.maximum(np.where(np.isfinite(spread), spread, 0.0), 0.0)


def draw_arm(axes: Axes, arm: Arm, x: Interval, y: Interval, **style: Any) -> None:
    """Draw an arm as its family's marker, with the intervals of both coordinates."""
    look = FAMILIES[family_of(arm)]
    fill = "none" if arm.sampling_temperature else "left" if arm.one_by_one else "full"
    given: dict[str, Any] = {"markersize": 5.5, "elinewidth": 0.8, "label": look.label} | style
    axes.errorbar(
        x.mean,
        y.mean,
        xerr=ends_of(x),
        yerr=ends_of(y),
        color=look.color,
        marker=look.marker,
        fillstyle=fill,
        markerfacecoloralt="white",
        linestyle="none",
        **given,
    )


def legend_of_families(families: Sequence[str]) -> dict[str, Any]:
    """Return a legend's handles and labels of families, whatever the fill of the first marker drawn is."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=FAMILIES[name].color, marker=FAMILIES[name].marker, linestyle=FAMILIES[name].dash)
        for name in FAMILIES
        if name in families
    ]
    return {"handles": handles, "labels": [look.label for name, look in FAMILIES.items() if name in families]}
