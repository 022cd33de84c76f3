"""What an experiment's numbers follow from: its prompts, the files of its models, the code; and a digest of it all."""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from pathlib import Path
from typing import Any

from paper_figures.runner.code import WORK, code_digest
from paper_figures.runner.digests import digest
from rws_decode.checkpoints.files import locate, models_directory, shipped, split_revision
from rws_decode.common.files import write_text
from rws_decode.rewards.registry import published_reward

__all__ = ["digest", "examples_of", "sources", "write_changed"]

_LIBRARIES = ("torch", "transformers", "tokenizers", "numpy", "scipy")


def examples_of(model: str) -> list[dict[str, Any]]:
    """Return the model's held-out prompts (examples.json beside its weights) without loading its weights.

    ValueError for an unknown model, or one that ships none.
    """
    checkpoint = locate("model", model, {name: name for name in shipped("ForMaskedLM")})
    stored = checkpoint.read_json("examples.json")
    whole = isinstance(stored, list) and all(isinstance(one, dict) and "prompt" in one for one in stored)
    if not stored or not whole:
        raise ValueError(f"model is {model}: it ships no held-out prompts (examples.json beside its weights)")
    return stored


def sources(root: str = WORK, **models: tuple[str, dict[str, str]]) -> dict[str, Any]:
    """Return digests of the models' files and of the code, and library versions: equal sources, equal results.

    root: the module of the work, of whose code the digest is (`code.code_digest`). models: argument -> (name, shipped
    names -> directories below the models), as `files.locate` takes them. A hub id stands for its files, with the
    revision after its "@" where it has one.
    """
    found: dict[str, Any] = {argument: _model(argument, name, known) for argument, (name, known) in models.items()}
    return found | {"code": code_digest(root), "libraries": {name: version(name) for name in _LIBRARIES}}


def _model(argument: str, name: str, known: dict[str, str]) -> Any:
    if argument in ("reward", "judge") and name == "exact":
        return {"exact.json": _file(models_directory() / "exact.json")}
    short, revision = split_revision(name)
    if argument in ("reward", "judge") and (entry := published_reward(short)) is not None:
        return f"{entry.hub_id}@{revision or entry.revision}"
    directory = locate(argument, short, known).directory
    if directory is None:
        return name
    return {path.name: _file(path) for path in sorted(directory.iterdir()) if path.is_file() and path.suffix != ".md"}


def _file(path: Path) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_changed(path: Path, text: str) -> Path:
    """Write a text file atomically unless it holds that text already, and return the path."""
    if not path.is_file() or path.read_bytes() != text.encode("utf-8"):
        write_text(path, text)
    return path
