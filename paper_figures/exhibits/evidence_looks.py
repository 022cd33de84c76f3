"""How the arms of the evidence study look in its figures, and what they are called there.

A family has one colour and one marker in all figures. A hollow marker is of an arm that draws its tokens, a half-filled
one of an arm that commits one token a step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from paper_figures.exhibits.evidence import Places, path_of
from paper_figures.exhibits.labels import Label
from paper_figures.exhibits.paper_beside_ours import printed_range
from paper_figures.exhibits.style import Line
from paper_figures.statistics.intervals import Interval
from paper_figures.studies.evidence_arms import CONTROLS, METHODS, Arm, title_of
from rws_decode.common.palette import AMBER, BLACK, BLUE, GREEN, PURPLE, SKY, VERMILION
from rws_theory.printed import printed_in

_FAR = 2.0  # nats per word
_HALF_BOX = 0.1  # of GOD: the paper prints one number, and a box is seen better than a line
FAMILIES: dict[str, Line] = {
    "default": Line(BLACK, "D", "none", "default (confidence)"),
    "temperature": Line(BLUE, "o", "solid", "temperature"),
    "rws": Line(VERMILION, "s", (0, (5, 1.5)), "RWS"),
    "control": Line(GREEN, "^", (0, (3, 1.5, 1, 1.5)), "RWS's factors without its reward"),
    "order": Line(AMBER, "v", (0, (1, 1.2)), "another order"),
    "compute": Line(SKY, "P", "none", "more forwards or samples"),
    "reward": Line(PURPLE, "X", (0, (7, 2, 2, 2)), "uses the reward while it decodes"),
}


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


def ends_of(interval: Interval) -> np.ndarray:
    """Return how far an interval reaches below and above its mean, shape (2, 1); 0 where it has no finite end."""
    spread = np.array([[interval.mean - interval.low], [interval.high - interval.mean]])
    return np.maximum(np.where(np.isfinite(spread), spread, 0.0), 0.0)


def legend_of(picture: Figure, arms: Iterable[Arm], ncols: int, **names: str) -> None:
    """Set the legend of the arms' families below all panels; names: family -> what it is called there."""
    present = {family_of(arm) for arm in arms}
    handles = [
        Line2D([], [], color=look.color, marker=look.marker, linestyle="none", label=names.get(name, look.label))
        for name, look in FAMILIES.items()
        if name in present
    ]
    picture.legend(handles=handles, loc="outside lower center", ncols=ncols)


def scatter(
    axes: Axes,
    places: Places,
    named: Callable[[Arm], str],
    limits: tuple[float, float] | None = None,
    paths: Sequence[str] = (),
) -> list[Label]:
    """Draw arms where they lie, with the intervals of both coordinates, RWS above the others; return their labels.

    named: "" for a point without a label. limits: of y (`limits_of`); a point below them is a label at the lower edge,
    with its value. paths: methods whose scales a line joins.
    """
    for method in paths:
        path, look = path_of(places, method), FAMILIES[family_of(Arm(method))]
        if len(path) > 1:
            middle = [[places[arm][side].mean for arm in path] for side in (0, 1)]
            axes.plot(*middle, color=look.color, linewidth=1.0, linestyle=look.dash, zorder=2)
    if limits is not None:
        axes.set_ylim(limits)
    labels = []
    for arm, (x, y) in places.items():
        look, level, text = FAMILIES[family_of(arm)], y.mean, named(arm)
        style: dict[str, Any] = {"color": look.color, "marker": look.marker, "linestyle": "none", "markersize": 5.5}
        style |= {"fillstyle": "none" if arm.sampling_temperature else "left" if arm.one_by_one else "full"}
        style |= {"markerfacecoloralt": "white", "elinewidth": 0.8, "zorder": 4 if arm.method == "rws" else 3}
        axes.errorbar(x.mean, level, ends_of(y), ends_of(x), **style)
        if limits is not None and level < limits[0]:
            text = f"{text or short_of(arm)}: {level:.2f} \N{DOWNWARDS ARROW}"
            level = limits[0] + 0.02 * (limits[1] - limits[0])
        labels.append(Label(x.mean, level, text, look.color))
    return labels


def draw_table8(axes: Axes) -> list[Label]:
    """Draw Table 8 as printed: temperatures, the box in which RWS lies, the default's GOD; return its labels."""
    rows = sorted(printed_in("table8_temperature")["rows"], key=lambda row: row["scale"])
    color, rws = FAMILIES["temperature"].color, FAMILIES["rws"].color
    axes.plot([row["god"] for row in rows], [row["perplexity"] for row in rows], "o", color=color, markersize=5.5)
    worst, god = printed_range("worst perplexity of RWS")[0], printed_range("GOD of RWS at every step")[0]
    default = printed_range("GOD of the default")[0]
    low, high = axes.get_ylim()
    low = min(low, worst - 0.9)
    axes.set_ylim(low, high)
    axes.set_xlim(0.5, 2.75)
    axes.add_patch(Rectangle((god - _HALF_BOX, low), 2 * _HALF_BOX, worst - low, color=rws, alpha=0.3, linewidth=0))
    text: dict[str, Any] = {"color": rws, "fontsize": 8.5, "ha": "right", "va": "bottom"}
    axes.text(god - _HALF_BOX - 0.04, low + 0.05, f"RWS: GOD {god:g},\nperplexity\nat most {worst:g}", **text)
    axes.axvline(default, color="black", linewidth=1.0, linestyle=(0, (1, 1)))
    axes.text(default + 0.03, high, f"default: GOD {default:g}", fontsize=8.5, va="top")
    return [Label(row["god"], row["perplexity"], f"c {row['scale']:g}", color) for row in rows]


def limits_of(places: Places) -> tuple[float, float] | None:
    """Return limits of y so that points which lie `_FAR` below the best do not squeeze the others."""
    best = max((y.mean for _, y in places.values()), default=0.0)
    near = [y for _, y in places.values() if y.mean > best - _FAR]
    if not near:
        return None
    low, high = min(y.low for y in near), max(y.high for y in near)
    room = 0.12 * (high - low) or 0.1
    return low - room, high + room


def short_of(arm: Arm) -> str:
    """Return an arm's name beside its point.

    >>> short_of(Arm("temperature", 0.5)), short_of(Arm("default")), short_of(Arm("window", 4.0))
    ('c 0.5', 'default', 'window 4')
    """
    names = {"temperature": "c", "rws": "RWS", "window": "window"}
    if arm.method in names:
        return f"{names[arm.method]} {arm.number:g}"
    plain = {"default": "default", "margin": "margin", "left-to-right": "left to right", "random-order": "random"}
    return plain.get(arm.method) or title_of(arm)
