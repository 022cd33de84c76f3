"""Appendix D: the two confidence curves of its example, their difference, and the proved crossing.

Shows: P^a(r) and P^b(r) of the paper's two logit vectors, the crossing that `rws_theory` proves, and what the paper
printed, marked as printed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from paper_figures.exhibits.shared.exhibit import GREY, LINES, PRINTED, Exhibit, Picture, figure, panel_title
from paper_figures.exhibits.shared.results import agrees
from paper_figures.table import Column, Table, make_table
from rws_theory import Crossings, crossings, gap_statistics, max_probability
from rws_theory.printed import printed_in

NEEDS: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Example:
    """The two curves on a grid of scales: `scale` [m], `probability` [2, m] (of a, then b), and their crossings."""

    printed: dict[str, Any]
    scale: NDArray[np.float64]
    probability: NDArray[np.float64]
    crossings: Crossings

    @property
    def crossing(self) -> float:
        """Return the scale at which the curves cross; ValueError unless it is proved to be the only one."""
        if not (self.crossings.complete and self.crossings.count == 1):
            raise ValueError(
                f"the example has {self.crossings.count} crossings, at most {self.crossings.bound}: one is shown"
            )
        return self.crossings.roots[0]


def compute(upper: float = 10.0, points: int = 801) -> Example:
    """Evaluate both curves at `points` scales in (0, upper] and find their crossing."""
    printed = printed_in("appendix_d")
    scale = np.linspace(0.0, upper, points + 1)[1:]
    probability = max_probability(np.array([printed["a"], printed["b"]])[:, None, :], scale)
    return Example(printed, scale, probability, crossings(printed["a"], printed["b"]))


def draw(example: Example) -> Figure:
    """Draw the curves above their difference, on one axis of scales."""
    picture = figure(6.6, 5.6)
    top, bottom = picture.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    root, printed = example.crossing, example.printed
    for row, name in enumerate("ab"):
        line, vector = LINES[name], printed[name]
        label = f"$P^{name}(r)$, {name} = ({', '.join(map(str, vector))})"
        top.plot(example.scale, example.probability[row], color=line.color, linestyle=line.dash, label=label)
        for index, point in enumerate(printed["probability"]):
            label = f"printed $P^{name}$"
            style = {"marker": line.marker, "markersize": 7, "markerfacecolor": "none", "markeredgecolor": line.color}
            top.plot(point["r"], point[name], linestyle="none", label=None if index else label, **style)
    top.set_ylabel("confidence P(r)  [probability]")
    top.set_ylim(0.3, 1.0)
    panel_title(top, "Confidence of two positions against the scale")

    difference = 1e3 * (example.probability[0] - example.probability[1])
    bottom.plot(example.scale, difference, color="black")
    bottom.fill_between(example.scale, 0, difference, where=difference > 0, color=LINES["a"].color, alpha=0.25, lw=0)
    bottom.fill_between(example.scale, 0, difference, where=difference < 0, color=LINES["b"].color, alpha=0.25, lw=0)
    bottom.axhline(0, color=GREY, linewidth=0.8)
    bottom.set_ylabel("$P^a - P^b$  [10$^{-3}$]")
    bottom.set_xlabel("scale r  [factor on the logits]")
    bottom.set_xlim(0, example.scale[-1])
    low, high = bottom.get_ylim()
    bottom.set_ylim(low, high + 0.25 * (high - low))
    panel_title(bottom, "Their difference: a leads where it is above zero")
    for axes in (top, bottom):
        axes.axvline(root, color="black", linewidth=1.0, linestyle=(0, (4, 2)))
        axes.axvline(printed["crossing"], color=PRINTED, linewidth=1.0, linestyle=(0, (1, 1.5)))
    bottom.annotate(
        f"crossing, r = {root:.4f}", (root, 0), (6, 26), textcoords="offset points", color="black", va="bottom"
    )
    bottom.annotate(
        f"printed: r = {printed['crossing']}",
        (printed["crossing"], bottom.get_ylim()[1]),
        (5, -3),
        textcoords="offset points",
        color=PRINTED,
        va="top",
    )
    top.legend(loc="lower right")
    return picture


def table(example: Example) -> Table:
    """Return every number of the example: as the paper printed it, as computed, and whether they agree."""
    printed = example.printed
    statistics = gap_statistics([printed["a"], printed["b"]])
    rows: list[dict[str, Any]] = []

    def add(quantity: str, value: float, computed: float) -> None:
        row = {"quantity": quantity, "paper: printed": value, "here: computed": computed}
        rows.append(row | {"agrees to the digits printed": agrees(value, computed)})

    for row, name in enumerate("ab"):
        add(f"Sigma_{name}", printed[f"sigma_{name}"], float(statistics.total[row]))
        add(f"delta_{name}", printed[f"delta_{name}"], float(statistics.smallest[row]))
    for point in printed["probability"]:
        for name in "ab":
            add(f"P^{name}({point['r']:g})", point[name], float(max_probability(printed[name], point["r"])))
    add("crossing r", printed["crossing"], example.crossing)
    columns = [Column("quantity"), Column("paper: printed", form="g"), Column("here: computed", form=".4f")]
    columns.append(Column("agrees to the digits printed"))
    caption = f"{printed['where']}: what was printed and what is computed from the same two vectors."
    return make_table("appendix_d", rows, columns, caption)


def exhibit(runs: Path) -> Exhibit:
    """Return the example's figure and table; `runs` is not read."""
    example = compute()
    root, printed = example.crossing, example.printed
    numbers = table(example)
    wrong = [row["quantity"] for row in numbers.rows if not row["agrees to the digits printed"]]
    caption = (
        f"The example of {printed['where']}. The two curves cross once, at r = {root:.4f} (dashed); the paper prints "
        f"{printed['crossing']} (dotted). Hollow markers are the confidences that it prints at r = 1 and r = 2."
    )
    alt = (
        f"Two rising confidence curves from one third towards one, almost on top of each other. Curve a is above b "
        f"until they cross at scale {root:.2f}, far right of the printed {printed['crossing']}. Their difference below."
    )
    summary = (
        f"Appendix D: {len(wrong)} of {len(numbers.rows)} printed numbers differ from the computed ones "
        f"({', '.join(wrong) or 'none'}); the one crossing is proved to be at r = {root:.4f}."
    )
    return Exhibit(
        "Appendix D: two confidence curves and their crossing",
        (Picture("appendix_d", draw(example), caption, alt),),
        (numbers,),
        conclusions=(summary,),
    )
