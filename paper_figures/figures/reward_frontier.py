"""The most probable texts at each reward in exact English, the path of each method below them, and its mean regret.

Shows: the mean frontier of single texts over prompts with every method's mean log p and reward; the mean regret of each
arm, that is how many nats its answers lie below their prompts' frontier.
Inputs: the evidence study below RUNS, else the record that ships.
Run time: ten seconds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator, ScalarFormatter
from numpy.typing import NDArray

from paper_figures.exhibits.evidence import (
    Places,
    arms_of,
    chosen_scale,
    evidence_of,
    inputs_of,
    interval_of,
    places_of,
    source_line,
    text_of,
    title_of,
)
from paper_figures.exhibits.evidence_looks import (
    FAMILIES,
    MARKS_LINE,
    draw_arm,
    draw_places,
    family_of,
    label_of,
    legend_of_families,
)
from paper_figures.exhibits.exhibit import Exhibit, Picture
from paper_figures.exhibits.labels import place_labels
from paper_figures.exhibits.style import GREY, figure, panel_title
from paper_figures.recorded import Recorded
from paper_figures.statistics.intervals import Interval
from paper_figures.studies.design.evidence_arms import WORLDS, Arm
from paper_figures.studies.summaries.evidence_tables import distance_of
from paper_figures.table import Column, Table, make_table
from rws_decode.rewards import load_reward

NEEDS: tuple[str, ...] = ()
WORLD = "english:era"
_PATHS = ("temperature", "rws", "constant", "schedule", "swapped")
# Nats per unit of the raw reward: 0 is the most probable text, and 4 the largest weight that the study searched.
BETAS = np.concatenate([[0.0], np.geomspace(0.003, 4.0, 60)])


@dataclass(frozen=True, eq=False)
class Frontiers:
    """The mean frontier, shape (betas, 2); each arm's answers; its mean log p per word and reward; its mean regret."""

    evidence: Recorded
    curve: NDArray[np.float64]
    arms: Mapping[Arm, pandas.DataFrame]
    places: Places
    regrets: Mapping[Arm, Interval]

    @property
    def prompts(self) -> int:
        """Return the number of test prompts."""
        return max(map(len, self.arms.values()), default=0)


def compute(runs: Path) -> Frontiers:
    """Read the study; MissingRun if there is neither a run nor a record."""
    return frontiers_of(evidence_of(runs))


def frontiers_of(evidence: Recorded, only: Collection[Arm] | None = None) -> Frontiers:
    """Return what is drawn of a study's results; `only` these arms if they are given, which takes less time."""
    arms = {arm: frame for arm, frame in arms_of(evidence, WORLD).items() if only is None or arm in only}
    places = places_of(evidence, WORLD, "log_p_word", "reward_sd", lambda arm: arm in arms)
    regrets = {arm: interval for arm, frame in arms.items() if (interval := interval_of(frame, "regret"))}
    regrets = dict(sorted(regrets.items(), key=lambda item: item[1].mean))
    return Frontiers(evidence, mean_frontier(evidence, WORLD), arms, places, regrets)


def mean_frontier(evidence: Recorded, world: str) -> NDArray[np.float64]:
    """Return the mean over prompts of (log p per word, reward in deviations) of the best text at each of `BETAS`.

    At each beta it is the text of largest log p + beta reward after each prompt. Shape (betas, 2); (0, 2) without
    frontiers.
    """
    rows = evidence.frontiers[evidence.frontiers["world"] == world]
    texts = [np.array([list(point) for point in points], dtype=float) for points in rows["points"]]  # [texts, 2]
    if not texts:
        return np.empty((0, 2))
    best = np.mean([of[(of[:, 0] + BETAS[:, None] * of[:, 1]).argmax(axis=1)] for of in texts], axis=0)
    guide = load_reward(WORLDS[world].reward)
    return np.column_stack([best[:, 0] / WORLDS[world].length, (best[:, 1] - guide.mean) / guide.std])


