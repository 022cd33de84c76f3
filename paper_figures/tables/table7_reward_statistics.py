"""Table 7: the means and deviations that normalise rewards, and the factors that normalised rewards give in real runs.

Shows: the printed statistics beside those of the registry, checked, and those of the shipped reward models with the
data they were measured on; the factor as a function of the normalised reward, over the rewards that runs reach.
Inputs: RUNS/reward-bench, results.json and its units, made by `python -m paper_figures experiment reward-bench --out
RUNS`. Run time: two seconds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from paper_figures.exhibits.exhibit import Exhibit, Picture
from paper_figures.exhibits.names import guide_names
from paper_figures.exhibits.paper_beside_ours import beside
from paper_figures.exhibits.runs import Results, read_run, setting
from paper_figures.exhibits.style import GREY, figure, panel_title
from paper_figures.table import Table
from rws_decode.common.palette import AMBER, BLUE, PURPLE, SKY, VERMILION
from rws_decode.rewards.registry import PUBLISHED, STATISTICS
from rws_theory.gain import reward_factor
from rws_theory.printed import printed_in

NEEDS: tuple[str, ...] = ("reward-bench",)
_STEM = "table7_reward_statistics"
_SHARES = (0.0, 0.05, 0.5, 0.95, 1.0)
# Okabe and Ito's, from dark to light, so that neighbours differ in grey.
_COLOURS = (BLUE, AMBER, "#000000", SKY, VERMILION, PURPLE)


@dataclass(frozen=True, eq=False)
class Reached:
    """Normalised rewards of one guide's RWS decodes at its reward scale: `answers`, those of each answer's steps."""

    name: str
    scale: float
    answers: tuple[NDArray[np.float64], ...]

    @property
    def quantiles(self) -> tuple[float, ...]:
        """Return the least reward, the 5 % and 95 % quantiles about the median, and the greatest, over all steps."""
        return tuple(float(value) for value in np.quantile(np.concatenate(self.answers), _SHARES))

    @property
    def ratios(self) -> NDArray[np.float64]:
        """Return each answer's greatest factor over its least."""
        return np.array(
            [reward_factor(rewards.max(), 1.0) / reward_factor(rewards.min(), 1.0) for rewards in self.answers]
        )


@dataclass(frozen=True)
class Statistics:
    """Name -> mean, deviation and where they are from: as printed, of the registry, of the shipped; rewards reached."""

    run: Results
    printed: Mapping[str, Mapping[str, Any]]
    registry: Mapping[str, Mapping[str, Any]]
    shipped: Mapping[str, Mapping[str, Any]]
    reached: tuple[Reached, ...]

    @property
    def unlike(self) -> list[str]:
        """Return the registry's names whose mean or deviation is not the printed one."""
        return [
            name
            for name, row in self.registry.items()
            if any(row[key] != self.printed[row["printed as"]][key] for key in ("mean", "std"))
        ]


def compute(runs: Path) -> Statistics:
    """Read the registry, the shipped statistics, and the rewards of the run's test answers; MissingRun where absent."""
    run = read_run(runs, NEEDS[0])
    printed = {row["model"]: {"mean": row["mean"], "std": row["std"]} for row in printed_in(_STEM)["rows"]}
    registry = {
        entry.name: {"printed as": entry.paper, "mean": entry.mean, "std": entry.std} for entry in PUBLISHED.values()
    }
    return Statistics(run, printed, registry, _shipped(), _reached(run, runs))


