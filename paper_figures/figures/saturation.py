"""What rounding does to the generation order: GOD against the scale, ranked exactly and by rounded confidences.

Shows: GOD of temperature, ranked by log-odds, which order positions as exact confidences do, and by softmax in float32
and in bfloat16. The table has the same of RWS and of a constant factor, the share of GOD that is due to rounding, how
many confidences are exactly 1, and how many steps commit another set than the exact ranking.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from paper_figures.exhibits.differences import Difference
from paper_figures.exhibits.exhibit import Exhibit, Picture, Story
from paper_figures.exhibits.runs import Row, lookup, read_named
from paper_figures.exhibits.style import GREY, Line, figure, panel_title
from paper_figures.plan import command
from paper_figures.table import Column, Table, make_table
from rws_decode.common.palette import BLUE, VERMILION
from rws_decode.view.plots.axes import scale_axis
from rws_theory import footrule_mean

NEEDS: tuple[str, ...] = ("precision",)
STRATEGIES = {"temperature": "Temperature", "rws": "RWS", "constant": "Constant of equal mean"}
RANKINGS = {
    "exact": Line("#000000", "D", (0, (1, 1)), "exact (log-odds, float64)"),
    "float32": Line(BLUE, "o", "solid", "softmax in float32"),
    "bfloat16": Line(VERMILION, "s", (0, (5, 1.5)), "softmax in bfloat16"),
}
_DUE = ("god_steps_due", "god_steps_due_low", "god_steps_due_high")  # what rounding adds to a mean GOD in steps


@dataclass(frozen=True)
class Rounding:
    """The experiment's outcome: its settings, and a row per strategy, scale and ranking, in this order."""

    rows: Sequence[Row]
    settings: Row

    @property
    def drawn(self) -> str:
        """Return the strategy that is drawn: the first of those that were run."""
        return self.rows[0]["strategy"]

    @property
    def random(self) -> float | None:
        """Return the mean GOD in steps of a random order within blocks; None if steps commit unequal numbers."""
        length, steps, block = (self.settings[name] for name in ("length", "steps", "block"))
        if length % steps or block % (length // steps):
            return None
        return footrule_mean(length, block, per_step=length // steps, reading="steps")

    def of(self, strategy: str, ranking: str) -> list[Row]:
        """Return the rows of one curve by rising scale."""
        return [row for row in self.rows if (row["strategy"], row["ranking"]) == (strategy, ranking)]

    def share(self, row: Row) -> list[float]:
        """Return what rounding adds, and its interval, as percent of the exact ranking's mean; NaN where that is 0."""
        exact = lookup(self.rows, strategy=row["strategy"], scale=row["scale"], ranking="exact")
        mean = exact and exact["god_steps"]
        return [100 * row[name] / mean if mean else float("nan") for name in _DUE]


def _due(row: Row) -> Difference:
    value, low, high = (row[name] for name in _DUE)
    return Difference(f"{row['scale']:g}", value, low, high, row["god_steps_due_p_holm"])


def compute(runs: Path) -> Rounding:
    """Read the experiment's outcome below `runs`; MissingRun, with the command, if it is missing."""
    path, made_by = runs / NEEDS[0] / "results.json", command(NEEDS[0], runs)
    results = read_named(path, made_by, ("summary", "settings"))
    rows = [row for row in results["summary"] if row["strategy"] in STRATEGIES and row["ranking"] in RANKINGS]
    if not rows:
        raise ValueError(f"{path} has no rows: run {made_by} --retry-failed")
    order = [*STRATEGIES, *RANKINGS]
    rows.sort(key=lambda row: (order.index(row["strategy"]), row["scale"], order.index(row["ranking"])))
    return Rounding(rows, results["settings"])


def draw(data: Rounding) -> Figure:
    """Draw GOD of the first strategy against the scale, ranked exactly and by rounded confidences."""
    picture = figure(6.6, 3.1)
    axes = picture.subplots()
    if data.random is not None:
        axes.axhline(data.random, color=GREY, linewidth=1.2, linestyle=(0, (6, 3)), label="random order within blocks")
    for ranking, look in RANKINGS.items():
        curve = data.of(data.drawn, ranking)
        scales, means = ([row[field] for row in curve] for field in ("scale", "god_steps"))
        axes.plot(scales, means, label=look.label, **look.style)
        if ranking != "exact":
            middle, low, high = (np.array([row[name] for row in curve]) for name in _DUE)
            ends = np.abs([middle - low, high - middle])
            axes.errorbar(scales, means, yerr=ends, fmt="none", ecolor=look.color, elinewidth=1.0, capsize=2.5)
        scale_axis(axes, scales[0] / 1.4, scales[-1] * 1.4, "scale  [factor]")
    axes.set_ylim(bottom=0)
    axes.set_ylabel("GOD  [steps; 0: left to right]")
    panel_title(axes, f"{STRATEGIES[data.drawn]}, ranked by exact and by rounded confidences")
    axes.legend(loc="lower left")
    return picture


def table(data: Rounding) -> Table:
    """Return every row with what rounding adds."""

    def share(row: Row) -> str | None:
        due = data.share(row)[0]
        return None if row["ranking"] == "exact" or np.isnan(due) else f"{due:+.0f} %"

    columns = [
        Column("strategy", form=lambda row: STRATEGIES[row["strategy"]]),
        Column("scale"),
        Column("ranking"),
        Column("GOD, steps", "god_steps", ".2f"),
        Column("GOD, tokens", "god_tokens", ".2f"),
        Column("due to rounding, steps", form=lambda row: None if row["ranking"] == "exact" else _due(row).text()),
        Column("share due", form=share),
        Column("equal to 1, %", "saturated", ".1f", unit=100),
        Column("other set, %", "inexact", ".1f", unit=100),
    ]
    caption = (
        "GOD in steps and in tokens of each ranking; due to rounding: GOD in steps minus that of the exact ranking on "
        "the same prompts, with its 95 % interval, p of the sign-flip permutation test, corrected over the scales by "
        "Holm's method (* if the interval excludes zero and p is at most 0.05), and as a share of the exact GOD; equal "
        "to 1: share of candidate confidences; other set: share of steps whose committed set is not the one that exact "
        "confidences choose."
    )
    return make_table("saturation", data.rows, columns, caption)


def exhibit(runs: Path) -> Exhibit:
    """Return the figure of what rounding does, from the experiment's results below `runs`."""
    data = compute(runs)
    story, settings = _story(data), data.settings
    random = " The grey line is the mean of a random order within blocks." if data.random is not None else ""
    caption = (
        "Mean GOD at each scale, ranked exactly and by softmax as public decoders rank. Here ties go to the leftmost "
        "position, so a saturated order tends to left to right. Another tie rule need not do so. Bars: 95 % intervals "
        f"of the difference from the exact ranking on the same prompts.{random} Here: model {settings['model']}, "
        f"{data.rows[0]['n']} prompts, {settings['length']} tokens in {settings['steps']} steps; the "
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
        inputs=tuple(f"{NEEDS[0]}/{name}" for name in ("results.json", "summary.csv")),
        story=story,
    )


def _story(data: Rounding) -> Story | None:
    """Return what the page says first: what rounding to bfloat16 makes of GOD, and at how many scales that is shown."""
    rows = [row for row in data.of(data.drawn, "bfloat16") if not np.isnan(data.share(row)[0])]
    if not rows:
        return None
    row, (share, *between) = rows[-1], data.share(rows[-1])
    shown = sum(bool(_due(row).sign) for row in rows if row["god_steps_due_p_holm"] is not None)
    return Story(
        f"At scale {row['scale']:g}, rounding to bfloat16 {'lowers' if share < 0 else 'raises'} GOD by "
        f"{abs(share):.0f} %{': the order becomes almost left to right' if share < -75 else ''}.",
        (
            f"At large scales confidences round to exactly 1: {100 * row['saturated']:.0f} % of them in bfloat16 at "
            f"{row['scale']:g}. Then ties decide, and here they go to the leftmost position.",
            f"{100 * row['inexact']:.0f} % of the steps commit another set than the exact ranking. Log-odds in float64 "
            "do not saturate.",
        ),
        f"On {row['n']} prompts, {min(map(abs, between)):.0f} to {max(map(abs, between)):.0f} % with 95 % "
        f"confidence; an effect is shown at {shown or 'none'} of {len(rows)} scales. The paper does not print its "
        "precision.",
        "rounding",
    )
