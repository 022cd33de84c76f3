"""What the positions of words change: GOD, log-probability and reward in a world at every locality.

Shows: mean GOD against locality for the default, temperature and RWS, beside left to right and the mean of a random
order; mean log-probability and reward of each method minus those of the default at the same locality.
Inputs: RUNS/locality/results.json, made by `python -m paper_figures experiment locality --out RUNS`.
Run time: a second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.exhibits.differences import Difference, minus_text, span
from paper_figures.exhibits.exhibit import Exhibit, Picture
from paper_figures.exhibits.findings import tally
from paper_figures.exhibits.names import method_name
from paper_figures.exhibits.runs import read_named
from paper_figures.exhibits.style import GREY, LINES, Line, figure, joint_legend, panel_title
from paper_figures.plan import command
from paper_figures.table import Table
from rws_theory import footrule_mean

__all__ = ["Localities", "compute", "conclusions", "draw", "exhibit", "table"]

Row = Mapping[str, Any]

NEEDS: tuple[str, ...] = ("locality",)
_LOOKS = {
    **{name: LINES[name] for name in ("default", "temperature", "rws", "constant", "shuffled", "left-to-right")},
    "random-order": Line("#E69F00", "P", (0, (7, 2, 2, 2)), "random order"),
}
_ORDERED = ("default", "temperature", "rws")  # whose GOD is drawn
_NAMES = {"log_probability": "log-probability", "normalised_score": "reward"}
_LINEAR = 10.0  # nats; longer differences are drawn by their logarithm


@dataclass(frozen=True)
class Localities:
    """The study's outcome: rows of its summary by method, locality and measure; rows of what is the same; settings."""

    summary: Sequence[Row]
    same: Sequence[Row]
    settings: Row

    @property
    def methods(self) -> list[str]:
        """Return the methods that were run, in the order of the legend."""
        present = {row["method"] for row in self.summary}
        return [name for name in _LOOKS if name in present]

    @property
    def localities(self) -> list[float]:
        """Return the localities, falling: from left to right to random."""
        return sorted({row["locality"] for row in self.summary}, reverse=True)

    @property
    def prompts(self) -> int:
        """Return the number of prompts behind every mean."""
        return max(row["n"] for row in self.summary)

    @property
    def random(self) -> float | None:
        """Return the mean GOD in steps of a random order within blocks; None if steps commit unequal numbers."""
        length, steps, block = (self.settings[name] for name in ("length", "steps", "block"))
        if length % steps or block % (length // steps):
            return None
        return footrule_mean(length, block, per_step=length // steps, reading="steps")

    def curve(self, method: str, measure: str) -> list[Row]:
        """Return the rows of a method and measure by falling locality."""
        rows = [row for row in self.summary if (row["method"], row["measure"]) == (method, measure)]
        return sorted(rows, key=lambda row: -row["locality"])

    def share(self, method: str, measure: str, locality: float) -> float | None:
        """Return the share of prompts with the same words or commits; None if there was nothing to compare with."""
        match = (method, measure, locality)
        return next(row["mean"] for row in self.same if (row["method"], row["measure"], row["locality"]) == match)

    def everywhere(self, method: str, measure: str) -> bool:
        """Return whether a method has the same words, or commits, at every locality on every prompt."""
        return all(self.share(method, measure, locality) == 1 for locality in self.localities)


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
    for method in _ORDERED:
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
        axes.set_ylabel(f"{_NAMES[measure]}\nminus default's  [{unit}]")
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
    rows, look = data.curve(method, measure), _LOOKS[method]
    if not rows:
        return
    middle, low, high = (np.array([row[field] for row in rows]) for field in fields)
    together = [name for name in data.methods if name in _ORDERED] if measure == "god_steps" else data.methods[1:]
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


def table(data: Localities) -> Table:
    """Return a line per method and locality with GOD, log-probability, reward, and what is the same."""
    cells = {(row["method"], row["locality"], row["measure"]): row for row in data.summary}
    shown = []
    for method in data.methods:
        for locality in data.localities:
            god, tokens, log_p, reward = (
                cells[method, locality, name] for name in ("god_steps", "god_tokens", *_NAMES)
            )
            names = ("default_words", "rws_words", "same_words", "same_commits")
            shares = [_percent(data.share(method, name, locality)) for name in names]
            shown.append(
                {
                    "method": _name(method),
                    "locality": f"{locality:g}",
                    "GOD, steps": span(god, form=".2f"),
                    "GOD, tokens": span(tokens, form=".2f"),
                    "GOD minus default's, steps": _minus(god),
                    "log p, nats": f"{log_p['mean']:.1f}",
                    "minus default's, nats": _minus(log_p),
                    "reward, deviations": f"{reward['mean']:+.2f}",
                    "minus default's, deviations": _minus(reward),
                }
                | dict(zip(("default's words", "RWS's words", "own words", "own steps"), shares, strict=True))
            )
    caption = (
        "Means over prompts. In brackets: 95 % bootstrap interval; of a difference from the default at the same "
        "locality on the same prompts, with p of the sign-flip permutation test, corrected over the localities by "
        "Holm's method, and * if the interval excludes zero. Default's words, RWS's words: share of prompts with its "
        "answer at that locality. Own words: with the answer of the method itself at locality "
        f"{data.localities[0]:g}; own steps: with each word at the same step, too. Log p is of all words of the answer after the prompt."
    )
    return Table("locality", data.summary, shown, caption)


def _name(method: str) -> str:
    return _LOOKS[method].label if method in ("left-to-right", "random-order") else method_name(method)


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{share:.0%}"


def _minus(row: Row) -> str | None:
    if row["difference"] is None:
        return None
    ends = {"low": row["difference_low"], "high": row["difference_high"], "p_holm": row["p_holm"]}
    return minus_text({"difference": row["difference"], **ends})


def conclusions(data: Localities) -> tuple[str, ...]:
    """Return in words where the default is left to right, what is the same at every locality, and what RWS does."""
    lines = [_headline(data), _unmoved(data), *_as_rws(data)]
    for method in data.methods[1:]:
        if method in _ORDERED:
            lines.append(
                f"GOD of {_name(method)} minus the default's, in steps: {_compared(data, method, 'god_steps')}"
            )
    for measure, unit in (("log_probability", "nats"), ("normalised_score", "deviations")):
        for method in data.methods[1:]:
            start = f"{_NAMES[measure].capitalize()} of {_name(method)} minus the default's, in {unit}"
            lines.append(f"{start}: {_compared(data, method, measure)}")
    return tuple(lines)


def _headline(data: Localities) -> str:
    rows = data.curve("default", "god_steps")
    ends = [f"{span(row, form='.2f')} at locality {row['locality']:g}" for row in (rows[0], rows[-1])]
    random = "" if data.random is None else f" A random order has {data.random:.2f} on average, left to right 0."
    return f"The default's GOD in steps is {' and '.join(ends)}.{random}"


def _unmoved(data: Localities) -> str:
    """Return in words which methods write the same, and commit the same, at every locality."""
    words = [method for method in data.methods if data.everywhere(method, "same_words")]
    steps = [method for method in words if data.everywhere(method, "same_commits")]
    others = [method for method in data.methods if method not in words]
    parts = [("the same words at every locality", words), ("each of them at the same step, too", steps)]
    parts.append(("other words at some locality", others))
    said = [f"{what}: {', '.join(map(_name, methods))}" for what, methods in parts if methods]
    return f"On every prompt, {'; '.join(said[:-1] if others else said)}." + (
        f" On some, {said[-1]}." if others else ""
    )


def _as_rws(data: Localities) -> list[str]:
    """Return in words how often a control of RWS writes its words."""
    parts = []
    for method in ("constant", "shuffled", "temperature"):
        shares = [data.share(method, "rws_words", row["locality"]) for row in data.curve(method, "god_steps")]
        found = [share for share in shares if share is not None]
        if found:
            ends = dict.fromkeys(f"{end:.0%}" for end in (min(found), max(found)))
            parts.append(f"{_name(method)} for {' to '.join(ends)} of prompts")
    return [f"RWS's words are also written by: {', '.join(parts)}."] if parts else []


def _compared(data: Localities, method: str, measure: str) -> str:
    """Return a method minus the default in words: once if it is one comparison, else for how many localities."""
    rows = data.curve(method, measure)
    if measure != "god_steps" and all(data.everywhere(name, "same_words") for name in (method, "default")):
        found = _difference(rows[0], "p")
        return f"{found.text()}, at every locality alike."
    return tally([_difference(row, "p_holm") for row in rows], "localities")


def _difference(row: Row, p: str) -> Difference:
    ends = (round(row[name], 9) + 0.0 for name in ("difference", "difference_low", "difference_high"))
    return Difference(f"{row['locality']:g}", *ends, row[p])


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
        "words in reading order, minus those of the default at the same locality. Bars: 95 % bootstrap intervals over "
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
    for method in _ORDERED:
        rows = data.curve(method, "god_steps")
        if rows:
            values = ", ".join(f"{row['mean']:.2f} at {row['locality']:g}" for row in rows)
            parts.append(f"{_name(method)}: GOD {values}.")
    return "Curves against locality: GOD, and differences from the default in log-probability and reward. " + " ".join(
        parts
    )
