"""Reward calls that need not be made: of a loop that asks at every step, how many are left, at the same text.

Shows: per guide, the calls of the naive loop parted into those made and those left out, with the usual savings (a text
scored before is not scored again) and with all (also the steps at which every reward within the model's bounds is
proved to commit the same, and the steps after the text has ended); and whether the texts are the same.
Inputs: RUNS/overhead/results.json of `python -m paper_figures experiment overhead --out RUNS`. Run time: about two
seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from paper_figures.exhibits.dots import height_of
from paper_figures.exhibits.exhibit import Exhibit, Picture, Sheet
from paper_figures.exhibits.guides import with_names
from paper_figures.exhibits.inputs import Results, read_run
from paper_figures.exhibits.style import LINES, figure, panel_title
from paper_figures.tables.table11_overhead import SAVINGS

__all__ = ["CallsSaved", "Count", "compute", "draw", "exhibit", "sheet"]

NEEDS: tuple[str, ...] = ("overhead",)
# What becomes of a call: its field, the words, colour and hatch.
_PARTS = {
    "asked": ("asked", LINES["rws"].color, ""),
    "reused": ("left out: text scored before", "#56B4E9", "//"),
    "needless": ("left out: proved needless, or scored before", "#0072B2", "xx"),
    "ended": ("left out: the text had ended", "#F0E442", ".."),
}


@dataclass(frozen=True)
class Count:
    """Mean reward calls per answer of a guide with some savings: asked, and left out by what; low, high: of asked.

    reused: the text was scored before; needless: that, or proved that no reward could change the choice (the run does
    not record which); ended: steps not run, since the text had ended. same_text: share of prompts with the same text.
    """

    name: str
    savings: str
    asked: float
    low: float | None
    high: float | None
    reused: float
    needless: float
    ended: float
    same_text: float
    prompts: int

    @property
    def naive(self) -> float:
        """Return the calls of a loop that asks at every step."""
        return self.asked + self.reused + self.needless + self.ended

    @property
    def left_out(self) -> float:
        """Return the share of the naive loop's calls that are left out."""
        return 1 - self.asked / self.naive if self.naive else 0.0


@dataclass(frozen=True)
class CallsSaved:
    """The counts by guide and savings, in the order of `SAVINGS` within a guide, and the run."""

    counts: Sequence[Count]
    run: Results


def compute(runs: Path) -> CallsSaved:
    """Read the counts of RWS below `runs`; MissingRun, naming the command, where the results are absent."""
    run = read_run(runs, NEEDS[0])
    rows = [row for row in with_names(run.rows.get("overhead", ()), run.settings["rewards"]) if row["method"] == "rws"]
    naive = {row["name"]: row["reward_calls"] for row in rows if row["savings"] == "nothing"}
    places = {savings: place for place, savings in enumerate(SAVINGS)}
    names = {name: place for place, name in enumerate(dict.fromkeys(row["name"] for row in rows))}
    rows = sorted(rows, key=lambda row: (names[row["name"]], places[row["savings"]]))
    return CallsSaved([_count(row, naive.get(row["name"])) for row in rows], run)


def _count(row: Mapping[str, Any], naive: float | None) -> Count:
    asked, saved, usual = row["reward_calls"], row["reward_calls_saved"], row["savings"] == "usual"
    return Count(
        row["name"],
        row["savings"],
        asked,
        row.get("reward_calls_low"),
        row.get("reward_calls_high"),
        reused=saved if usual else 0.0,
        needless=0.0 if usual else saved,
        # Steps that were not run are in neither number.
        ended=0.0 if naive is None else max(0.0, naive - asked - saved),
        same_text=row["same_text"],
        prompts=row["prompts"],
    )


