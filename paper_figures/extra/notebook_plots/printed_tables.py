"""Notebook 7: what a number of prompts can say of shares like the printed ones, on a page to drag."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from paper_figures.statistics.sample_size import sign_test_power
from paper_figures.statistics.win_rates import rate_of_counts
from paper_figures.table import Row
from rws_decode.common.page import Page
from rws_decode.extra.pages.case_pages import BarsCase, bars_page

SIZES = tuple(10 * 2**power for power in range(8))  # prompts, of the page


def net_interval(win: float, loss: float, n: int) -> tuple[float, float]:
    """Return the 95 % interval, in points, of a net win rate: n prompts came out at these shares, in percent.

    >>> [round(end, 1) for end in net_interval(60.0, 30.0, 100)]
    [11.6, 46.3]
    """
    won, lost = (round(n * share / 100) for share in (win, loss))
    bounds = rate_of_counts(won, max(n - won - lost, 0), lost).net
    return 100 * bounds.low, 100 * bounds.high


def power_page(rows: Sequence[Row]) -> Page:
    """Return a page on which the number of prompts is dragged: how often each printed row would be seen.

    rows: printed rows with `model`, `win` and `default_win`, in percent of prompts, by rising difference; the first and
    the last are plotted over all numbers.
    """
    power = np.array([[sign_test_power(row["win"] / 100, row["default_win"] / 100, n) for row in rows] for n in SIZES])
    ends = np.array([[net_interval(row["win"], row["default_win"], n) for row in rows] for n in SIZES])
    names = [row["model"] for row in rows]
    first, last = f"{names[0]}, the smallest", f"{names[-1]}, the largest"
    sentences = [
        f"{n:,} prompts: {100 * share[0]:.0f} % of studies see the difference of {names[0]}, {100 * share[-1]:.0f} % "
        f"that of {names[-1]}. The interval of the net win rate of {names[0]} is {low:+.1f} to {high:+.1f} points."
        for n, share, (low, high) in zip(SIZES, power.tolist(), ends[:, 0].tolist(), strict=True)
    ]
    shares = BarsCase(
        "how often the sign test sees it",
        {"studies that see it": power},
        {first: power[:, 0], last: power[:, -1]},
        sentences,
        "share of studies that see the difference",
        "the same, by the number of prompts",
        limits=(0.0, 1.0),
    )
    half = (ends[..., 1] - ends[..., 0]) / 2
    wide = BarsCase(
        "half the width of the interval",
        {"half a width": half},
        {first: half[:, 0], last: half[:, -1]},
        sentences,
        "half the width of the interval [points]",
        "the same, by the number of prompts [points]",
    )
    title, lead = "What N prompts can see", "Take the printed shares of each reward model as the truth."
    return bars_page(title, lead, "N", SIZES, names, [shares, wide], start=80)
