"""The runs behind a page: what they are of, what each was, what a reader must know about it, and its files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paper_figures.report.provenance import notes
from rws_decode.checkpoints.files import shipped
from rws_decode.common.files import write_bytes

Record = Mapping[str, Any]
_DIGITS = 16  # of a digest: enough to tell files apart
_SMALL = "a toy story model"
# What the shipped exact models are.
_WORLDS = {"english": "a 4-gram model of public-domain speeches"}
_STUDY = "evidence"  # of the evidence study, on many prompts


@dataclass(frozen=True)
class Run:
    """A run of an experiment, the anchor of its section, the facts of it, and the exhibits made from it."""

    experiment: str
    key: str
    facts: Mapping[str, Any]
    exhibits: list[str]

    @property
    def seconds(self) -> float | None:
        """Return the seconds that its units took, None if they are not recorded."""
        return self.facts["seconds"]

    def row(self) -> dict[str, Any]:
        """Return the run's row in the table of runs: heading -> cell, None for what is not known."""
        settings, prompts = self.facts["settings"] or {}, self.facts["prompts"] or {}
        count = prompts.get("test", settings.get("prompts", len(settings.get("examples", [])) or None))
        validation = f" + {prompts['validation']} to choose scales" if prompts.get("validation") else ""
        return {
            "run": self.experiment,
            "time": "not recorded" if self.seconds is None else time_text(self.seconds),
            "model": settings.get("model"),
            "prompts": None if count is None else f"{count}{validation}",
            "seed": settings.get("seed"),
            "device": settings.get("device"),
            "notes": "; ".join(notes(self.experiment, self.facts)) or None,
        }

    def digests(self) -> dict[str, str]:
        """Return the beginnings of the digests of the code and of every model's weights, and library versions."""
        sources = self.facts["sources"]
        facts = {name: sources[name][:_DIGITS] for name in ("code", "printed") if name in sources}
        for model, files in sources.get("models", {}).items():
            # A hub id stands for its files.
            digests = files if isinstance(files, Mapping) else {model: str(files)}
            weights = [value for name, value in digests.items() if name.endswith(".safetensors")]
            shown = weights or list(digests.values())
            facts[model] = ", ".join(value if "/" in value else value[:_DIGITS] for value in shown)
        return facts | dict(sources.get("libraries", {}))


def runs_behind(records: Mapping[str, Record]) -> list[Run]:
    """Return the runs that the exhibits were made from, by name; an experiment may have several."""
    found: list[tuple[str, Mapping[str, Any], list[str]]] = []
    for name, record in records.items():
        for experiment, facts in record["runs"].items():
            same = [names for other, known, names in found if (other, known) == (experiment, facts)]
            if same:
                same[0].append(name)
            else:
                found.append((experiment, facts, [name]))
    found.sort(key=lambda run: run[0])
    return [Run(name, f"run-{number}", facts, names) for number, (name, facts, names) in enumerate(found, 1)]


def copied_files(records: Iterable[Record], runs: Path, out: Path) -> tuple[list[Path], dict[str, list[str]]]:
    """Return the files copied to OUT/traces, and experiment -> links to results and traces, relative and below `out`.

    Nothing is copied if the runs are already below `out`. Folders of many traces elsewhere are left out.
    """
    copied: list[Path] = []
    links: dict[str, list[str]] = {}
    inside = runs.resolve().is_relative_to(out.resolve())
    for name in dict.fromkeys(name for record in records for name in record["inputs"]):
        source = runs / name
        if not source.is_file() and not (inside and source.is_dir()):
            continue  # an older record's runs, which this call was not given, or a folder of many traces elsewhere
        target = source if inside else out / "traces" / name
        if not inside:
            copied.append(write_bytes(target, source.read_bytes()))
        path = Path(os.path.relpath(target.resolve(), out.resolve())).as_posix()
        links.setdefault(name.partition("/")[0], []).append(path)
    return copied, links


def time_text(seconds: float) -> str:
    """Return a time in seconds, or in minutes from two minutes on.

    >>> time_text(12.4), time_text(150)
    ('12 s', '2.5 min')
    """
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def setting(records: Mapping[str, Record]) -> str:
    """Return a sentence with the models, reward models and numbers of prompts of all runs."""
    runs = {name: facts for record in records.values() for name, facts in record.get("runs", {}).items()}
    settings = [facts["settings"] for facts in runs.values() if facts["settings"]]
    if not settings:
        return ""
    models = [options["model"] for options in settings if "model" in options]
    if models and {*models} <= {*shipped("BertForMaskedLM"), *_WORLDS}:
        worlds = sorted({*models}, key=_WORLDS.__contains__)
        small = "and ".join(f"{name} is {_WORLDS.get(name, _SMALL)}, " for name in worlds)
        ours = f"Here {small.removesuffix(', ')}. Nothing here was measured on LLaDA, the paper's model."
    else:
        rewards = [n for options in settings for n in (*options.get("rewards", ()), options.get("reward")) if n]
        ours = f"Our numbers are of {_named(models)}, guided by the reward models {_named(rewards)}."
    counts = [facts["prompts"]["test"] for facts in runs.values() if facts["prompts"] and "test" in facts["prompts"]]
    if counts:
        span = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
        ours += f" The studies that were run for this page have {span} prompts each and are illustrations."
    return ours + (" The evidence study has hundreds." if counts and _STUDY in records else "")


def _named(names: list[str]) -> str:
    shown = list(dict.fromkeys(names))
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]])) or "not named"