def _shipped() -> dict[str, dict[str, Any]]:
    from rws_decode.checkpoints.files import models_directory
    from rws_decode.rewards.registry import SHIPPED

    statistics: dict[str, dict[str, Any]] = {}
    for name, folder in SHIPPED.items():
        directory = models_directory() / folder
        saved = json.loads((directory / "reward.json").read_text(encoding="utf-8"))
        card = (directory / "README.md").read_text(encoding="utf-8").splitlines()
        reference_set = next(
            (line.partition(": ")[2] for line in card if line.startswith("- The reference set: ")), None
        )
        measured = None if reference_set is None else reference_set.partition(". ")[0].rstrip(".")
        statistics[name] = {"mean": saved["mean"], "std": saved["std"], "measured on": measured}
    saved = json.loads((models_directory() / "exact.json").read_text(encoding="utf-8"))
    return statistics | {"exact": {**saved, "measured on": "the reference set of the reward recipe"}}


def _reached(run: Results, runs: Path) -> tuple[Reached, ...]:
    from paper_figures.runner.results import read_unit_rows

    folder = runs / run.experiment
    if not (folder / run.units).is_dir():  # results alone, without what they are of
        return ()
    frame = read_unit_rows(folder, run.units.removeprefix("units-"))
    if "rewards" not in frame:
        return ()
    kept = (frame["method"] == "rws") & (frame["split"] == "test") & frame["rewards"].notna()
    sorted_rows = frame.loc[kept].replace({"guide": dict(run.names)}).sort_values(["example", "turn"])
    rows: list[Any] = sorted_rows.to_dict("records")  # columns are texts, which pandas does not promise
    names = guide_names(rows)
    order = {guide: position for position, guide in enumerate(run.settings["rewards"])}
    reached = []
    for guide, scale in sorted(names, key=lambda key: (order.get(key[0], len(order)), key[1])):
        # Steps at which the reward was not asked have none.
        of_guide = (row for row in rows if (row["guide"], row["reward_scale"]) == (guide, scale))
        arrays = [np.array(row["rewards"], dtype=float) for row in of_guide]
        answers = tuple(finite for rewards in arrays if (finite := rewards[np.isfinite(rewards)]).size)
        if answers and scale is not None:
            reached.append(Reached(names[guide, scale], scale, answers))
    return tuple(reached)


def draw(data: Statistics) -> Figure:
    """Draw the factor over the normalised reward, and below it the rewards that each answer's steps reach."""
    reached = data.reached
    picture = figure(6.6, 3.6 + 0.75 * len(reached))
    top, bottom = picture.subplots(2, 1, sharex=True, height_ratios=(2.6, max(1.0, 0.75 * len(reached))))
    ends = [value for guide in reached for value in (guide.quantiles[0], guide.quantiles[-1])]
    low, high = min([-4.0, *ends]) - 0.3, max([4.0, *ends]) + 0.3
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
        colour = _COLOURS[row % len(_COLOURS)]
        answers = sorted(guide.answers, key=lambda rewards: float(np.median(rewards)))
        for index, rewards in enumerate(answers):
            across = row + 0.8 * ((index + 0.5) / len(answers) - 0.5)
            thick = max(0.4, min(1.6, 30 / len(answers)))
            bottom.plot([rewards.min(), rewards.max()], [across, across], color=colour, linewidth=thick)
            bottom.plot(
                float(np.median(rewards)),
                across,
                "o",
                color=colour,
                markerfacecolor="white",
                markersize=2 * thick + 0.6,
            )
    bottom.set_yticks(range(len(reached)), [f"{guide.name}\n$s_R$ = {guide.scale:g}" for guide in reached])
    bottom.set_ylim(len(reached) - 0.5, -0.5)
    bottom.grid(axis="y", visible=False)
    bottom.set_xlim(low, high)
    bottom.set_xlabel("normalised reward r  [deviations of the reference data]")
    panel_title(bottom, "Reached by RWS: one line per answer, from least to greatest over its steps, dot: median")
    return picture


