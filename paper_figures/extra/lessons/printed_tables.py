"""The printed tables against each other, and what a number of prompts can say of shares like theirs: lesson 7."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from paper_figures.exhibits.shared.exhibit import GREY, LINES, figure, styled
from paper_figures.extra.lessons.case_pages import BarsCase, bars_page
from paper_figures.plan import make_missing
from paper_figures.statistics.sample_size import sign_test_power
from paper_figures.statistics.win_rates import rate_of_counts
from paper_figures.table import Row
from rws_decode.common.page import Page
from rws_theory.printed import printed_in

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZES = tuple(10 * 2**power for power in range(8))  # prompts, of the page
_SMALL = (
    "--prompts 8 --validation 0 --reward-scale 8 --rewards mini --judges mini-judge "
    "--methods rws constant shuffled --length 32 --steps 16 --block 32"
)


def fifths() -> dict[str, list[float]]:
    """Return the win rates of Table 5 in its five fifths: reward model -> percent of prompts."""
    models = [row["model"] for row in printed_in("table1_win_rate")["rows"]]
    return {model: [row[model] for row in printed_in("table5_god_quintiles")["rows"]] for model in models}


def draw_contradictions() -> Figure:
    """Draw Table 1 beside the mean of the fifths of Table 5, and Table 8 beside the GOD of the default in Table 12."""
    with styled():
        picture = figure(10.0, 3.8)
        left, right = picture.subplots(1, 2, width_ratios=(5, 4))
        _win_rates(left)
        _gods(right)
    return picture


def _win_rates(axes: Axes) -> None:
    rows, parts = printed_in("table1_win_rate")["rows"], fifths()
    place = np.arange(len(rows))
    ends = np.array([(min(values), max(values)) for values in parts.values()])
    means = [np.mean(values) for values in parts.values()]
    axes.hlines(place + 0.12, *ends.T, color=GREY, linewidth=1, label="Table 5, range")
    axes.plot(means, place + 0.12, "D", color=LINES["temperature"].color, label="Table 5, mean of fifths")
    axes.plot([row["win"] for row in rows], place - 0.12, "s", color=LINES["rws"].color, label="Table 1")
    axes.set_yticks(place, list(parts))
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel("win rate of RWS, as printed [% of prompts]")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.16), ncols=3, frameon=False)


def _gods(axes: Axes) -> None:
    scales, gods = ([row[name] for row in printed_in("table8_temperature")["rows"]] for name in ("scale", "god"))
    color, at_one = LINES["temperature"].color, scales.index(1.0)
    axes.plot(scales, gods, marker="o", color=color, label="temperature (Table 8)")
    default = printed_in("table12_frequency")["default"]["god"]
    axes.axhline(default, color="black", linestyle=":", label="the default (Table 12)")
    axes.plot(1.0, gods[at_one], "o", color="white", markeredgecolor=color, markersize=10, zorder=3)
    axes.annotate(
        "scale 1 is the default", (1.0, gods[at_one]), (-8, 22), textcoords="offset points", ha="right", fontsize=9
    )
    axes.set_xscale("log")
    axes.set_xticks(scales, [f"{scale:g}" for scale in scales])
    axes.set_xticks([], minor=True)
    axes.set_ylim(0)
    axes.set_xlabel("scale $c$")
    axes.set_ylabel("GOD, as printed [unit not said]")
    axes.legend(loc="lower right")


def runs_of(folder: str | os.PathLike[str]) -> Path:
    """Return the folder that RWS_RUNS names; without it a very small `reward-bench`, run into the folder, by `mini`."""
    if own := os.environ.get("RWS_RUNS"):
        return Path(own)
    with contextlib.redirect_stderr(io.StringIO()):  # progress, and the folder's name
        make_missing(Path(folder), ["reward-bench"], plan={"reward-bench": _SMALL})
    return Path(folder)


def net_interval(win: float, loss: float, n: int) -> tuple[float, float]:
    """Return the 95 % interval, in points, of a net win rate: n prompts came out at these shares, in percent.

    >>> [round(end, 1) for end in net_interval(60.0, 30.0, 100)]
    [11.6, 46.3]
    """
    won, lost = (round(n * share / 100) for share in (win, loss))
    bounds = rate_of_counts(won, max(n - won - lost, 0), lost).net
    return 100 * bounds.low, 100 * bounds.high


def power_of(row: Row, n: int) -> float:
    """Return the probability that the sign test of n prompts sees the shares of a printed row."""
    return sign_test_power(row["win"] / 100, row["default_win"] / 100, n)


def draw_precision(rows: Sequence[Row], own: Sequence[Row]) -> Figure:
    """Draw the interval of the net win rate and the power of the sign test by the number of prompts.

    rows: two printed rows; own: rows of a study's win rates, with `n`, `mean`, `low` and `high` in points.
    """
    numbers = np.unique(np.geomspace(8, 1000, 30).astype(int)).tolist()
    with styled():
        picture = figure(10.0, 3.8)
        left, right = picture.subplots(1, 2)
        for row, look, hatch in zip(rows, (LINES["temperature"], LINES["rws"]), ("", "///"), strict=True):
            ends = np.array([net_interval(row["win"], row["default_win"], n) for n in numbers])
            name = f"{row['model']}: {row['win']} % won, {row['default_win']} % lost"
            style = {"color": look.color, "alpha": 0.25, "hatch": hatch, "edgecolor": look.color}
            left.fill_between(numbers, *ends.T, label=name, **style)
            right.plot(numbers, [power_of(row, n) for n in numbers], color=look.color, linestyle=look.dash, label=name)
        for place, row in enumerate(own):
            bars = [[row["mean"] - row["low"]], [row["high"] - row["mean"]]]
            style = {"fmt": "o", "color": "black", "markerfacecolor": "white", "capsize": 3}
            left.errorbar(row["n"] * 1.06**place, row["mean"], yerr=bars, **style)
        left.axhline(0, color="black", linewidth=0.8)
        right.axhline(0.8, color=GREY, linestyle=":")
        right.annotate("80 %", (8, 0.8), (0, 3), textcoords="offset points", fontsize=9)
        for axes, label in ((left, "net win rate, 95 % interval [points]"), (right, "probability of p at most 0.05")):
            axes.set_xscale("log")
            axes.set_xticks([10, 100, 1000], ["10", "100", "1,000"])
            axes.set_xlabel("prompts")
            axes.set_ylabel(label)
            axes.legend(loc="lower right")
        right.set_ylim(0, 1.02)
    return picture


def power_page(rows: Sequence[Row]) -> Page:
    """Return a page on which the number of prompts is dragged: how often each printed row would be seen.

    rows: printed rows with `model`, `win` and `default_win`, in percent of prompts, by rising difference; the first and
    the last are drawn over all numbers.
    """
    power = np.array([[power_of(row, n) for row in rows] for n in SIZES])
    ends = np.array([[net_interval(row["win"], row["default_win"], n) for row in rows] for n in SIZES])
    names = [row["model"] for row in rows]
    first, last = f"{names[0]}, the smallest", f"{names[-1]}, the largest"
    said = [
        f"{n:,} prompts: {100 * at[0]:.0f} % of studies see the difference of {names[0]}, {100 * at[-1]:.0f} % that "
        f"of {names[-1]}. The interval of the net win rate of {names[0]} is {low:+.1f} to {high:+.1f} points."
        for n, at, (low, high) in zip(SIZES, power.tolist(), ends[:, 0].tolist(), strict=True)
    ]
    seen = BarsCase(
        "how often the sign test sees it",
        {"studies that see it": power},
        {first: power[:, 0], last: power[:, -1]},
        said,
        "share of studies that see the difference",
        "the same, by the number of prompts",
        limits=(0.0, 1.0),
    )
    half = (ends[..., 1] - ends[..., 0]) / 2
    wide = BarsCase(
        "half the width of the interval",
        {"half a width": half},
        {first: half[:, 0], last: half[:, -1]},
        said,
        "half the width of the interval [points]",
        "the same, by the number of prompts [points]",
    )
    lead = "How many prompts does it take? Take the printed shares of each reward model as the truth."
    return bars_page("What N prompts can see", lead, "N", SIZES, names, [seen, wide], start=80)
