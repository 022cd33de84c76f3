"""Where a model's files are: shipped with the package, in a directory, or on the hub."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import torch

__all__ = ["Checkpoint", "device_named", "has_tokenizer", "locate", "models_directory", "refuse_incomplete", "shipped"]

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.txt",
    "vocab.json",
    "tokenizer.model",
    "spiece.model",
)


class Checkpoint:
    """A located checkpoint: `name`, for traces, and `directory`, None where it is still on the hub."""

    def __init__(self, name: str, directory: Path | None) -> None:
        self.name = name
        self.directory = directory

    @property
    def source(self) -> str:
        """Return what `from_pretrained` is given."""
        return self.name if self.directory is None else str(self.directory)

    @property
    def options(self) -> dict[str, Any]:
        """Return loading options common to all models: no remote code, no network for a directory."""
        return {"trust_remote_code": False, "local_files_only": self.directory is not None}

    def read_json(self, file: str) -> Any:
        """Return a JSON file beside the weights, None where there is none; ValueError where it is not JSON."""
        path = None if self.directory is None else self.directory / file
        if path is None or not path.is_file():
            return None
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{file} of {self.name} is not JSON: {error}") from error


def models_directory() -> Path:
    """Return the directory of the shipped models."""
    return Path(str(files("rws_decode"))) / "models"


def shipped(kind: str) -> list[str]:
    """Return the sorted names of shipped models of a kind: the ending of their class, e.g. "ForMaskedLM"."""
    names = []
    for config in sorted(models_directory().glob("*/config.json")):
        architectures = json.loads(config.read_text(encoding="utf-8")).get("architectures") or []
        if any(name.endswith(kind) for name in architectures):
            names.append(config.parent.name)
    return names


def locate(argument: str, name: str, known: dict[str, str]) -> Checkpoint:
    """Find a checkpoint by shipped name, directory, or hub id, in this order.

    known: shipped names -> directories below the models. Anything else, and a directory without config.json, is a
    ValueError that calls the argument `argument` and lists the shipped names.
    """
    if name in known:
        return Checkpoint(name, models_directory() / known[name])
    directory = Path(name)
    if name and directory.is_dir():
        if not (directory / "config.json").is_file():
            raise ValueError(f"{argument} is {name}: the directory holds no config.json")
        return Checkpoint(directory.resolve().name, directory)
    if _HUB_ID.fullmatch(name):
        return Checkpoint(name, None)
    names = ", ".join(known) or "none"
    raise ValueError(
        f"{argument} is {name!r}: neither a shipped name ({names}), nor a directory, nor a hub id owner/name"
    )


def has_tokenizer(checkpoint: Checkpoint) -> bool:
    """Say whether a directory holds a tokenizer; a hub id is taken to.

    transformers makes up an empty vocabulary for a directory without one, hence the look at the files.
    """
    directory = checkpoint.directory
    return directory is None or any((directory / file).is_file() for file in _TOKENIZER_FILES)


def refuse_incomplete(argument: str, checkpoint: Checkpoint, info: dict[str, Any]) -> None:
    """Raise ValueError for missing or misshapen weights, which transformers draws at random with a warning."""
    absent = sorted({str(key) for kind in ("missing_keys", "mismatched_keys") for key in info.get(kind, ())})
    if absent:
        some = ", ".join(absent[:4]) + (" ..." if len(absent) > 4 else "")
        raise ValueError(f"{argument} {checkpoint.name} lacks weights: {some}")


def device_named(name: str | torch.device) -> torch.device:
    """Return the device of that name; ValueError where PyTorch has none such here."""
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"device is {str(name)!r}: not a device of this machine ({reason})") from error
    return device
