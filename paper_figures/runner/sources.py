"""What a study's numbers follow from: digests of its models' files and of its code, and the versions of libraries."""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from pathlib import Path
from typing import Any

from paper_figures.runner.digests import DECODER, code_digest
from rws_decode.checkpoints.files import locate, models_directory, split_revision
from rws_decode.rewards.registry import OF_WORLDS as WORLD_REWARDS
from rws_decode.rewards.registry import PublishedReward, known_reward

_LIBRARIES = ("torch", "transformers", "tokenizers", "numpy", "scipy")


def sources(root: str = DECODER, **models: tuple[str, dict[str, str]]) -> dict[str, Any]:
    """Return digests of the models' files and of the code, and library versions: equal sources, equal results.

    root: the module of the work, of whose code the digest is (`code.code_digest`). models: argument -> (name, shipped
    names -> directories below the models), as `files.locate` takes them. A hub id stands for its files, with the
    revision after its "@" where it has one.
    """
    digests: dict[str, Any] = {
        argument: _model(argument, name, shipped) for argument, (name, shipped) in models.items()
    }
    return digests | {"code": code_digest(root), "libraries": {name: version(name) for name in _LIBRARIES}}


def _model(argument: str, name: str, shipped: dict[str, str]) -> Any:
    if argument in ("reward", "judge") and name == "exact":
        return {"exact.json": _file(models_directory() / "exact.json")}
    if argument in ("reward", "judge") and name.partition(":")[0] in WORLD_REWARDS:
        folder = models_directory() / "english"
        return {each: _file(folder / each) for each in ("rewards.json", "words.json", "world.npz")}
    short, revision = split_revision(name)
    if argument in ("reward", "judge") and (entry := known_reward(short)) is not None:
        commit = revision or (entry.revision if isinstance(entry, PublishedReward) else None)
        return entry.hub_id if commit is None else f"{entry.hub_id}@{commit}"
    directory = locate(argument, short, shipped).directory
    if directory is None:
        return name
    return {path.name: _file(path) for path in sorted(directory.iterdir()) if path.is_file() and path.suffix != ".md"}


def _file(path: Path) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
