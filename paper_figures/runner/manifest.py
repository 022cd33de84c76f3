"""The manifest of a study's folder: which of the units in it the last whole run, and so its tables, are about.

A folder keeps the units of every run, so that none is computed twice. They may be of other seeds, lengths or prompts,
or of reward scales chosen on prompts that are test prompts here. No table may mix them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rws_decode.common.files import parse_json, write_changed

_NAME = "last_run.json"
_DIGITS = 16  # of a unit's hash: enough to tell units apart, and a quarter of the file


@dataclass(frozen=True)
class Manifest:
    """What a run asked for.

    results: the name of its units' folder; seed: of its tables; units: the first digits of its units' hashes.
    """

    results: str
    seed: int
    units: frozenset[str]

    def __contains__(self, unit: str) -> bool:
        """Return whether the run asked for the unit of this hash."""
        return unit[:_DIGITS] in self.units


def write_manifest(results: Path, seed: int, units: Iterable[str]) -> Path:
    """Record that the last run below results.parent has its units in `results`, unless that is recorded already."""
    names = sorted(unit[:_DIGITS] for unit in units)
    record = {"results": results.name, "seed": seed, "units": names}
    return write_changed(results.parent / _NAME, json.dumps(record) + "\n")


def read_manifest(folder: Path) -> Manifest | None:
    """Return the last whole run of an experiment's folder, None where none is recorded; ValueError for another file.

    >>> read_manifest(Path("nowhere")) is None
    True
    """
    path = folder / _NAME
    if not path.is_file():
        return None
    try:
        record = parse_json(path.read_text(encoding="utf-8"))
        return Manifest(str(record["results"]), int(record["seed"]), frozenset(record["units"]))
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise ValueError(f"{path}: not the record of a run; remove it to see all results") from error
