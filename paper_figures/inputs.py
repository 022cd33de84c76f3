"""What figures read besides traces: facts about the model that made them, and results of experiments."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from paper_figures.exhibits import MissingRun

__all__ = ["end_of_text", "read_results"]


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
