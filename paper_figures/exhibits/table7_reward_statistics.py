"""Table 7: the means and SDs that normalise rewards.

Shows: the printed statistics beside those of the registry, checked, and those of the shipped reward models with the
data they were measured on.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from paper_figures.exhibits.shared.exhibit import Exhibit
from paper_figures.exhibits.shared.results import beside
from paper_figures.table import Table
from rws_decode.checkpoints.files import models_directory
from rws_decode.rewards.registry import PUBLISHED, SHIPPED, STATISTICS
from rws_theory.printed import printed_in

NEEDS: tuple[str, ...] = ()
_STEM = "table7_reward_statistics"


def unlike() -> list[str]:
    """Return the registry's names whose mean or SD is not the printed one."""
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
        sets = [line.partition(": ")[2] for line in card if line.startswith("- The reference set: ")]
        measured = sets[0].partition(". ")[0].rstrip(".") if sets else None
        statistics[name] = {"mean": saved["mean"], "std": saved["std"], "measured on": measured}
    saved = json.loads((models_directory() / "exact.json").read_text(encoding="utf-8"))
    return statistics | {"exact": {**saved, "measured on": "the reference set of the reward recipe"}}


def table() -> Table:
    """Return the printed statistics beside those in use."""
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
    return beside(_STEM, "reward model", printed, here | _shipped(), caption)


def exhibit(runs: Path) -> Exhibit:
    """Return Table 7 from the registry and the shipped models; `runs` is not read."""
    others, count = unlike(), len(PUBLISHED)
    summary = (
        f"The means and SDs that normalise rewards here are the printed ones of Table 7 for "
        f"{count - len(others)} of {count} entries of its reward models"
        + (f"; not for {', '.join(others)}." if others else ".")
    )
    return Exhibit("Table 7: what normalises the rewards", tables=(table(),), conclusions=(summary,))