def draw(data: CallsSaved) -> Figure:
    """Draw a stacked bar per guide and savings: the calls made, and those left out by what leaves them out."""
    labels = [f"{one.name}, {SAVINGS[one.savings]}" for one in data.counts]
    picture = figure(6.6, 0.9 + height_of(labels, 1))
    axes = picture.subplots()
    for place, one in enumerate(data.counts):
        start = 0.0
        for field, (_, color, hatch) in _PARTS.items():
            size = getattr(one, field)
            if size > 0:
                axes.barh(place, size, 0.72, start, color=color, hatch=hatch, edgecolor="white", linewidth=0)
                start += size
        if one.low is not None and one.high is not None and one.low < one.high:
            spread = [[max(one.asked - one.low, 0.0)], [max(one.high - one.asked, 0.0)]]
            axes.errorbar(one.asked, place, xerr=spread, color="black", elinewidth=1.2, capsize=3)
        axes.annotate(
            f"{one.asked:.3g} of {one.naive:.3g}",
            (max(one.naive, one.high or 0.0), place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
        )
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    most = max(max(one.naive, one.high or 0.0) for one in data.counts)
    axes.set_xticks([tick for tick in axes.get_xticks() if 0 <= tick <= most])
    axes.set_xlim(0, 1.16 * most)  # room for the numbers
    axes.set_xlabel("reward calls per answer  [mean]")
    panel_title(axes, "Calls of a loop that asks at every step, and which are made")
    used = [field for field in _PARTS if any(getattr(one, field) > 0 for one in data.counts)]
    patches = [Patch(facecolor=_PARTS[f][1], hatch=_PARTS[f][2], edgecolor="white", label=_PARTS[f][0]) for f in used]
    picture.legend(handles=patches, loc="outside lower center", ncols=2)
    return picture


def sheet(data: CallsSaved) -> Sheet:
    """Return the counts with the share left out and the share of prompts with the same text."""
    rows, shown = [], []
    for one in data.counts:
        words = {"guide": one.name, "savings": SAVINGS[one.savings]}
        numbers = {_PARTS[field][0]: getattr(one, field) for field in _PARTS}
        rows.append(words | numbers | {"left out": one.left_out, "same text": one.same_text, "prompts": one.prompts})
        text = {name: f"{value:.3g}" for name, value in numbers.items()}
        if one.low is not None and one.high is not None and one.low < one.high:
            text["asked"] += f" [{one.low:.3g}, {one.high:.3g}]"
        ends = {"left out": f"{one.left_out:.0%}", "same text": f"{one.same_text:.0%}", "prompts": str(one.prompts)}
        shown.append(words | text | ends)
    caption = (
        "Mean reward calls per answer. Brackets: 95 % bootstrap interval over prompts. Left out with the usual "
        "savings: texts scored before; with all: these and steps proved to commit the same for every reward within the "
        "model's bounds, together, as the run does not record which. Same text: share of prompts with the text of the "
        "usual savings."
    )
    return Sheet("calls_saved", rows, shown, caption)


def conclusions(data: CallsSaved) -> tuple[str, ...]:
    """Return how many calls are left with each savings, and whether the texts are the same."""
    if not data.counts:
        return ("The run has timed no answers of RWS.",)
    lines = []
    for savings, words in SAVINGS.items():
        counts = [one for one in data.counts if one.savings == savings]
        if counts and savings != "nothing":
            told = "; ".join(f"{one.name} {one.asked:.3g} of {one.naive:.3g} ({one.left_out:.0%})" for one in counts)
            lines.append(f"Reward calls per answer with {words}, and the share left out: {told}.")
    apart = [f"{one.name}, {SAVINGS[one.savings]}" for one in data.counts if one.same_text < 1]
    prompts = max(one.prompts for one in data.counts)
    same = f"differs on some prompt with {'; '.join(apart)}" if apart else "is the same with each of them"
    return (*lines, f"The text {same}, on {prompts} prompts.")


def exhibit(runs: Path) -> Exhibit:
    """Return the picture and table of reward calls from the results below `runs`."""
    data = compute(runs)
    settings = data.run.settings
    prompts = max((one.prompts for one in data.counts), default=0)
    caption = (
        f"Mean reward calls per answer of RWS, {prompts} prompts of {data.run.prompts['source']}, model "
        f"{settings['model']}, {settings['length']} tokens, {settings['steps']} steps. No savings: asked at every "
        "step. Usual: a text scored before for the same prompt is not scored again. All: nor is the reward asked where "
        "every value within its bounds is proved to commit the same positions, or after the text has ended. Bars in "
        "black: 95 % bootstrap interval of the calls made, over prompts. A causal guide's cache saves tokens within a "
        "call, not calls. Fewer calls are less time only where a call costs more than the proof: see Table 11."
    )
    told = [f"{one.name}, {SAVINGS[one.savings]}: {one.asked:.3g} of {one.naive:.3g} asked." for one in data.counts]
    alt = f"Stacked bars of reward calls per answer, by guide and savings. {' '.join(told)}"
    return Exhibit(
        "Reward calls saved",
        (Picture("calls_saved", draw(data), caption, alt),) if data.counts else (),
        (sheet(data),),
        conclusions=conclusions(data),
        inputs=data.run.inputs,
    )
