"""Table 7: the means and deviations that normalise rewards, and the factors that normalised rewards give in real runs.

Shows: the printed statistics beside those of the registry, checked, and those of the shipped reward models with the
data they were measured on; the factor as a function of the normalised reward, over the rewards that runs reach.
Inputs: RUNS/reward-bench, results.json and its units, made by `python -m paper_figures experiment reward-bench --out
RUNS`. Run time: two seconds.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from paper_figures.exhibits.exhibit import Exhibit, Picture
from paper_figures.exhibits.names import with_guide_names
from paper_figures.exhibits.paper_beside_ours import beside
from paper_figures.exhibits.runs import Results, read_run, setting
from paper_figures.exhibits.style import GREY, figure, panel_title
from paper_figures.runner.results import read_unit_rows
from paper_figures.table import Column, Table, make_table
from rws_decode.checkpoints.files import models_directory
from rws_decode.common.palette import AMBER, BLUE, PURPLE, SKY, VERMILION
from rws_decode.rewards.registry import PUBLISHED, SHIPPED, STATISTICS
from rws_theory.gain import reward_factor
from rws_theory.printed import printed_in

NEEDS: tuple[str, ...] = ("reward-bench",)
_STEM = "table7_reward_statistics"
# Okabe and Ito's, from dark to light, so that neighbours differ in grey.
_COLOURS = (BLUE, AMBER, "#000000", SKY, VERMILION, PURPLE)


@dataclass(frozen=True, eq=False)
class Reached:
    """Normalised rewards of one guide's RWS decodes at its reward scale: `answers`, those of each answer's steps."""

    name: str
    scale: float
    answers: tuple[NDArray[np.float64], ...]

    def numbers(self) -> dict[str, Any]:
        """Return quantiles of the rewards over all steps, the factors there, and each answer's range of factors."""
        quantiles = np.quantile(np.concatenate(self.answers), (0.0, 0.05, 0.5, 0.95, 1.0)).tolist()
        names = ("least", "5 %", "median", "95 %", "greatest")
        ratios = [reward_factor(r.max(), 1.0) / reward_factor(r.min(), 1.0) for r in self.answers]
        return (
            {"guide": self.name, "s_R": self.scale, "answers": len(self.answers)}
            | {f"reward, {name}": value for name, value in zip(names, quantiles, strict=True)}
            | {f"factor, {names[at]}": float(reward_factor(quantiles[at], self.scale)) for at in (1, 3)}
            | {"greatest over least factor of one answer, median": float(np.median(ratios))}
            | {"the same, greatest": float(max(ratios))}
        )


def unlike() -> list[str]:
    """Return the registry's names whose mean or deviation is not the printed one."""
    printed = {row["model"]: row for row in printed_in(_STEM)["rows"]}
    return [
        e.name for e in PUBLISHED.values() if (e.mean, e.std) != (printed[e.paper]["mean"], printed[e.paper]["std"])
    ]


def _shipped() -> dict[str, dict[str, Any]]:
    """Return the shipped reward models' statistics, and what their cards say that these were measured on."""
    statistics: dict[str, dict[str, Any]] = {}
    for name, folder in SHIPPED.items():
        directory = models_directory() / folder
        saved = json.loads((directory / "reward.json").read_text(encoding="utf-8"))
        card = (directory / "README.md").read_text(encoding="utf-8").splitlines()
        told = [line.partition(": ")[2] for line in card if line.startswith("- The reference set: ")]
        measured = told[0].partition(". ")[0].rstrip(".") if told else None
        statistics[name] = {"mean": saved["mean"], "std": saved["std"], "measured on": measured}
    saved = json.loads((models_directory() / "exact.json").read_text(encoding="utf-8"))
    return statistics | {"exact": {**saved, "measured on": "the reference set of the reward recipe"}}


def reached_in(run: Results, runs: Path) -> list[Reached]:
    """Return the rewards of the run's test answers by guide and scale; none where its units are not there."""
    folder = runs / run.experiment
    if not (folder / run.units).is_dir():  # results alone, without what they are of
        return []
    frame = read_unit_rows(folder, run.units.removeprefix("units-"))
    if "rewards" not in frame:
        return []
    kept = frame[(frame["method"] == "rws") & (frame["split"] == "test") & frame["rewards"].notna()]
    kept = kept.replace({"guide": dict(run.names)}).sort_values(["example", "turn"])
    rows: list[Any] = kept[["guide", "reward_scale", "rewards"]].to_dict("records")
    answers: dict[tuple[str, float], list[NDArray[np.float64]]] = {}
    for row in with_guide_names(rows, run.settings["rewards"]):
        rewards = np.array(row["rewards"], dtype=float)
        if (finite := rewards[np.isfinite(rewards)]).size:  # steps at which the reward was not asked have none
            answers.setdefault((row["name"], row["reward_scale"]), []).append(finite)
    return [Reached(name, scale, tuple(of)) for (name, scale), of in answers.items()]


