"""Read and write the recorded results of the studies `evidence` and `laws`.

`answers.parquet` has a row for each answer, `frontiers.parquet` one for each prompt of an exact model, and `about.json`
says by which command, versions, date and processor they were made, and in how many seconds. `recorded` reads them;
`pack` writes them from a run; the extra `verify` computes a sample of the answers again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import lazy_loader

from paper_figures.recorded.completed import completed
from rws_decode.common.files import write_bytes, write_json
from rws_decode.common.later import pd

FOLDER = Path(__file__).parent
# Of each study; of those of a network that `make real` installs, by the network's name.
FOLDERS = {
    "evidence": FOLDER,
    "laws": FOLDER / "laws",
    "antibody": FOLDER / "antibody",
    "antibody-laws": FOLDER / "antibody" / "laws",
    "reactions": FOLDER / "reactions",
    "smollm2": FOLDER / "smollm2",
}
# What the same command does not repeat; the record's `about` has the seconds of the whole run.
_LEFT_OUT = ["seconds"]


@dataclass(frozen=True, eq=False)
class Recorded:
    """The recorded results of a study: its answers, its Pareto fronts, and how they were made."""

    answers: pd.DataFrame
    frontiers: pd.DataFrame
    about: dict[str, Any]

    def __repr__(self) -> str:
        return f"Recorded({len(self.answers)} answers, {len(self.frontiers)} frontiers, of {self.about['date']})"


def read_recorded(folder: Path) -> Recorded:
    """Return the record in a folder; ValueError in one line where there is none, or it cannot be read."""
    try:
        about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        answers, frontiers = (pd.read_parquet(folder / f"{name}.parquet") for name in ("answers", "frontiers"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{folder}: no record of a study ({' '.join(str(error).split())})") from error
    return Recorded(answers, frontiers, about)


@lru_cache(maxsize=1)
def recorded() -> Recorded:
    """Return the record that ships with the package: answers with their regrets, and the better of two scales.

    Equal texts after a prompt have equal scores.
    """
    raw = read_recorded(FOLDER)
    return Recorded(completed(raw.answers, raw.frontiers), raw.frontiers, raw.about)


def pack(rows: pd.DataFrame, about: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write the answers and Pareto fronts among a study's rows, and what is known about the run; return the paths.

    Rows are sorted by what tells them apart, so that the same run gives the same bytes.
    """
    from paper_figures.studies import evidence, laws  # here, as they import from this package

    study = {"evidence": evidence, "laws": laws}[about.get("study", "evidence")]
    answers = study.answers_of(rows).drop(columns=_LEFT_OUT, errors="ignore")
    answers = answers.sort_values(list(study.KEY), ignore_index=True)
    frontiers = study.frontiers_of(rows).sort_values(["world", "prompt"], ignore_index=True)
    written = [
        write_bytes(folder / f"{name}.parquet", frame.to_parquet(compression="zstd", index=False, compression_level=19))
        for name, frame in (("answers", answers), ("frontiers", frontiers))
    ]
    counts = {"answers": len(answers), "frontiers": len(frontiers)}
    return [*written, write_json(folder / "about.json", {**about, **counts})]


# No stub lists them: results depend on the code that they reach by imports.
_NAMES = {
    "ablations": "recorded_ablation recorded_ablations",
    "comparisons": "Comparison compare_arms comparisons_of confidence_texts reward_answer rivals_of",
    "completed": "with_one_score",
    "measures": "MEASURES difference_interval differences_of scores_of",
}
__getattr__, _, _ = lazy_loader.attach(
    __name__, submod_attrs={module: names.split() for module, names in _NAMES.items()}
)
