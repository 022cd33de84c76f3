"""Table 1: win rates of RWS against confidence decoding, its GOD, and what the printed table leaves out.

Shows: the printed table beside the same measured here, with intervals and p; then RWS minus its controls, judged by the
reward itself and by all other reward models; and a picture of the net win rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from paper_figures.exhibits.shared.exhibit import (
    GREY,
    LINES,
    Dots,
    Exhibit,
    Mark,
    Picture,
    draw_dots,
    figure,
    height_of,
    joint_legend,
    marks_of,
    panel_title,
)
from paper_figures.exhibits.shared.results import (
    Results,
    Row,
    beside,
    differences_table,
    in_words,
    measured,
    names_of,
    numbers_by,
    read_run,
    rws_minus,
    setting,
    tally,
    with_mean,
)
from paper_figures.table import Column, Table
from rws_theory.printed import printed_in

NEEDS = ("reward-bench",)
DRAWN = ("rws", "constant", "shuffled")
JUDGES = {"net": "own reward", "others_net": "other reward models"}
_STEM = "table1_win_rate"
_DEFAULT = "confidence (default)"
_MINUS = {name: f"net by {title}, points" for name, title in JUDGES.items()}
_MINUS |= {"god_tokens": "GOD, tokens", "cost": "forwards and reward calls"}


@dataclass(frozen=True)
class WinRates:
    """The experiment's table `win_rates`, in percent of prompts, each row with its reward's `name`."""

    run: Results
    rows: Sequence[Row]

    def of(self, name: str, method: str, measure: str) -> Row | None:
        """Return the row of one reward, method and measure; None if there is none, or it has no value."""
        return with_mean(self.rows, name=name, method=method, measure=measure)

    def net(self, method: str) -> str:
        """Return in words for how many rewards the net win rate of RWS is above that of a method."""
        names = names_of(self.rows)
        minus = [rws_minus(self.of(name, method, "net")) for name in names]
        return tally(minus, "rewards", ("above zero", "below zero"))


def compute(runs: Path) -> WinRates:
    """Read the experiment's outcome below `runs`; MissingRun, with the command, if it is missing."""
    run = read_run(runs, NEEDS[0])
    return WinRates(run, run.named("win_rates", "no answer was judged"))


def draw(data: WinRates) -> Figure:
    """Draw the printed net win rates on an axis of their own, and ours by own and by other judges, with intervals."""
    printed: dict[str, Mark] = {
        row["model"]: (row["win"] - row["default_win"], None, None) for row in printed_in(_STEM)["rows"]
    }
    names = names_of(data.rows)
    picture = figure(6.6, 0.9 + max(height_of([*printed], 1), height_of(names, len(DRAWN))))
    judges = {measure: title for measure, title in JUDGES.items() if any(data.of(n, "rws", measure) for n in names)}
    first, *panels = picture.subplots(1, 1 + len(judges), width_ratios=(2, *[3] * len(judges)), squeeze=False)[0]
    draw_dots(first, [*printed], [Dots(LINES["rws"], "RWS, as printed", printed, hollow=True)])
    first.set_xlim(min(0, *first.get_xlim()), 1.1 * max(value for value, _, _ in printed.values()))
    panel_title(first, "Printed: own reward")
    for axes, (measure, title) in zip(panels, judges.items(), strict=True):
        rows = {method: {n: row for n in names if (row := data.of(n, method, measure))} for method in DRAWN}
        series = [Dots(LINES[method], LINES[method].label, marks_of(results)) for method, results in rows.items()]
        draw_dots(axes, names, series, labelled=axes is panels[0])
        panel_title(axes, f"Here: {title}")
    ends = [end for axes in panels for end in axes.get_xlim()]
    for axes in panels:
        axes.set_xlim(min(ends), max(ends))
    for axes in (first, *panels):
        axes.axvline(0, color=GREY, linewidth=1.0)
    picture.supxlabel("net win rate against the default: won minus lost  [percentage points of prompts]", fontsize=9)
    joint_legend(picture, 2, "outside upper center")
    return picture


def tables(data: WinRates) -> tuple[Table, Table]:
    """Return the printed table beside ours, and RWS minus every other method by own and other judges."""
    paper = printed_in(_STEM)
    labels = {"win": "RWS wins, W/(W+L+T), %", "default_win": "default wins, %"}
    printed = {_DEFAULT: {"GOD": paper["default_god"]}}
    for row in paper["rows"]:
        printed[row["model"]] = {"GOD": row["god"]} | {label: row[name] for name, label in labels.items()}
    here = numbers_by(row for row in data.rows if row["method"] == "rws")
    for name, line in here.items():
        tested = data.of(name, "default", "net")
        line["p"] = tested and tested["p_holm"]
    gods = (row for row in data.rows if row["method"] == "default" and row["measure"].startswith("god"))
    here = numbers_by({**row, "name": _DEFAULT, "reward_scale": None} for row in gods) | here
    columns = [Column("s_R"), measured("GOD, tokens", "god_tokens", ".2f")]
    names = {"win": "win", "default_win": "loss"}
    columns += [measured(label, names[name], ".0f") for name, label in labels.items()]
    columns += [measured("net, points", "net", "+.0f"), Column("p of net", "p", ".2g")]
    caption = (
        f"Left: {paper['where']}: {paper['task']}, without intervals. {setting(data.run)} Here too the reward itself "
        "judges. The rest are draws: equal scores. Brackets: 95 % intervals, Wilson's for shares, Tango's for net, "
        "else the bootstrap over prompts. Net: won minus lost; p: sign-flip permutation test of net, corrected over "
        "the rewards by Holm's method. The paper does not say in which unit it counts GOD."
    )
    whole = beside(_STEM, "reward model", printed, here, caption, columns)
    return whole, differences_table("table1_differences", data.rows, _MINUS)


def exhibit(runs: Path) -> Exhibit:
    """Return Table 1 from the experiment's results below `runs`."""
    data = compute(runs)
    printed = [row["win"] - row["default_win"] for row in printed_in(_STEM)["rows"]]
    caption = (
        f"Net win rate against confidence decoding by reward. Left, hollow: {printed_in(_STEM)['where']}, RWS win "
        f"minus default win as printed, without intervals. {setting(data.run)} Bars are 95 % intervals over prompts. "
        "If the fixed factor of equal mean or shuffled rewards gain as much as RWS, no reward was needed. If only the "
        "reward sees a gain, it may be the judge's own taste."
    )
    alt = (
        f"Panels of net win rates, a row per reward: as printed, {min(printed):+.1f} to {max(printed):+.1f} points; "
        "here by the own reward, and by other reward models, with intervals."
    )
    summary = (
        f"Net win rate of RWS against confidence decoding, by its own reward: {data.net('default')}; minus that of "
        f"{in_words('constant')}: {data.net('constant')}."
    )
    pictures = (Picture(_STEM, draw(data), caption, alt),)
    return Exhibit("Table 1: win rates and GOD", pictures, tables(data), conclusions=(summary,), inputs=data.run.inputs)
