"""Table 5: win rate of RWS by fifth of GOD, with a test for trend, and what the reward adds at equal GOD.

Shows: the printed shares on an axis of their own. Here, by fifth: the prompts that RWS wins and those that the default
wins, with 95 % intervals. Table: RWS minus each control at equal GOD.
Inputs: RUNS/reward-bench/results.json, made by `python -m paper_figures experiment reward-bench --out RUNS`.
Run time: two seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.exhibits.differences import ALPHA, Difference
from paper_figures.exhibits.exhibit import Exhibit, Picture
from paper_figures.exhibits.names import method_name, names_of, with_guide_names
from paper_figures.exhibits.paper_beside_ours import beside
from paper_figures.exhibits.runs import Results, read_run, setting
from paper_figures.exhibits.style import PRINTED, figure, guide_looks, joint_legend, panel_title
from paper_figures.statistics.intervals import share_interval
from paper_figures.table import Column, Table, make_table
from rws_theory.printed import printed_in

Row = Mapping[str, Any]

NEEDS = ("reward-bench",)
_STEM = "table5_god_quintiles"
_NO_EFFECT = (
    "A trend over prompts does not show an effect of order, because prompts differ in more than GOD: an answer that "
    "RWS does not change is a draw, whatever its GOD."
)


@dataclass(frozen=True)
class Fifths:
    """The experiment's tables of fifths, trends and effects at equal GOD, each row with its guide's `name`."""

    run: Results
    fifths: Sequence[Row]
    trends: Sequence[Row]
    equal: Sequence[Row]

    def of(self, name: str) -> list[Row]:
        """Return the fifths of one guide that hold prompts, from the lowest GOD."""
        rows = [row for row in self.fifths if row["name"] == name and row["n"]]
        return sorted(rows, key=lambda row: row["fifth"])


def compute(runs: Path) -> Fifths:
    """Read the experiment's outcome below `runs`; MissingRun, with the command, if it is missing."""
    run = read_run(runs, NEEDS[0])
    fifths, trends, equal = (
        with_guide_names(run.rows.get(name, ()), run.settings["rewards"])
        for name in ("god_quintiles", "god_trends", "reward_at_equal_god")
    )
    if not fifths:
        raise ValueError(f"{runs / NEEDS[0]} has no table god_quintiles: no answer of RWS was judged")
    return Fifths(run, fifths, trends, equal)


def models() -> list[str]:
    """Return the paper's reward models, in the order of the printed columns."""
    return [name for name in printed_in(_STEM)["rows"][0] if name != "quintile"]


def share(row: Row, outcome: str) -> tuple[float, float, float]:
    """Return a fifth's share of an outcome, "win" or "loss", in percent with Wilson's 95 % interval.

    >>> share({"n": 4, "win": 0.5, "loss": 0.25}, "loss")[0]
    25.0
    """
    mean, low, high = share_interval(round(row[outcome] * row["n"]), row["n"])
    return 100 * mean, 100 * low, 100 * high


def draw(data: Fifths) -> Figure:
    """Draw the printed lines, hollow and grey, and ours: prompts that RWS wins, and prompts that the default wins."""
    picture, printed = figure(6.6, 4.4), printed_in(_STEM)["rows"]
    left, *panels = picture.subplots(1, 3, sharey=True)
    fifths = range(1, len(printed) + 1)
    for name, look in guide_looks(models()).items():
        style: dict[str, Any] = {"color": PRINTED, "linestyle": look.dash, "linewidth": 0.8, "markerfacecolor": "none"}
        style |= {"marker": look.marker, "markersize": 6, "label": f"printed: {name}"}
        left.plot(fifths, [row[name] for row in printed], **style)
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
    names = names_of(data.fifths)
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


def tables(data: Fifths) -> tuple[Table, ...]:
    """Return the printed table beside ours, and RWS minus each control at equal GOD."""
    paper, names = printed_in(_STEM), names_of(data.fifths)
    labels = [row["quintile"] for row in paper["rows"]]
    printed = {row["quintile"]: {name: row[name] for name in models()} for row in paper["rows"]}
    here: dict[str, dict[str, Any]] = {label: {} for label in labels}
    for name in names:
        for row in data.of(name):
            fields = (name, f"{name} low", f"{name} high")
            here[labels[row["fifth"] - 1]] |= dict(zip(fields, share(row, "win"), strict=True))
    caption = (
        f"Left: {paper['where']}, {paper['task']}, without intervals. {setting(data.run)} The same here: percent of "
        "prompts that RWS wins in its guide's judgement, with Wilson's 95 % interval, by fifth of GOD in tokens; equal "
        f"GOD is in one fifth. {_NO_EFFECT}"
    )
    columns = [Column(name, form=".0f", ends=(f"{name} low", f"{name} high")) for name in names]
    return beside(_STEM, "fifth of GOD", printed, here, caption, columns), _equal(data)


def _equal(data: Fifths) -> Table:
    outcomes = {"net": "net, points", "score": "guide's score, normalised"}
    columns = [
        Column("outcome", form=lambda row: outcomes.get(row["outcome"], row["outcome"])),
        Column("RWS minus", form=lambda row: method_name(row["control"])),
        Column("guide", "name"),
        Column("difference", form=lambda row: _minus(row, "difference")),
        Column("at equal GOD", form=lambda row: _minus(row, "alpha")),
        Column("status"),
    ]
    caption = (
        "Does order or reward bring the wins? RWS minus each control on the same prompts: the whole difference, and, "
        "by least squares on the difference in GOD, what is left at equal GOD, with 95 % intervals and p corrected "
        "over the guides by Holm's method. GOD is itself an outcome of decoding, so no number here is an effect of "
        "order alone. The CSV has the slope too."
    )
    return make_table("table5_equal_god", data.equal, columns, caption)


def _minus(row: Row, field: str) -> str | None:
    if row[field] is None or (field == "alpha" and row["status"] == "constant"):
        return None
    # What resampling leaves of zero is of the size of rounding.
    unit = 100.0 if row["outcome"] == "net" else 1.0
    value, low, high = (round(unit * row[key], 9) + 0.0 for key in (field, f"{field}_low", f"{field}_high"))
    return Difference(row["name"], value, low, high, row["p_holm"] if field == "alpha" else None).text()


def exhibit(runs: Path) -> Exhibit:
    """Return Table 5 from the experiment's results below `runs`."""
    data = compute(runs)
    caption = (
        f"Left, hollow: {printed_in(_STEM)['where']}, without intervals. {setting(data.run)} Middle: prompts that RWS "
        "wins in its guide's judgement; right: those that the default wins, which the paper does not print; Wilson's "
        f"95 % intervals; the rest are draws. {_NO_EFFECT}"
    )
    alt = "Three panels by fifth of GOD: printed win rates, wins of RWS here, wins of the default here."
    clear = [row for row in data.trends if row["tau"] is not None and row["p_holm"] <= ALPHA]
    up, down = (sum(sign * row["tau"] > 0 for row in clear) for sign in (1, -1))
    said = (
        f"From prompts of low GOD to prompts of high GOD the outcome of RWS is shown to rise for {up or 'none'} of "
        f"{len(data.trends)} guides, to fall for {down or 'none'} (Kendall's tau, p at most {ALPHA:g} after "
        "correction). A trend would not show an effect of order: prompts differ in more."
    )
    return Exhibit(
        "Table 5: win rate by fifth of GOD",
        (Picture(_STEM, draw(data), caption, alt),),
        tables(data),
        conclusions=(said,),
        inputs=data.run.inputs,
    )
