"""How many reward calls each saving leaves out, at the same text.

Shows: per guide, the calls of a loop that asks at every step, divided into those made and those left out. The usual
savings score no text twice. All savings also leave out steps where every reward within the model's bounds is proved to
commit the same positions, and steps after the end of the text. The table says whether the texts are the same.
Inputs: RUNS/overhead/results.json, made by `python -m paper_figures experiment overhead --out RUNS`.
Run time: two seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from paper_figures.exhibits.dot_plot import height_of
from paper_figures.exhibits.exhibit import Exhibit, Picture
from paper_figures.exhibits.names import SAVINGS, with_guide_names
from paper_figures.exhibits.runs import Results, read_run
from paper_figures.exhibits.style import LINES, figure, panel_title
from paper_figures.table import Table
from rws_decode.common.palette import BLUE, SKY

__all__ = ["CallsSaved", "Count", "compute", "draw", "exhibit", "table"]

NEEDS: tuple[str, ...] = ("overhead",)
# What becomes of a call: its field, the words, colour and hatch.
_PARTS = {
    "asked": ("asked", LINES["rws"].color, ""),
    "reused": ("left out: text scored before", SKY, "//"),
    "needless": ("left out: proved needless, or scored before", BLUE, "xx"),
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
    """Read the counts of RWS below `runs`; MissingRun, with the command, if the results are missing."""
    run = read_run(runs, NEEDS[0])
    rows = [
        row for row in with_guide_names(run.rows.get("overhead", ()), run.settings["rewards"]) if row["method"] == "rws"
    ]
    naive = {row["name"]: row["reward_calls"] for row in rows if row["savings"] == "nothing"}
    order = {savings: index for index, savings in enumerate(SAVINGS)}
    names = {name: index for index, name in enumerate(dict.fromkeys(row["name"] for row in rows))}
    rows = sorted(rows, key=lambda row: (names[row["name"]], order[row["savings"]]))
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
    labels = [f"{count.name}, {SAVINGS[count.savings]}" for count in data.counts]
    picture = figure(6.6, 0.9 + height_of(labels, 1))
    axes = picture.subplots()
    for row, count in enumerate(data.counts):
        start = 0.0
        for field, (_, color, hatch) in _PARTS.items():
            size = getattr(count, field)
            if size > 0:
                axes.barh(row, size, 0.72, start, color=color, hatch=hatch, edgecolor="white", linewidth=0)
                start += size
        if count.low is not None and count.high is not None and count.low < count.high:
            spread = [[max(count.asked - count.low, 0.0)], [max(count.high - count.asked, 0.0)]]
            axes.errorbar(count.asked, row, xerr=spread, color="black", elinewidth=1.2, capsize=3)
        axes.annotate(
            f"{count.asked:.3g} of {count.naive:.3g}",
            (max(count.naive, count.high or 0.0), row),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
        )
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    most = max(max(count.naive, count.high or 0.0) for count in data.counts)
    axes.set_xticks([tick for tick in axes.get_xticks() if 0 <= tick <= most])
    axes.set_xlim(0, 1.16 * most)  # room for the numbers
    axes.set_xlabel("reward calls per answer  [mean]")
    panel_title(axes, "Calls of a loop that asks at every step, and which are made")
    used = [field for field in _PARTS if any(getattr(count, field) > 0 for count in data.counts)]
    patches = [Patch(facecolor=_PARTS[f][1], hatch=_PARTS[f][2], edgecolor="white", label=_PARTS[f][0]) for f in used]
    picture.legend(handles=patches, loc="outside lower center", ncols=2)
    return picture


def table(data: CallsSaved) -> Table:
    """Return the counts with the share left out and the share of prompts with the same text."""
    rows, shown = [], []
    for count in data.counts:
        words = {"guide": count.name, "savings": SAVINGS[count.savings]}
        numbers = {_PARTS[field][0]: getattr(count, field) for field in _PARTS}
        rows.append(
            words | numbers | {"left out": count.left_out, "same text": count.same_text, "prompts": count.prompts}
        )
        text = {name: f"{value:.3g}" for name, value in numbers.items()}
        if count.low is not None and count.high is not None and count.low < count.high:
            text["asked"] += f" [{count.low:.3g}, {count.high:.3g}]"
        ends = {
            "left out": f"{count.left_out:.0%}",
            "same text": f"{count.same_text:.0%}",
            "prompts": str(count.prompts),
        }
        shown.append(words | text | ends)
    caption = (
        "Mean reward calls per answer, with 95 % intervals over prompts in brackets. The usual savings leave "
        "out texts scored before. All savings also leave out steps proved to commit the same for every reward within "
        "the model's bounds; the run does not record which of the two it was. Same text: share of prompts with the "
        "text of the usual savings."
    )
    return Table("calls_saved", rows, shown, caption)


def conclusions(data: CallsSaved) -> tuple[str, ...]:
    """Return how many calls are left with each savings, and whether the texts are the same."""
    if not data.counts:
        return ("The run has timed no answers of RWS.",)
    lines = []
    for savings, words in SAVINGS.items():
        counts = [count for count in data.counts if count.savings == savings]
        if counts and savings != "nothing":
            listed = "; ".join(
                f"{count.name} {count.asked:.3g} of {count.naive:.3g} ({count.left_out:.0%})" for count in counts
            )
            lines.append(f"Reward calls per answer with {words}, and the share left out: {listed}.")
    apart = [f"{count.name}, {SAVINGS[count.savings]}" for count in data.counts if count.same_text < 1]
    prompts = max(count.prompts for count in data.counts)
    same = f"differs on some prompt with {'; '.join(apart)}" if apart else "is the same with each of them"
    return (*lines, f"The text {same}, on {prompts} prompts.")


def exhibit(runs: Path) -> Exhibit:
    """Return the picture and table of reward calls from the results below `runs`."""
    data = compute(runs)
    settings = data.run.settings
    prompts = max((count.prompts for count in data.counts), default=0)
    caption = (
        f"Mean reward calls per answer of RWS, {prompts} prompts of {data.run.prompts['source']}, model "
        f"{settings['model']}, {settings['length']} tokens, {settings['steps']} steps. No savings: the reward is asked "
        "at every step. Usual savings: no text is scored twice for a prompt. All savings: the reward is also not asked "
        "if every value within its bounds is proved to commit the same positions, or after the end of the text. Black "
        "bars: 95 % interval of the calls made, over prompts. A causal guide's cache saves tokens within a "
        "call, not calls. Fewer calls save time only if a call costs more than the proof: see Table 11."
    )
    listed = [
        f"{count.name}, {SAVINGS[count.savings]}: {count.asked:.3g} of {count.naive:.3g} asked."
        for count in data.counts
    ]
    alt = f"Stacked bars of reward calls per answer, by guide and savings. {' '.join(listed)}"
    return Exhibit(
        "Reward calls saved",
        (Picture("calls_saved", draw(data), caption, alt),) if data.counts else (),
        (table(data),),
        conclusions=conclusions(data),
        inputs=data.run.inputs,
    )
