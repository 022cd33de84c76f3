"""What the positions of words change: GOD, log-probability and reward in a world at every locality.

Shows: mean GOD against locality for the default, temperature and RWS, beside left to right and the mean of a random
order; mean log-probability and reward of each method minus those of the default at the same locality.
Inputs: RUNS/locality/results.json, made by `python -m paper_figures experiment locality --out RUNS`.
Run time: a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.exhibits.exhibit import Exhibit, Picture
from paper_figures.exhibits.runs import read_named
from paper_figures.exhibits.style import GREY, figure, joint_legend, panel_title
from paper_figures.figures.parts.locality_words import LOOKS, NAMES, ORDERED, Localities, conclusions, table
from paper_figures.plan import command

NEEDS: tuple[str, ...] = ("locality",)
_LINEAR = 10.0  # nats; longer differences are drawn by their logarithm


def compute(runs: Path) -> Localities:
    """Read the study's outcome below `runs`; MissingRun, with the command, if it is missing."""
    (experiment,) = NEEDS
    path, made_by = runs / experiment / "results.json", command(experiment, runs)
    results, _ = read_named(path, made_by, ("summary", "same", "settings"))
    return Localities(results["summary"], results["same"], results["settings"])


def draw(data: Localities) -> Figure:
    """Draw GOD at the left, and the differences in log-probability and in reward at the right."""
    picture = figure(6.8, 6.0)
    grid = picture.add_gridspec(2, 2, width_ratios=(1, 1.3))
    left = picture.add_subplot(grid[:, 0])
    for method in ORDERED:
        _curve(left, data, method, "god_steps", ("mean", "low", "high"))
    if data.random is not None:
        left.axhline(data.random, color=GREY, linewidth=1.2, linestyle=(0, (6, 3)), label="mean of a random order")
    left.axhline(0, color=GREY, linewidth=1.2, linestyle=(0, (1, 2)), label="GOD of left to right")
    left.set_ylabel("GOD  [steps]")
    panel_title(left, "Generation order")
    upper = picture.add_subplot(grid[0, 1])
    lower = picture.add_subplot(grid[1, 1], sharex=upper)
    ends = ("difference", "difference_low", "difference_high")
    for axes, measure, unit in ((upper, "log_probability", "nats"), (lower, "normalised_score", "deviations")):
        for method in data.methods[1:]:
            _curve(axes, data, method, measure, ends)
        axes.axhline(0, color=GREY, linewidth=0.9)
        axes.set_ylabel(f"{NAMES[measure]}\nminus default's  [{unit}]")
    _nats(upper, data)
    panel_title(upper, "Words, beside the default's")
    for axes in (left, lower):
        axes.set_xlabel("locality  [1: left to right, 0: random]")
    upper.tick_params(labelbottom=False)
    joint_legend(picture, 3)
    return picture


def _nats(axes: Axes, data: Localities) -> None:
    """Make y an axis of differences in nats, linear near zero, with room for every interval."""
    rows = [row for method in data.methods[1:] for row in data.curve(method, "log_probability")]
    low = min(row["difference_low"] for row in rows)
    high = max(0.0, *(row["difference_high"] for row in rows))
    axes.set_yscale("symlog", linthresh=_LINEAR, linscale=1.5)
    axes.set_ylim(*(_beyond(end) for end in (min(low, -_LINEAR), high + 1)))
    first, last = axes.get_ylim()
    ticks = [tick for tick in (-300, -100, -30, -10, -5, 0, 5, 10, 30, 100, 300) if first <= tick <= last]
    axes.set_yticks(ticks, [f"{tick:g}".replace("-", "\N{MINUS SIGN}") for tick in ticks])
    axes.minorticks_off()


def _beyond(end: float) -> float:
    return 1.3 * end if abs(end) >= _LINEAR else end


def _curve(axes: Axes, data: Localities, method: str, measure: str, fields: Sequence[str]) -> None:
    """Draw a method's values with their intervals, a little beside each other where several stand at a locality."""
    rows, look = data.curve(method, measure), LOOKS[method]
    if not rows:
        return
    middle, low, high = (np.array([row[field] for row in rows]) for field in fields)
    together = [name for name in data.methods if name in ORDERED] if measure == "god_steps" else data.methods[1:]
    beside = 0.011 * (together.index(method) - (len(together) - 1) / 2)
    axes.errorbar(
        np.array([row["locality"] for row in rows]) + beside,
        middle,
        yerr=np.maximum([middle - low, high - middle], 0.0),
        color=look.color,
        marker=look.marker,
        linestyle=look.dash,
        linewidth=1.0,
        markersize=4,
        elinewidth=0.8,
        capsize=1.5,
        label=look.label,
    )
    axes.set_xticks(data.localities, [f"{locality:g}" for locality in data.localities])


def exhibit(runs: Path) -> Exhibit:
    """Return the figure of what the positions of words change, from the study's results below `runs`."""
    data = compute(runs)
    given = data.settings
    one_block = given["block"] == given["length"]
    caption = (
        f"World {given['model']}, {data.prompts} openings, answers of {given['length']} words, "
        f"{given['length'] // given['steps']} a step, in blocks of {given['block']}; reward {given['reward']}; "
        f"temperature and RWS at scale {given['reward_scale']:g}. Each answer's words stand at positions of an order: "
        "left to right at locality 1, uniformly random at 0. The law of the words is the same at every locality, and "
        "its conditionals are exact. Left: mean GOD of the positions. Right: mean log-probability and reward of the "
        "words in reading order, minus those of the default at the same locality. Bars: 95 % intervals over "
        f"prompts, of pairs at the right. Log-probability is drawn linearly within {_LINEAR:g} nats, beyond that by "
        "its logarithm. "
        + (
            "Confidence does not see where a position stands in its block. So in one block a method that ranks by it "
            "differs between localities in its GOD alone, except where two confidences are equal. At locality 0 its "
            "expected GOD is that of a random order, whatever its scale. "
            if one_block
            else ""
        )
        + "Left to right commits the words of a step without seeing each other; at locality 1 they are neighbours."
    )
    return Exhibit(
        "Locality: what the positions of words change",
        (Picture("locality", draw(data), caption, _alt(data)),),
        (table(data),),
        conclusions=conclusions(data),
        inputs=(f"{NEEDS[0]}/results.json",),
    )


def _alt(data: Localities) -> str:
    parts = []
    for method in ORDERED:
        rows = data.curve(method, "god_steps")
        if rows:
            values = ", ".join(f"{row['mean']:.2f} at {row['locality']:g}" for row in rows)
            parts.append(f"{LOOKS[method].label}: GOD {values}.")
    return "Curves against locality: GOD, and differences from the default in log-probability and reward. " + " ".join(
        parts
    )
