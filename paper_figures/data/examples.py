"""The held-out prompts that ship with a mask predictor, in examples.json beside its weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rws_decode.checkpoints.files import Checkpoint, locate, shipped, split_revision


def checkpoint_of(model: str) -> Checkpoint:
    """Return where a mask predictor is, a hub id without its revision; ValueError for an unknown model."""
    return locate("model", split_revision(model)[0], {name: name for name in shipped("ForMaskedLM")})


def refuse_no_world(model: str) -> None:
    """Raise ValueError for a model that is no world, as is every model of the hub: a world is a directory."""
    folder = checkpoint_of(model).directory
    if folder is None or not (folder / "world.npz").is_file():
        raise ValueError(f"--model is {model}: a world is needed, such as english")


def shipped_examples(model: str) -> list[dict[str, Any]]:
    """Return the model's held-out prompts without loading its weights, none if it ships none.

    ValueError for an unknown model.
    """
    return _rows(model, "examples.json")


def further_prompts(model: str) -> list[dict[str, Any]]:
    """Return the model's held-out prompts that are no examples, none if it ships none; ValueError as above."""
    return _rows(model, "openings.json")


def _rows(model: str, name: str) -> list[dict[str, Any]]:
    stored = checkpoint_of(model).read_json(name)
    whole = isinstance(stored, list) and all(isinstance(row, dict) and "prompt" in row for row in stored)
    return stored if stored and whole else []


def refuse_few(option: str, number: int, rows: Sequence[Any], model: str, what: str = "examples") -> None:
    """Raise ValueError, naming the option, unless `number` is 1 to the count of the rows that the model ships."""
    if not 1 <= number <= len(rows):
        known = f"{len(rows)} {what}, choose 1 to {len(rows)}" if rows else f"no {what}, name a model that does"
        raise ValueError(f"{option} is {number}: {model} ships {known}")


def examples_of(model: str) -> list[dict[str, Any]]:
    """Return the model's held-out prompts without loading its weights.

    ValueError for an unknown model, or one that ships none.
    """
    examples = shipped_examples(model)
    if not examples:
        raise ValueError(
            f"model is {model}: it ships no held-out prompts (examples.json beside its weights), name one that does, "
            "such as mini"
        )
    return examples
