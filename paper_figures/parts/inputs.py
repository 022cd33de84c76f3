"""What figures read besides traces: facts about the model that made them, and results of experiments."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paper_figures.parts.exhibits import MissingRun
from paper_figures.plan import command

__all__ = ["Results", "end_of_text", "read_results", "read_run"]

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Results:
    """What a study's results.json holds (`rws_decode.experiments.run_results`).

    settings: its options; prompts: source, and how many test and validate; selection: guide -> reward scale chosen,
    None where they were given; rows: table -> rows as measured; shown: table -> the same as text; captions: table ->
    caption; inputs: its files, below the runs.
    """

    experiment: str
    settings: Mapping[str, Any]
    prompts: Mapping[str, Any]
    selection: Mapping[str, float] | None
    rows: Mapping[str, Sequence[Row]]
    shown: Mapping[str, Sequence[Row]]
    captions: Mapping[str, str]
    inputs: tuple[str, ...]
    units: str


def read_run(runs: Path, experiment: str) -> Results:
    """Return the results of a study below `runs`; MissingRun, naming the command that makes them, where absent."""
    parts = ("settings", "prompts", "selection", "units", "tables")
    path = runs / experiment / "results.json"
    held = read_results(path, command(experiment, runs), parts)
    tables = held["tables"]
    files = [f"{experiment}/results.json", *(f"{experiment}/{name}.csv" for name in tables)]
    return Results(
        experiment,
        held["settings"],
        held["prompts"],
        held["selection"],
        *({name: one[part] for name, one in tables.items()} for part in ("rows", "shown", "caption")),
        tuple(files),
        held["units"],
    )


def end_of_text(model: str) -> int | None:
    """Return the end-of-text id of a model, shipped name or directory; None where its config.json names none.

    ValueError for an unknown model. No weights are read.
    """
    from rws_decode.checkpoints import locate, shipped

    checkpoint = locate("model", model, {name: name for name in shipped("ForMaskedLM")})
    end = (checkpoint.read_json("config.json") or {}).get("eos_token_id")
    return end if isinstance(end, int) else None


def read_results(path: Path, command: str, parts: Sequence[str]) -> dict[str, Any]:
    """Return an experiment's results.json; MissingRun, naming the command, where there is none.

    ValueError for a file that is not a JSON object, or lacks one of its `parts`.
    """
    if not path.is_file():
        raise MissingRun(f"{path} is missing: make it with {command}")
    try:
        results = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    absent = [part for part in parts if not isinstance(results, dict) or part not in results]
    if absent:
        raise ValueError(f"{path} has no {absent[0]}: make it again with {command}")
    return results
