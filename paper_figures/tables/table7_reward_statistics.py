"""Table 7: the means and deviations that normalise rewards, and the factors that normalised rewards give in real runs.

Shows: the printed statistics beside those of the registry, checked, and those of the shipped reward models with the
data they were measured on; the normalised rewards that runs reach, and the factors there.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper_figures.exhibits.exhibit import Exhibit
from paper_figures.exhibits.names import with_guide_names
from paper_figures.exhibits.paper_beside_ours import beside
from paper_figures.exhibits.runs import Results, read_run, setting
from paper_figures.runner.results import read_unit_rows
from paper_figures.table import Column, Table, make_table
from rws_decode.checkpoints.files import models_directory
from rws_decode.rewards.registry import PUBLISHED, SHIPPED, STATISTICS
from rws_theory.gain import reward_factor
from rws_theory.printed import printed_in

NEEDS: tuple[str, ...] = ("reward-bench",)
_STEM = "table7_reward_statistics"


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
        "the printed numbers, because their weights are not at hand; `rws calibrate --reward NAME "
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
    """Return Table 7 from the registry, the shipped models, and the results below `runs`."""
    run = read_run(runs, NEEDS[0])
    reached = reached_in(run, runs)
    others, count = unlike(), len(PUBLISHED)
    said = (
        f"The means and deviations that normalise rewards here are the printed ones of Table 7 for "
        f"{count - len(others)} of {count} entries of its reward models"
        + (f"; not for {', '.join(others)}." if others else ".")
    )
    return Exhibit(
        "Table 7: what normalises the rewards",
        tables=tables(run, reached),
        conclusions=(said,),
        inputs=run.inputs,
    )