def tables(data: Statistics) -> tuple[Table, ...]:
    """Return the printed statistics beside those in use, and what rewards real runs reach."""
    here: dict[str, dict[str, Any]] = {}
    for name, row in data.registry.items():
        label = row["printed as"] if row["printed as"] not in here else f"{row['printed as']} ({name})"
        here[label] = {"mean": row["mean"], "std": row["std"], "measured on": f"the paper's {STATISTICS}"}
    caption = (
        f"Left: {printed_in(_STEM)['where']}: {printed_in(_STEM)['task']}. Right: what normalises rewards here. For "
        "the paper's models we use the printed numbers, because their weights are not at hand; `python -m "
        "paper_figures calibrate --reward NAME --data FILE` measures them again. Nectar has no validation split; which "
        "rows the paper took is not known."
    )
    made = [beside(_STEM, "reward model", data.printed, here | dict(data.shipped), caption)]
    if data.reached:
        made.append(_reach_table(data))
    return tuple(made)


def _reach_table(data: Statistics) -> Table:
    labels = ("least", "5 %", "median", "95 %", "greatest")
    rows, shown = [], []
    for guide in data.reached:
        line: dict[str, Any] = {"guide": guide.name, "s_R": guide.scale, "answers": len(guide.answers)}
        line |= {f"reward, {label}": value for label, value in zip(labels, guide.quantiles, strict=True)}
        line |= {f"factor, {label}": float(reward_factor(guide.quantiles[at], guide.scale)) for at, label in _ENDS}
        line["greatest over least factor of one answer, median"] = float(np.median(guide.ratios))
        line["the same, greatest"] = float(guide.ratios.max())
        rows.append(line)
        shown.append({name: value if isinstance(value, str) else f"{value:.3g}" for name, value in line.items()})
    caption = (
        "Normalised rewards of the candidates that RWS scored, over all steps of all test answers. "
        f"{setting(data.run)} Quantiles are over steps; steps of one answer are alike."
    )
    return Table("table7_reached", rows, shown, caption)


_ENDS = ((1, "5 %"), (3, "95 %"))


def exhibit(runs: Path) -> Exhibit:
    """Return Table 7 and its figure from the registry, the shipped models, and the results below `runs`."""
    data = compute(runs)
    caption = (
        "The factor of RWS over its reward scale, as a function of the normalised reward (eps 1e-5); below, the "
        f"rewards of real decodes, one line per test answer, answers sorted by their median. {setting(data.run)} A "
        "short line is an answer whose factor hardly changed: there RWS is close to a constant."
    )
    pictures = (Picture(_STEM, draw(data), caption, _alt(data)),) if data.reached else ()
    return Exhibit(
        "Table 7: what normalises the rewards",
        pictures,
        tables(data),
        conclusions=_conclusions(data),
        inputs=data.run.inputs,
    )


def _alt(data: Statistics) -> str:
    parts = [
        f"{guide.name}: from {guide.quantiles[0]:.2f} to {guide.quantiles[-1]:.2f}, median {guide.quantiles[2]:.2f}."
        for guide in data.reached
    ]
    return (
        "A rising S-shaped curve of the factor over the normalised reward, from 0 to 1 times the reward scale, and "
        f"below it lines from the least to the greatest normalised reward of each answer. {' '.join(parts)}"
    )


def _conclusions(data: Statistics) -> tuple[str, ...]:
    count = len(data.registry)
    lines = [
        f"The means and deviations that normalise rewards here are the printed ones of Table 7 for "
        f"{count - len(data.unlike)} of {count} entries of its reward models"
        + (f"; not for {', '.join(data.unlike)}." if data.unlike else "."),
    ]
    lines += [
        f"Rewards that RWS met, guide {guide.name}: 90 % of steps between {guide.quantiles[1]:.2f} and "
        f"{guide.quantiles[3]:.2f} deviations from the reference mean, where the factor is "
        f"{reward_factor(guide.quantiles[1], 1.0):.2f} to {reward_factor(guide.quantiles[3], 1.0):.2f} times s_R; "
        f"within one answer the greatest factor is {np.median(guide.ratios):.2f} times the least in the median of "
        f"{len(guide.answers)} answers, and {guide.ratios.max():.2f} times at most."
        for guide in data.reached
    ]
    return tuple(lines)
