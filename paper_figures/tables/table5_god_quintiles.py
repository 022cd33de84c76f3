"""Table 5: win rate of RWS by fifth of GOD, with tests for trend, and what the reward adds at equal GOD.

Shows: the printed shares on an axis of their own. Here, by fifth: the prompts that RWS wins and those that the default
wins, with 95 % intervals. Tables: the trend over prompts, and RWS minus each control at equal GOD.
Inputs: RUNS/reward-bench/results.json, made by `python -m paper_figures experiment reward-bench --out RUNS`.
Run time: two seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.exhibits.differences import ALPHA
from paper_figures.exhibits.exhibit import Exhibit, Picture
from paper_figures.exhibits.findings import tally
from paper_figures.exhibits.names import guide_names, in_words, methods_in
from paper_figures.exhibits.runs import read_run, setting
from paper_figures.exhibits.style import PRINTED, figure, guide_looks, joint_legend, panel_title
from paper_figures.tables.parts.table5_fifths import NO_EFFECT, Fifths, at_equal_god, fifths_tables, share
from rws_theory.printed import printed_in

Row = Mapping[str, Any]

NEEDS = ("reward-bench",)
_SCORED = ("constant", "default")  # in the table all are


def compute(runs: Path) -> Fifths:
    """Read the experiment's outcome below `runs`; MissingRun, with the command, if it is missing."""
    run = read_run(runs, NEEDS[0])
    fifths, trends, equal = (run.rows.get(name, ()) for name in ("god_quintiles", "god_trends", "reward_at_equal_god"))
    if not fifths:
        raise ValueError(f"{runs / NEEDS[0]} has no table god_quintiles: no answer of RWS was judged")
    return Fifths(run, fifths, trends, equal, guide_names(fifths), printed_in("table5_god_quintiles"))


def draw(data: Fifths) -> Figure:
    """Draw the printed lines, hollow and grey, and ours: prompts that RWS wins, and prompts that the default wins."""
    picture = figure(6.6, 4.4)
    left, *panels = picture.subplots(1, 3, sharey=True)
    fifths = range(1, len(data.printed["rows"]) + 1)
    for name, look in guide_looks(data.models).items():
        left.plot(
            fifths,
            [row[name] for row in data.printed["rows"]],
            color=PRINTED,
            linestyle=look.dash,
            linewidth=0.8,
            marker=look.marker,
            markersize=6,
            markerfacecolor="none",
            label=f"printed: {name}",
        )
    panel_title(left, "Printed: RWS wins")
    for axes, outcome, title in zip(panels, ("win", "loss"), ("RWS wins", "default wins"), strict=True):
        _ours(axes, data, outcome)
        panel_title(axes, f"Here: {title}")
    left.set_ylim(-3, 103)
    left.set_ylabel("share of prompts  [percent]")
    for axes in (left, *panels):
        axes.set_xticks(fifths)
        axes.set_xlim(0.5, len(fifths) + 0.5)
    picture.supxlabel("fifth of the prompts by GOD of the RWS answer  [1: lowest GOD, 5: highest]", fontsize=9)
    joint_legend(picture, 3, "outside upper center")
    return picture


def _ours(axes: Axes, data: Fifths, outcome: str) -> None:
    names = list(data.guides.values())
    for index, (name, look) in enumerate(guide_looks(names).items()):
        rows = data.of(name)
        shares = [share(row, outcome) for row in rows]
        shift = (index - (len(names) - 1) / 2) * min(0.16, 0.75 / len(names))
        axes.errorbar(
            [row["fifth"] + shift for row in rows],
            [mean for mean, _, _ in shares],
            yerr=[[abs(interval[0] - interval[end]) for interval in shares] for end in (1, 2)],
            color=look.color,
            linestyle=look.dash,
            linewidth=1.0,
            marker=look.marker,
            markersize=6,
            elinewidth=0.9,
            capsize=2,
            label=f"here: {name}",
        )


