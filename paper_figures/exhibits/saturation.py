"""What rounding does to the generation order: GOD against the scale, ranked exactly and by rounded confidences.

Shows: GOD of temperature, ranked by log-odds, which order positions as exact confidences do, and by softmax in float32
and in bfloat16. The table has the same of RWS and of a fixed factor, the share of GOD that is due to rounding, how
many confidences are exactly 1, and how many steps commit another set than the exact ranking.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from paper_figures.exhibits.shared.exhibit import GREY, LINES, Exhibit, Picture, Story, figure, panel_title
from paper_figures.exhibits.shared.results import Difference, Row, capital, lookup, method_name, read_named
from paper_figures.table import Column, Table, make_table
from rws_decode.view.plots.axes import scale_axis
from rws_theory import footrule_mean

NEEDS: tuple[str, ...] = ("precision",)
RANKINGS = {
    "exact": replace(LINES["default"], label="exact (log-odds, float64)"),
    "float32": replace(LINES["a"], label="softmax in float32"),
    "bfloat16": replace(LINES["b"], label="softmax in bfloat16"),
}


def compute(runs: Path) -> Row:
    """Read the experiment's outcome, whose `summary` has a row per strategy, scale and ranking, in this order."""
    return read_named(runs, NEEDS[0], ("summary", "settings"))


def random_god(settings: Row) -> float | None:
    """Return the mean GOD in steps of a random order within blocks; None if steps commit unequal numbers."""
    length, steps, block = (settings[name] for name in ("length", "steps", "block"))
    even = not length % steps and not block % (length // steps)
    return footrule_mean(length, block, per_step=length // steps, reading="steps") if even else None


def curve_of(rows: Sequence[Row], ranking: str) -> list[Row]:
    """Return the rows that are plotted, by rising scale: those of the first strategy that was run."""
    return [row for row in rows if (row["strategy"], row["ranking"]) == (rows[0]["strategy"], ranking)]


def share_of(rows: Sequence[Row], row: Row) -> list[float] | None:
    """Return what rounding adds, and its interval, as percent of the exact GOD; None where that is 0, or asked of."""
    exact = lookup(rows, strategy=row["strategy"], scale=row["scale"], ranking="exact")
    mean = exact["god_steps"] if exact and exact is not row else None
    return [100 * end / mean for end in _due(row)[:3]] if mean else None


def _due(row: Row) -> Difference:
    """Return what rounding adds to a mean GOD in steps."""
    return Difference(*(row[f"god_steps_due{end}"] for end in ("", "_low", "_high", "_p_holm")))


def draw(data: Row) -> Figure:
    """Draw GOD of the first strategy against the scale, ranked exactly and by rounded confidences."""
    picture, rows, random = figure(6.6, 3.1), data["summary"], random_god(data["settings"])
    axes = picture.subplots()
    if random is not None:
        axes.axhline(random, color=GREY, linewidth=1.2, linestyle=(0, (6, 3)), label="random order within blocks")
    for ranking, look in RANKINGS.items():
        curve = curve_of(rows, ranking)
        scales, means = ([row[field] for row in curve] for field in ("scale", "god_steps"))
        axes.plot(scales, means, label=look.label, **look.style)
        if ranking != "exact":
            ends = np.abs([(due.value - due.low, due.high - due.value) for due in map(_due, curve)])
            axes.errorbar(scales, means, yerr=ends.T, fmt="none", ecolor=look.color, elinewidth=1.0, capsize=2.5)
        scale_axis(axes, scales[0] / 1.4, scales[-1] * 1.4, "scale  [factor]")
    axes.set_ylim(bottom=0)
    axes.set_ylabel("GOD  [steps; 0: left to right]")
    panel_title(axes, f"{capital(method_name(rows[0]['strategy']))}, ranked by exact and by rounded confidences")
    axes.legend(loc="lower left")
    return picture


def table(data: Row) -> Table:
    """Return every row with what rounding adds."""

    def due(row: Row) -> str | None:
        return None if row["ranking"] == "exact" else _due(row).text()

    def share(row: Row) -> str | None:
        return f"{shares[0]:+.0f} %" if (shares := share_of(data["summary"], row)) else None

    columns = [Column("strategy", form=lambda row: capital(method_name(row["strategy"])))]
    columns += [Column("scale"), Column("ranking")]
    columns += [Column("GOD, steps", "god_steps", ".2f"), Column("GOD, tokens", "god_tokens", ".2f")]
    columns += [Column("due to rounding, steps", form=due), Column("share due", form=share)]
    shares = {"equal to 1, %": "saturated", "other set, %": "inexact"}
    columns += [Column(name, field, ".1f", unit=100) for name, field in shares.items()]
    caption = (
        "GOD in steps and in tokens of each ranking; due to rounding: GOD in steps minus that of the exact ranking on "
        "the same prompts, with its 95 % interval, p of the sign-flip permutation test, corrected over the scales by "
        "Holm's method (* if the interval excludes zero and p is at most 0.05), and as a share of the exact GOD; equal "
        "to 1: share of candidate confidences; other set: share of steps whose committed set is not the one that exact "
        "confidences choose."
    )
    return make_table("saturation", data["summary"], columns, caption)


def exhibit(runs: Path) -> Exhibit:
    """Return the figure of what rounding does, from the experiment's results below `runs`."""
    data = compute(runs)
    story, settings = _story(data), data["settings"]
    random = " The grey line is the mean of a random order within blocks." if random_god(settings) is not None else ""
    caption = (
        "Mean GOD at each scale, ranked exactly and by softmax as public decoders rank. Here ties go to the leftmost "
        "position, so a saturated order tends to left to right. Another tie rule need not do so. Bars: 95 % intervals "
        f"of the difference from the exact ranking on the same prompts.{random} Here: model {settings['model']}, "
        f"{data['summary'][0]['n']} prompts, {settings['length']} tokens in {settings['steps']} steps; the "
        "paper: LLaDA, other prompts and length. Shapes can be compared, levels cannot. GOD is of the whole canvas and "
        "so includes end-of-text filler, of which short answers have more."
    )
    alt = "Curves of GOD against the scale, one per ranking: exact, softmax in float32 and in bfloat16."
    summary = ("The results have no exact GOD above 0, of which an effect could be a share.",)
    summary = (story.claim, story.caveat) if story else summary
    picture, inputs = Picture("rounding", draw(data), caption, alt), ("precision/results.json", "precision/summary.csv")
    return Exhibit("What rounding does to the generation order", (picture,), (table(data),), summary, inputs, story)


def _story(data: Row) -> Story | None:
    """Return what the page says first: what rounding to bfloat16 makes of GOD, and at how many scales that is shown."""
    rows = [row for row in curve_of(data["summary"], "bfloat16") if share_of(data["summary"], row)]
    if not rows:
        return None
    row, (share, *between) = rows[-1], share_of(data["summary"], rows[-1]) or []
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
