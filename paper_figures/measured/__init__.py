"""Measurements of devices, as data: each file is one run of `python -m rws_decode bench --shape NAME --out FILE`.

A file holds the command, commit, device and date that made it, and its numbers (`paper_figures.bench.whole` has the
schema). `paper_figures.figures.device_cost` draws the files in this folder and those below RUNS/bench.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as short
from typing import Any

from rws_decode.common.files import read_json

__all__ = ["COMMAND", "FOLDER", "Measurement", "read_measured", "read_measurement"]

FOLDER = Path(__file__).resolve().parent
COMMAND = "python -m rws_decode bench --shape llada-8b --device cuda --out paper_figures/measured/NAME.json"
# That of `paper_figures.bench.device_run`, which takes seconds to import.
SCHEMA = 1
_LARGEST = 1e100

# field -> what stands there: a "number" that is finite, a "text" or a "flag"; with "?" it may be null.
Kinds = Mapping[str, str]
_MADE: Kinds = {
    **dict.fromkeys(("date", "device"), "text"),
    **dict.fromkeys(("command", "commit", "driver", "cuda", "torch", "triton"), "text?"),
    "changed": "flag?",
}
_SETTINGS: Kinds = {"device": "text"}
_KNOWN_SETTINGS: Kinds = {
    **dict.fromkeys(("shape", "dtype"), "text"),
    **dict.fromkeys(("prompt", "length", "steps", "block"), "number"),
}
_CHECKS: Kinds = {"name": "text", "passed": "flag"}
_AGREEMENT: Kinds = dict.fromkeys(("answers", "equal", "explained", "unexplained"), "number")
_TABLES: Mapping[str, Kinds] = {
    "overhead": {"batch": "number", "of": "text", "increase": "number", "added_bytes": "number?"},
    "frequency": {"every": "number?", "over_every_step": "number?", "increase": "number?", "reward_calls": "number"},
    "ratios": {"name": "text", "batch": "number", "value": "number", "goal": "text?", "met": "flag?"},
    "savings": {"method": "text", "saving": "text", "off": "number?", "alone": "number?"},
    "ways": {
        "batch": "number",
        **dict.fromkeys(("group", "way", "status"), "text"),
        **dict.fromkeys(("ms_per_step", "tokens_per_second", "memory_bytes"), "number?"),
        **dict.fromkeys(("reward_calls", "reward_calls_saved"), "number?"),
        "compared": "text?",
        "agreement": "",
    },
    "kernels": {
        "factors": "number",
        **dict.fromkeys(("way", "dtype", "status"), "text"),
        **dict.fromkeys(("ms", "share", "error", "goal"), "number?"),
        **dict.fromkeys(("tokens", "leads"), "flag?"),
    },
}


@dataclass(frozen=True)
class Measurement:
    """One file. name: its path, as readers are told; content: all that it holds."""

    name: str
    content: Mapping[str, Any]

    @property
    def made(self) -> Mapping[str, Any]:
        """Return command, commit, device, date and libraries."""
        return self.content["provenance"]

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return what was decoded; of the kernels alone, only the kind of device."""
        return self.content["settings"]

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
        return [str(check["name"]) for check in self.content["checks"] if not check["passed"]]

    @property
    def complete(self) -> bool:
        """Say whether the run came to its end."""
        return bool(self.content["complete"])

    def rows(self, table: str) -> Sequence[Mapping[str, Any]]:
        """Return a table's rows: overhead, frequency, ratios, savings, ways or kernels; none where it was not made."""
        if table == "kernels":
            return (self.content.get("kernels") or {}).get("ways", ())
        return self.content.get(table, ())


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
        content = read_json(path)
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as JSON: {' '.join(str(error).split())}") from error
    if fault := _wrong(content):
        raise ValueError(f"{path} is no measurement of python -m rws_decode bench --shape: {fault}")
    return Measurement(name or path.name, content)


def _wrong(content: Any) -> str | None:
    """Return what is wrong with a file's content, None where nothing is."""
    if not isinstance(content, dict):
        return "it is not a JSON object"
    if content.get("schema") != SCHEMA:
        return f"its schema is {short(content.get('schema'))}, {SCHEMA} is needed"
    if not isinstance(content.get("complete"), bool):
        return "it does not say whether it is complete"
    for part, kinds in {"provenance": _MADE, "settings": _SETTINGS}.items():
        if fault := _not_of(content.get(part), kinds):
            return f"{part} {fault}"
    kinds_given = {key: kind for key, kind in _KNOWN_SETTINGS.items() if key in content["settings"]}
    if fault := _not_of(content["settings"], kinds_given):
        return f"settings {fault}"
    kernels = content.get("kernels") or {}
    tables = {name: content.get(name, []) for name in _TABLES} | {"checks": content.get("checks")}
    tables["kernels"] = kernels.get("ways", []) if isinstance(kernels, dict) else None
    for name, rows in tables.items():
        if not isinstance(rows, list):
            return f"{name} is no list of {'checks' if name == 'checks' else 'rows'}"
        for row in rows:
            if fault := _not_of(row, _TABLES.get(name, _CHECKS)):
                return f"{name} {fault}"
            agreement = row.get("agreement")
            if agreement is not None and (fault := _not_of(agreement, _AGREEMENT)):
                return f"{name}: an agreement {fault}"
    return None


def _not_of(part: Any, kinds: Kinds) -> str | None:
    """Return what keeps a part from being an object with these fields, None where nothing does."""
    if not isinstance(part, dict):
        return f"has {short(part)} in place of an object"
    if absent := next((key for key in kinds if key not in part), None):
        return f"has no {absent}"
    wrong = next((key for key, kind in kinds.items() if not _is(part[key], kind)), None)
    return None if wrong is None else f"has {short(part[wrong])} as {wrong}"


def _is(value: Any, kind: str) -> bool:
    if value is None:
        return kind in ("", kind.rstrip("?") + "?")
    if kind.startswith("number"):
        # Whole numbers beyond every float are none that was measured.
        return type(value) in (int, float) and abs(value) <= _LARGEST
    return isinstance(value, {"text": str, "flag": bool}.get(kind.rstrip("?"), object))