def exhibit(runs: Path) -> Exhibit:
    """Return Table 5 from the experiment's results below `runs`."""
    data = compute(runs)
    caption = (
        f"Left, hollow: {data.printed['where']}, without intervals. {setting(data.run)} Middle: prompts that RWS wins "
        "in its guide's judgement; right: those that the default wins, which the paper does not print; Wilson's 95 % "
        f"intervals; the rest are draws. {NO_EFFECT}"
    )
    alt = "Three panels by fifth of GOD: printed win rates, wins of RWS here, wins of the default here. " + " ".join(
        f"{name}: RWS wins {rows[0]['win']:.0%} of the lowest fifth and {rows[-1]['win']:.0%} of the highest, "
        f"the default {rows[0]['loss']:.0%} and {rows[-1]['loss']:.0%}."
        for name in data.guides.values()
        if (rows := data.of(name))
    )
    return Exhibit(
        "Table 5: win rate by fifth of GOD",
        (Picture("table5_god_quintiles", draw(data), caption, alt),),
        fifths_tables(data),
        conclusions=_conclusions(data),
        inputs=data.run.inputs,
    )


def _conclusions(data: Fifths) -> tuple[str, ...]:
    lines = []
    if data.trends:
        count = len(data.trends)
        clear = [row for row in data.trends if row["tau"] is not None and row["p_holm"] <= ALPHA]
        up, down = (sum(sign * row["tau"] > 0 for row in clear) for sign in (1, -1))
        every = sum(bool(row["monotone"]) for row in data.trends)
        lines.append(
            f"From prompts of low GOD to prompts of high GOD the outcome of RWS is shown to rise for {up or 'none'} of "
            f"{count} guides, to fall for {down or 'none'}. A trend would not show an effect of order: prompts "
            "differ in more."
        )
        lines.append(
            f"Shown: Kendall's tau of GOD and outcome, p at most {ALPHA:g} after correction. Wins rise in every fifth "
            f"for {every or 'none'} of {count} guides. {NO_EFFECT}"
        )
        lines += [_trend_line(data, row) for row in data.trends]
    lines += [line for name in data.guides.values() if (line := _ends_line(name, data.of(name)))]
    controls = methods_in(data.equal, "control")
    scored = [control for control in controls if control in _SCORED]
    for outcome, what, named in (("net", "net in points", controls), ("score", "the guide's normalised score", scored)):
        for control in named:
            rows = [row for row in data.equal if (row["outcome"], row["control"]) == (outcome, control)]
            summary = tally([at_equal_god(data, row) for row in rows], "guides")
            lines.append(f"At equal GOD, RWS minus {in_words(control)}, {what}: {summary}")
    return tuple(lines)


def _trend_line(data: Fifths, row: Row) -> str:
    name = data.name(row)
    if row["tau"] is None:
        return f"{name}: no trend can be told ({row['status']})."
    slope = ""
    if row["slope"] is not None:
        slope = "; wins per fifth {:+.1f} [{:+.1f}, {:+.1f}] points".format(
            *(100 * row[end] for end in ("slope", "slope_low", "slope_high"))
        )
    return f"{name}: tau {row['tau']:+.2f}, p {row['p_holm']:.2g}{slope}."


def _ends_line(name: str, rows: Sequence[Row]) -> str | None:
    """Return what becomes of wins, draws and losses from the lowest fifth to the highest."""
    if len(rows) < 2:
        return None
    first, last = rows[0], rows[-1]
    parts = [f"{key} {first[key]:.0%} to {last[key]:.0%}" for key in ("win", "draw", "loss")]
    both = all(last[key] > first[key] for key in ("win", "loss"))
    reading = "; wins and losses rise together, as draws get fewer" if both else ""
    return f"{name}, lowest to highest fifth, without intervals: {', '.join(parts)}{reading}."
