"""What figures read besides traces: facts about the model that made them, and results of experiments."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas

from paper_figures.exhibits import MissingRun

__all__ = ["end_of_text", "read_results", "read_table"]


def end_of_text(model: str) -> int | None:
    """Return the end-of-text id of a model, shipped name or directory; None where its config.json names none.

    ValueError for an unknown model. No weights are read.
    """
    from rws_decode.checkpoints import locate, shipped

    checkpoint = locate("model", model, {name: name for name in shipped("ForMaskedLM")})
    end = (checkpoint.read_json("config.json") or {}).get("eos_token_id")
    return end if isinstance(end, int) else None


def read_results(path: Path, command: str) -> dict[str, Any]:
    """Return an experiment's results.json; MissingRun, naming the command, where there is none.

    ValueError for a file that is not a JSON object.
    """
    if not path.is_file():
        raise MissingRun(f"{path} is missing: make it with {command}")
    try:
        results = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    if not isinstance(results, dict):
        raise ValueError(f"{path} holds a {type(results).__name__}: a JSON object is needed")
    return results


def read_table(path: Path, command: str, columns: Sequence[str]) -> pandas.DataFrame:
    """Return an experiment's CSV table; MissingRun where there is none, ValueError where a needed column is absent."""
    if not path.is_file():
        raise MissingRun(f"{path} is missing: make it with {command}")
    table = pandas.read_csv(path)
    if absent := [column for column in columns if column not in table.columns]:
        raise ValueError(f"{path} has no column {absent[0]}: make it again with {command}")
    return table
