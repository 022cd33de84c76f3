"""What rounding does to the generation order: GOD against the scale, ranked exactly and by rounded confidences.

Shows: GOD of temperature, ranked by log-odds, which order positions as exact confidences do, and by softmax in float32
and in bfloat16. The table has the same of RWS and of a constant factor, the share of GOD that is due to rounding, how
many confidences are exactly 1, and how many steps commit another set than the exact ranking.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from paper_figures.exhibits.differences import Difference
from paper_figures.exhibits.exhibit import Exhibit, Picture, Story
from paper_figures.exhibits.runs import read_named
from paper_figures.exhibits.style import GREY, Line, figure, panel_title
from paper_figures.plan import command
from paper_figures.table import Column, Table, make_table
from rws_decode.common.palette import BLUE, VERMILION
from rws_decode.view.plots.axes import scale_axis
from rws_theory import footrule_mean

Row = Mapping[str, Any]

NEEDS: tuple[str, ...] = ("precision",)
STRATEGIES = {"temperature": "Temperature", "rws": "RWS", "constant": "Constant of equal mean"}
_ENDS = "_low", "_high"
RANKINGS = {
    "exact": Line("#000000", "D", (0, (1, 1)), "exact (log-odds, float64)"),
    "float32": Line(BLUE, "o", "solid", "softmax in float32"),
    "bfloat16": Line(VERMILION, "s", (0, (5, 1.5)), "softmax in bfloat16"),
}


@dataclass(frozen=True)
class Rounding:
    """The experiment's outcome: `rows`, one per strategy, scale and ranking; its settings and files."""

    rows: Sequence[Row]
    settings: Row
    inputs: tuple[str, ...]

    @property
    def strategies(self) -> list[str]:
        """Return the strategies that are drawn, of those that were run."""
        present = {row["strategy"] for row in self.rows}
        return [name for name in STRATEGIES if name in present]

    @property
    def scales(self) -> list[float]:
        """Return all scales, rising."""
        return sorted({row["scale"] for row in self.rows})

    @property
    def prompts(self) -> int:
        """Return the number of prompts behind every row."""
        return max(row["n"] for row in self.rows)

    @property
    def random(self) -> float | None:
        """Return the mean GOD in steps of a random order within blocks; None if steps commit unequal numbers."""
        length, steps, block = (self.settings[name] for name in ("length", "steps", "block"))
        if length % steps or block % (length // steps):
            return None
        return footrule_mean(length, block, per_step=length // steps, reading="steps")

    def of(self, strategy: str, ranking: str) -> list[Row]:
        """Return the rows of one curve by rising scale."""
        rows = [row for row in self.rows if (row["strategy"], row["ranking"]) == (strategy, ranking)]
        return sorted(rows, key=lambda row: row["scale"])

    def due(self, row: Row) -> Difference | None:
        """Return what rounding adds to a row's mean GOD in steps, with interval and p; None for the exact ranking."""
        if row["ranking"] == "exact":
            return None
        middle, low, high = (row[f"god_steps_due{end}"] for end in ("", *_ENDS))
        return Difference(f"{row['scale']:g}", middle, low, high, row["god_steps_due_p_holm"])

    def share(self, row: Row) -> list[float]:
        """Return the same with the ends of its interval as percent of the exact ranking's mean; NaN where that is 0."""
        (exact,) = (o["god_steps"] for o in self.of(row["strategy"], "exact") if o["scale"] == row["scale"])
        ends = (row[f"god_steps_due{end}"] for end in ("", *_ENDS))
        return [100 * end / exact if exact else float("nan") for end in ends]


def compute(runs: Path) -> Rounding:
    """Read the experiment's outcome below `runs`; MissingRun, with the command, if it is missing."""
    (experiment,) = NEEDS
    path, made_by = runs / experiment / "results.json", command(experiment, runs)
    results = read_named(path, made_by, ("summary", "settings"))
    if not results["summary"]:
        raise ValueError(f"{path} has no rows: run {made_by} --retry-failed")
    files = (f"{experiment}/results.json", f"{experiment}/summary.csv")
    return Rounding(results["summary"], results["settings"], files)


def draw(data: Rounding) -> Figure:
    """Draw GOD of the first strategy against the scale, ranked exactly and by rounded confidences."""
    picture = figure(6.6, 3.1)
    axes = picture.subplots()
    name = data.strategies[0]
    if data.random is not None:
        axes.axhline(data.random, color=GREY, linewidth=1.2, linestyle=(0, (6, 3)), label="random order within blocks")
    for ranking, look in RANKINGS.items():
        curve = data.of(name, ranking)
        style: dict[str, Any] = {"color": look.color, "marker": look.marker, "linestyle": look.dash}
        scales, means = ([row[field] for row in curve] for field in ("scale", "god_steps"))
        axes.plot(scales, means, label=look.label, **style)
        if ranking != "exact":
            ends = [[abs(row[f"god_steps_due{end}"] - row["god_steps_due"]) for row in curve] for end in _ENDS]
            axes.errorbar(scales, means, yerr=ends, fmt="none", ecolor=look.color, elinewidth=1.0, capsize=2.5)
    scale_axis(axes, data.scales[0] / 1.4, data.scales[-1] * 1.4, "scale  [factor]")
    axes.set_ylim(bottom=0)
    axes.set_ylabel("GOD  [steps; 0: left to right]")
    panel_title(axes, f"{STRATEGIES[name]}, ranked by exact and by rounded confidences")
    axes.legend(loc="lower left")
    return picture


def table(data: Rounding) -> Table:
    """Return every row with what rounding adds."""
    order = list(RANKINGS)
    kept = [row for row in data.rows if row["strategy"] in data.strategies and row["ranking"] in RANKINGS]
    kept.sort(key=lambda r: (data.strategies.index(r["strategy"]), r["scale"], order.index(r["ranking"])))

    def share(row: Row) -> str | None:
        due = data.due(row) and data.share(row)[0]
        return None if due is None or np.isnan(due) else f"{due:+.0f} %"

    columns = [
        Column("strategy", form=lambda row: STRATEGIES[row["strategy"]]),
        Column("scale"),
        Column("ranking"),
        Column("GOD, steps", "god_steps", ".2f"),
        Column("GOD, tokens", "god_tokens", ".2f"),
        Column("due to rounding, steps", form=lambda row: (due := data.due(row)) and due.text()),
        Column("share due", form=share),
        Column("equal to 1, %", "saturated", ".1f", unit=100),
        Column("other set, %", "inexact", ".1f", unit=100),
    ]
    caption = (
        "GOD in steps and in tokens of each ranking; due to rounding: GOD in steps minus that of the exact ranking on "
        "the same prompts, with its 95 % interval, p of the sign-flip permutation test, corrected over the scales by "
        "Holm's method (* if the interval excludes zero and p is at most 0.05), and as a share of the exact GOD; equal "
        "to 1: share of candidate confidences; other set: share of steps whose committed set is not the one that exact "
        "confidences choose. GOD is of the whole canvas, end-of-text filler included."
    )
    return make_table("saturation", kept, columns, caption)


def exhibit(runs: Path) -> Exhibit:
    """Return the figure of what rounding does, from the experiment's results below `runs`."""
    data = compute(runs)
    story, settings = _story(data), data.settings
    random = " The grey line is the mean of a random order within blocks." if data.random is not None else ""
    caption = (
        "Mean GOD at each scale, ranked exactly and by softmax as public decoders rank. Here ties go to the leftmost "
        "position, so a saturated order tends to left to right. Another tie rule need not do so. Bars: 95 % intervals "
        f"of the difference from the exact ranking on the same prompts.{random} Here: model {settings['model']}, "
        f"{data.prompts} prompts, {settings['length']} tokens in {settings['steps']} steps; the "
        "paper: LLaDA, other prompts and length. Shapes can be compared, levels cannot. GOD is of the whole canvas and "
        "so includes end-of-text filler, of which short answers have more."
    )
    alt = "Curves of GOD against the scale, one per ranking: exact, softmax in float32 and in bfloat16."
    none = "The results have no exact GOD above 0, of which an effect could be a share."
    return Exhibit(
        "What rounding does to the generation order",
        (Picture("rounding", draw(data), caption, alt),),
        (table(data),),
        conclusions=(story.claim, story.caveat) if story else (none,),
        inputs=data.inputs,
        story=story,
    )


def _story(data: Rounding) -> Story | None:
    """Return what the page says first: what rounding to bfloat16 makes of GOD, and at how many scales that is shown."""
    name = data.strategies[0]
    rows = [row for row in data.of(name, "bfloat16") if not np.isnan(data.share(row)[0])]
    if not rows:
        return None
    row, (share, *between) = rows[-1], data.share(rows[-1])
    shown = sum(bool(due.p is not None and due.sign) for row in rows if (due := data.due(row)))
    return Story(
        f"At scale {row['scale']:g}, rounding to bfloat16 {'lowers' if share < 0 else 'raises'} GOD by "
        f"{abs(share):.0f} %{': the order becomes almost left to right' if share < -75 else ''}.",
        (
            f"At large scales confidences round to exactly 1: {100 * row['saturated']:.0f} % of them in bfloat16 at "
            f"{row['scale']:g}. Then ties decide, and here they go to the leftmost position.",
            f"{100 * row['inexact']:.0f} % of the steps commit another set than the exact ranking. Log-odds in float64 "
            "do not saturate.",
        ),
        f"On {data.prompts} prompts, {min(map(abs, between)):.0f} to {max(map(abs, between)):.0f} % with 95 % "
        f"confidence; an effect is shown at {shown or 'none'} of {len(rows)} scales. The paper does not print its "
        "precision.",
        "rounding",
    )
