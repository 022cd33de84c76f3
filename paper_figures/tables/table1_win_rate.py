"""Table 1: win rates of RWS against the default and GOD, and what the printed table leaves out.

Shows: the printed table beside the same measured here, with intervals and p; then RWS and its controls, judged by their
own guide and by all other reward models; and a picture of the net win rates.
Inputs: RUNS/reward-bench/results.json, made by `python -m paper_figures experiment reward-bench --out RUNS`.
Run time: two seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.exhibits.differences import ALPHA, Difference, difference_from_row
from paper_figures.exhibits.exhibit import Exhibit, Picture
from paper_figures.exhibits.findings import tally
from paper_figures.exhibits.names import controls_of, guide_names, in_words
from paper_figures.exhibits.runs import read_run, setting
from paper_figures.exhibits.style import GREY, LINES, PRINTED, figure, joint_legend, panel_title
from paper_figures.tables.parts.table1_all_judges import JUDGES, WinRates, win_rate_tables
from rws_theory.printed import printed_in

Row = Mapping[str, Any]

NEEDS = ("reward-bench",)
DRAWN = ("rws", "constant", "shuffled")


def compute(runs: Path) -> WinRates:
    """Read the experiment's outcome below `runs`; MissingRun, with the command, if it is missing."""
    run = read_run(runs, NEEDS[0])
    rows = run.rows.get("win_rates", ())
    if not rows:
        raise ValueError(f"{runs / NEEDS[0]} has no table win_rates: no answer was judged")
    return WinRates(run, rows, guide_names(rows), printed_in("table1_win_rate"))


def draw(data: WinRates) -> Figure:
    """Draw the printed net win rates on an axis of their own, and ours by own and by other judges, with intervals."""
    printed = data.printed["rows"]
    picture = figure(6.6, 1.6 + 0.42 * max(len(printed), len(data.guides)))
    judges = {name: title for name, title in JUDGES.items() if any(data.of(key, "rws", name) for key in data.guides)}
    panels = picture.subplots(1, 1 + len(judges), width_ratios=(2, *[3] * len(judges)), squeeze=False)[0]
    names = [row["model"] for row in printed]
    panels[0].plot(
        [row["win"] - row["default_win"] for row in printed],
        range(len(printed)),
        linestyle="none",
        marker=LINES["rws"].marker,
        markersize=6,
        markerfacecolor="none",
        markeredgecolor=PRINTED,
        label="RWS, as printed",
    )
    panel_title(panels[0], "Printed: own guide")
    for axes, (measure, title) in zip(panels[1:], judges.items(), strict=True):
        _judged(axes, data, measure)
        panel_title(axes, f"Here: {title}")
    guides = [*data.guides.values()]
    for index, axes in enumerate(panels):
        rows = guides if index else names
        axes.set_yticks(range(len(rows)), rows if index < 2 else [""] * len(rows))
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.axvline(0, color=GREY, linewidth=1.0)
        axes.grid(visible=False, axis="y")
    panels[0].set_xlim(min(0, *(panels[0].get_xlim())), None)
    ends = [end for axes in panels[1:] for end in axes.get_xlim()]
    for axes in panels[1:]:
        axes.set_xlim(min(ends), max(ends))
    picture.supxlabel("net win rate against the default: won minus lost  [percentage points of prompts]", fontsize=9)
    joint_legend(picture, 2, "outside upper center")
    return picture


def _judged(axes: Axes, data: WinRates, measure: str) -> None:
    methods = [method for method in DRAWN if any(data.of(key, method, measure) for key in data.guides)]
    for index, method in enumerate(methods):
        look, shift = LINES[method], 0.24 * (index - (len(methods) - 1) / 2)
        points = [(at + shift, row) for at, key in enumerate(data.guides) if (row := data.of(key, method, measure))]
        axes.errorbar(
            [row["mean"] for _, row in points],
            [at for at, _ in points],
            xerr=[[abs(row["mean"] - row[end]) for _, row in points] for end in ("low", "high")],
            linestyle="none",
            marker=look.marker,
            color=look.color,
            elinewidth=1.1,
            capsize=2,
            label=look.label,
        )


def exhibit(runs: Path) -> Exhibit:
    """Return Table 1 from the experiment's results below `runs`."""
    data = compute(runs)
    nets = [data.net(key) for key in data.guides]
    others = [data.net(key, "others_net") for key in data.guides]
    printed = [row["win"] - row["default_win"] for row in data.printed["rows"]]
    drawn = [LINES[method].label for method in DRAWN if any(row["method"] == method for row in data.rows)]
    caption = (
        f"Net win rate against the default by guide. Left, hollow: {data.printed['where']}, RWS win minus default win "
        f"as printed, without intervals. {setting(data.run)} Bars are 95 % intervals over prompts. If the "
        "constant of equal mean or shuffled rewards gain as much as RWS, no reward was needed. If only the guide sees "
        "a gain, it may be the judge's own taste."
    )
    alt = (
        f"Three panels of net win rates, a row per guide: as printed, from {min(printed):+.1f} to {max(printed):+.1f} "
        f"points; here by the own guide, and by other reward models, with intervals, for {'; '.join(drawn)}. "
        + " ".join(f"{net.name}: RWS {net.value:+.0f} points by its own guide." for net in nets if net)
        + " ".join(["", *(f"{net.name}: {net.value:+.0f} by the others." for net in others if net)])
    )
    return Exhibit(
        "Table 1: win rates and GOD",
        (Picture("table1_win_rate", draw(data), caption, alt),),
        win_rate_tables(data),
        conclusions=_conclusions(data, nets, others),
        inputs=data.run.inputs,
    )


def _conclusions(
    data: WinRates, nets: Sequence[Difference | None], others: Sequence[Difference | None]
) -> tuple[str, ...]:
    words = ("above zero", "below zero")
    first = f"Net win rate of RWS against the default, by its own guide: {tally(nets, 'guides', words, brief=True)}"
    constant = [difference_from_row(name, data.of(key, "constant", "net")) for key, name in data.guides.items()]
    if any(constant):
        summary = tally(constant, "guides", words, brief=True)
        first += f"; minus that of {in_words('constant')}: {summary}"
    lines = [f"{first}."]
    rule = f"interval without zero, and corrected p at most {ALPHA:g}"
    lines.append(f"That net win rate, points ({rule}): {tally(nets, 'guides', words)}")
    if any(others):
        lines.append(f"The same answers, by other reward models: {tally(others, 'guides', words)}")
    for control in controls_of(data.rows):
        differences = [difference_from_row(name, data.of(key, control, "net")) for key, name in data.guides.items()]
        lines.append(f"RWS minus {in_words(control)}, net by its own guide: {tally(differences, 'guides')}")
    gods = [difference_from_row(name, data.of(key, "default", "god_tokens")) for key, name in data.guides.items()]
    lines.append(f"GOD of RWS minus that of the default, in tokens: {tally(gods, 'guides')}")
    return tuple(lines)