def draw(reached: list[Reached]) -> Figure:
    """Draw the factor over the normalised reward, and below it the rewards that each answer's steps reach."""
    picture = figure(6.6, 3.6 + 0.75 * len(reached))
    top, bottom = picture.subplots(2, 1, sharex=True, height_ratios=(2.6, max(1.0, 0.75 * len(reached))))
    every = np.concatenate([rewards for guide in reached for rewards in guide.answers])
    low, high = min(-4.0, every.min()) - 0.3, max(4.0, every.max()) + 0.3
    grid = np.linspace(low, high, 401)
    top.plot(grid, reward_factor(grid, 1.0), color="black")
    top.set_ylabel("factor / $s_R$")
    top.set_ylim(0, 1.05)
    panel_title(top, r"Factor of the logits:  $s_R\,\sqrt{\mathrm{sigmoid}(r)+\epsilon}$")
    for axes in (top, bottom):
        axes.axvspan(-2, 2, color="#ececec", zorder=0, linewidth=0)
        axes.axvline(0, color=GREY, linewidth=0.8)
    label = "shaded: mean ± 2 deviations\nof the reference data"
    top.text(0.99, 0.04, label, transform=top.transAxes, fontsize=8.5, ha="right", va="bottom")
    for row, guide in enumerate(reached):
        colour, thick = _COLOURS[row % len(_COLOURS)], max(0.4, min(1.6, 30 / len(guide.answers)))
        dot = {"color": colour, "markerfacecolor": "white", "markersize": 2 * thick + 0.6}
        for index, rewards in enumerate(sorted(guide.answers, key=lambda rewards: float(np.median(rewards)))):
            across = row + 0.8 * ((index + 0.5) / len(guide.answers) - 0.5)
            bottom.plot([rewards.min(), rewards.max()], [across, across], color=colour, linewidth=thick)
            bottom.plot(float(np.median(rewards)), across, "o", **dot)
    bottom.set_yticks(range(len(reached)), [f"{guide.name}\n$s_R$ = {guide.scale:g}" for guide in reached])
    bottom.set_ylim(len(reached) - 0.5, -0.5)
    bottom.grid(axis="y", visible=False)
    bottom.set_xlim(low, high)
    bottom.set_xlabel("normalised reward r  [deviations of the reference data]")
    panel_title(bottom, "Reached by RWS: one line per answer, from least to greatest over its steps, dot: median")
    return picture


def tables(run: Results, reached: list[Reached]) -> tuple[Table, ...]:
    """Return the printed statistics beside those in use, and what rewards real runs reach."""
    paper = printed_in(_STEM)
    printed = {row["model"]: {"mean": row["mean"], "std": row["std"]} for row in paper["rows"]}
    here: dict[str, dict[str, Any]] = {}
    for entry in PUBLISHED.values():
        label = f"{entry.paper}" if entry.paper not in here else f"{entry.paper} ({entry.name})"
        here[label] = {"mean": entry.mean, "std": entry.std, "measured on": f"the paper's {STATISTICS}"}
    caption = (
        f"Left: {paper['where']}: {paper['task']}. Right: what normalises rewards here. For the paper's models we use "
        "the printed numbers, because their weights are not at hand; `python -m paper_figures calibrate --reward NAME "
        "--data FILE` measures them again. Nectar has no validation split; which rows the paper took is not known."
    )
    rows = [guide.numbers() for guide in reached]
    what = (
        "Normalised rewards of the candidates that RWS scored, over all steps of all test answers. "
        f"{setting(run)} Quantiles are over steps; steps of one answer are alike."
    )
    columns = [Column(name, form="" if name == "guide" else ".3g") for row in rows[:1] for name in row]
    return (
        beside(_STEM, "reward model", printed, here | _shipped(), caption),
        make_table("table7_reached", rows, columns, what),
    )


def exhibit(runs: Path) -> Exhibit:
    """Return Table 7 and its figure from the registry, the shipped models, and the results below `runs`."""
    run = read_run(runs, NEEDS[0])
    reached = reached_in(run, runs)
    caption = (
        "The factor of RWS over its reward scale, as a function of the normalised reward (eps 1e-5); below, the "
        f"rewards of real decodes, one line per test answer, answers sorted by their median. {setting(run)} A "
        "short line is an answer whose factor hardly changed: there RWS is close to a constant."
    )
    alt = (
        "A rising S-shaped curve of the factor over the normalised reward, from 0 to 1 times the reward scale, and "
        "below it lines from the least to the greatest normalised reward of each answer."
    )
    others, count = unlike(), len(PUBLISHED)
    said = (
        f"The means and deviations that normalise rewards here are the printed ones of Table 7 for "
        f"{count - len(others)} of {count} entries of its reward models"
        + (f"; not for {', '.join(others)}." if others else ".")
    )
    return Exhibit(
        "Table 7: what normalises the rewards",
        (Picture(_STEM, draw(reached), caption, alt),) if reached else (),
        tables(run, reached),
        conclusions=(said,),
        inputs=run.inputs,
    )