def draw(data: Frontiers) -> Figure:
    """Draw log p against reward at the left, the mean regrets and rewards at the right."""
    picture = figure(9.4, max(6.2, 1.0 + 0.152 * len(data.regrets)))
    whole, regrets, rewards = picture.subplots(1, 3, width_ratios=(1.5, 0.75, 0.6))
    frontier = whole.plot(*data.curve.T, color=GREY, linewidth=2.2, zorder=1.5) if len(data.curve) else []
    draw_places(whole, data.places, _PATHS)
    whole.set_xlabel("log p  [nats per word]")
    whole.set_ylabel("reward  [the guide's deviations]")
    panel_title(whole, "All methods, and the most probable texts")
    _dots(regrets, data.regrets)
    regrets.set_yticks(range(len(data.regrets)), [title_of(arm) for arm in data.regrets], fontsize=8)
    for label, arm in zip(regrets.get_yticklabels(), data.regrets, strict=True):
        label.set_color(FAMILIES[family_of(arm)].color)
        label.set_fontweight("bold" if arm.method == "rws" else "normal")
    if data.regrets and min(interval.low for interval in data.regrets.values()) > 0:
        regrets.set_xscale("log")
        regrets.xaxis.set_major_formatter(ScalarFormatter())
        regrets.xaxis.set_major_locator(FixedLocator([5, 10, 20, 50, 100, 200]))
        regrets.xaxis.set_minor_locator(NullLocator())
    regrets.set_xlabel("nats")
    panel_title(regrets, "Mean regret")
    _dots(rewards, {arm: data.places[arm][1] for arm in data.regrets})
    rewards.set_yticks(range(len(data.regrets)), [""] * len(data.regrets))
    rewards.set_xlabel("deviations")
    panel_title(rewards, "Mean reward")
    legend = legend_of_families(list({family_of(arm) for arm in data.places}))
    handles, labels = [*frontier, *legend["handles"]], [*["most probable texts"] * len(frontier), *legend["labels"]]
    picture.legend(handles, labels, loc="outside lower center", ncols=4)
    place_labels(picture, {whole: [label_of(arm, x.mean, y.mean, _short(arm)) for arm, (x, y) in data.places.items()]})
    return picture


def _short(arm: Arm) -> str:
    """Return what stands beside an arm's marker: the names of those far from the others."""
    if arm == Arm("tilt-sample", 0.0, 1.0, True):
        return "drawn from the world"
    if arm.method in ("tilt-sample", "tilt-decode"):
        return f"{'drawn' if arm.method == 'tilt-sample' else 'decoded'} tilt {arm.number:g}"
    if arm.method == "left-to-right" and not arm.one_by_one:
        return "left to right"
    return f"{arm.number:g} particles" if arm.method == "particles" else ""


def _dots(axes: Axes, values: Mapping[Arm, Interval]) -> None:
    """Draw a row of each arm in the order of regrets, those of RWS on a band."""
    for row, (arm, interval) in enumerate(values.items()):
        if arm.method == "rws":
            axes.axhspan(row - 0.5, row + 0.5, color=FAMILIES["rws"].color, alpha=0.15, linewidth=0)
        draw_arm(axes, arm, interval, Interval(float(row), float(row), float(row)), label=None, markersize=4.5)
    axes.set_ylim(len(values) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)


def _table(data: Frontiers) -> Table:
    names = ("log p, nats per word", "reward, deviations", "regret, nats")
    rows = []
    for arm, places in data.places.items():
        row: dict[str, object] = {"arm": title_of(arm)}
        for name, interval in zip(names, (*places, data.regrets.get(arm)), strict=True):
            row |= dict(zip((name, f"{name}, low", f"{name}, high"), interval or (None,) * 3, strict=True))
        rows.append(row)
    columns = [Column(name, form=".2f", ends=(f"{name}, low", f"{name}, high")) for name in names]
    caption = f"Every arm of {WORLD}: means over {data.prompts} prompts, 95 % intervals."
    return make_table("reward_frontier", rows, [Column("arm"), *columns], caption)


def _headline(data: Frontiers) -> tuple[str, ...]:
    """Return how far RWS is from the frontier, in nats and in reward; nothing where it has no regret."""
    rws = chosen_scale(data.evidence, WORLD)
    if rws is None or rws not in data.regrets:
        return ()
    distance = distance_of(data.arms[rws].reset_index(), data.evidence.frontiers, WORLD)
    below = f", and at least {text_of(distance.least)} deviations of reward below it at equal log p" if distance else ""
    return (
        f"In {WORLDS[WORLD].model}, {title_of(rws)} (its scale chosen on validation prompts) lies "
        f"{text_of(data.regrets[rws], 1)} nats below the most probable texts of at least its reward{below}.",
    )


def exhibit(runs: Path) -> Exhibit:
    """Return the headline figure of the evidence study."""
    data, title = compute(runs), "The most probable texts at each reward, and how far below them methods write"
    if not data.places:
        return Exhibit(title, conclusions=(f"The results have no answers of {WORLD}.",), inputs=inputs_of(runs))
    caption = (
        f"World {WORLD}, {data.prompts} prompts, answers of 32 words, two a step unless said otherwise. Left: mean "
        "exact log p of an arm's answers, and their mean reward. The grey curve is the mean frontier: at each weight "
        "beta, the mean over prompts of the text of largest log p + beta reward. Its lower end is the most probable "
        "text. They are single texts; `law_frontier` compares laws. Lines join a method's scales. Right: mean regret, "
        "that is how many nats more log p a text of at least the same reward may have, and the mean reward. Where the "
        "most probable text has more reward too, regret is of log p alone. Bars: 95 % BCa intervals over prompts. "
        f"{MARKS_LINE} {source_line(data.evidence)}"
    )
    alt = (
        f"Log p against reward of {len(data.places)} methods with the frontier above all of them, and a dot plot of "
        "regrets and of rewards."
    )
    return Exhibit(
        title,
        (Picture("reward_frontier", draw(data), caption, alt),),
        (_table(data),),
        conclusions=_headline(data),
        inputs=inputs_of(runs),
    )
