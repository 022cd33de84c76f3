"""What was measured on a device, as data: each file is one run of `python -m rws_decode bench --shape NAME --out FILE`.

A file holds the command, commit, device and date that made it, beside its numbers (`rws_decode.bench.whole` has the
schema). Files in this folder are drawn by `paper_figures.device_cost`, as are those below RUNS/bench.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rws_decode.files import parse_json

__all__ = ["COMMAND", "FOLDER", "Measurement", "read_measured", "read_measurement"]

FOLDER = Path(__file__).resolve().parent
COMMAND = "python -m rws_decode bench --shape llada-8b --device cuda --out paper_figures/measured/NAME.json"
# That of `rws_decode.bench.device_run`, which takes seconds to import.
SCHEMA = 1

_MADE = ("command", "commit", "changed", "date", "device", "driver", "cuda", "torch", "triton")
_TABLES: dict[str, tuple[str, ...]] = {
    "overhead": ("batch", "of", "increase", "added_bytes"),
    "frequency": ("every", "over_every_step", "increase", "reward_calls"),
    "ratios": ("name", "batch", "value", "goal", "met"),
    "savings": ("method", "saving", "off", "alone"),
    "ways": (
        *("batch", "group", "way", "status", "ms_per_step", "tokens_per_second", "memory_bytes", "reward_calls"),
        *("reward_calls_saved", "compared", "agreement"),
    ),
}
# Numbers that every row of a table has; those below may be null, for what was not measured.
_NUMBERS = {"overhead": ("batch", "increase"), "ratios": ("batch", "value"), "frequency": ("reward_calls",)}
_OR_NULL = frozenset(
    "every over_every_step increase added_bytes off alone ms_per_step tokens_per_second memory_bytes reward_calls "
    "reward_calls_saved ms share error".split()
)
_AGREEMENT = ("answers", "equal", "explained", "unexplained")
_KERNELS = ("way", "dtype", "factors", "status", "ms", "share", "error", "tokens", "leads", "goal")


@dataclass(frozen=True)
class Measurement:
    """One file. name: where it lies, as readers are told; held: all that it holds."""

    name: str
    held: Mapping[str, Any]

    @property
    def made(self) -> Mapping[str, Any]:
        """Return command, commit, device, date and libraries."""
        return self.held["provenance"]

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return what was decoded; of the kernels alone, only the kind of device."""
        return self.held["settings"]

    @property
    def cuda(self) -> bool:
        """Say whether it was measured on a GPU of CUDA."""
        return self.made["cuda"] is not None

    @property
    def of_goals(self) -> bool:
        """Say whether goals are set for it: LLaDA-8B's shape, or logits alone, on a GPU."""
        return self.cuda and self.settings.get("shape", "llada-8b") == "llada-8b"

    @property
    def failed(self) -> list[str]:
        """Return which checks of the self-check did not pass: what was measured is then not known to be right."""
        return [str(check["name"]) for check in self.held["checks"] if not check["passed"]]

    @property
    def complete(self) -> bool:
        """Say whether the run came to its end."""
        return bool(self.held["complete"])

    def rows(self, table: str) -> Sequence[Mapping[str, Any]]:
        """Return a table's rows: overhead, frequency, ratios, savings, ways or kernels; none where it was not made."""
        if table == "kernels":
            return (self.held.get("kernels") or {}).get("ways", ())
        return self.held.get(table, ())


def read_measured(folder: Path = FOLDER, shown: str = "paper_figures/measured") -> tuple[Measurement, ...]:
    """Return the measurements in a folder, by file name, called by it after `shown`; none where there is no folder.

    ValueError, in one line that names the file, for a *.json that is no measurement.

    >>> read_measured(Path("nowhere"))
    ()
    """
    return tuple(read_measurement(path, f"{shown}/{path.name}") for path in sorted(folder.glob("*.json")))


def read_measurement(path: Path, name: str | None = None) -> Measurement:
    """Return one file's measurement; ValueError, in one line that names the file, for one that is none."""
    try:
        held = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as JSON: {' '.join(str(error).split())}") from error
    if wrong := _wrong(held):
        raise ValueError(f"{path} is no measurement of python -m rws_decode bench --shape: {wrong}")
    return Measurement(name or path.name, held)


def _wrong(held: Any) -> str | None:
    """Return what is wrong with a file's content, None where nothing is."""
    if not isinstance(held, dict):
        return "it is not a JSON object"
    if held.get("schema") != SCHEMA:
        return f"its schema is {held.get('schema')!r}, {SCHEMA} is needed"
    if not isinstance(held.get("complete"), bool):
        return "it does not say whether it is complete"
    for part, keys in {"provenance": _MADE, "settings": ("device",)}.items():
        if absent := _absent(held.get(part), keys):
            return f"{part} has no {absent}"
    made = held["provenance"]
    for key in ("device", "date"):
        if not isinstance(made[key], str):
            return f"provenance has {made[key]!r} as {key}"
    if not isinstance(made["commit"], str | None) or made["changed"] not in (True, False, None):
        return f"provenance has {made['commit']!r} as commit, changed: {made['changed']!r}"
    if _not_rows(held.get("checks"), ("name", "passed")):
        return "checks is no list of checks"
    kernels = held.get("kernels") or {}
    tables = {name: held.get(name, []) for name in _TABLES}
    tables["kernels"] = kernels.get("ways", []) if isinstance(kernels, dict) else None
    for name, rows in tables.items():
        if told := _not_rows(rows, _TABLES.get(name, _KERNELS)):
            return f"{name} {told}"
        for row in rows:
            told = row.get("agreement") and _absent(row["agreement"], _AGREEMENT)
            if told:
                return f"{name} has an agreement without {told}"
            if wrong := next((key for key in row if not _number(row[key], key, _NUMBERS.get(name, ()))), None):
                return f"{name} has {row[wrong]!r} as {wrong}"
    return None


def _number(value: Any, key: str, needed: Sequence[str]) -> bool:
    """Say whether a value is a number, or null where it may be; of what is no number's place, anything is."""
    if value is None:
        return key not in needed
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number or key not in _OR_NULL.union(needed)


def _absent(part: Any, keys: Sequence[str]) -> str | None:
    if not isinstance(part, dict):
        return "object"
    return next((key for key in keys if key not in part), None)


def _not_rows(rows: Any, keys: Sequence[str]) -> str | None:
    if not isinstance(rows, list):
        return "is no list of rows"
    absent = next(filter(None, (_absent(row, keys) for row in rows)), None)
    return None if absent is None else f"has a row without {absent}"
