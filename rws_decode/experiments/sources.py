"""What an experiment's numbers follow from: its prompts, the files of its models, the code; and a digest of it all."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import rws_decode
import rws_theory
from rws_decode.checkpoints import locate, models_directory, shipped, split_revision
from rws_decode.experiments.digests import digest
from rws_decode.files import write_text
from rws_decode.rewards.registry import published_reward

__all__ = ["Example", "digest", "examples_of", "read_result", "sources", "write_changed"]

# What decoded tokens and their measures follow from; commands and training recipes are not among it.
_CODE = {
    rws_decode: (
        *("*.py", "predictors/*.py", "rewards/*.py", "stories/*.py", "experiments/*.py"),
        *("adapters/*.py", "data/*.py", "execution/*.py"),
    ),
    rws_theory: ("gain.py", "order.py"),
}
_LIBRARIES = ("torch", "transformers", "tokenizers", "numpy", "scipy")


class Example(NamedTuple):
    """A held-out prompt of a model: `example`, its place in examples.json, and what stands there."""

    example: int
    prompt: str
    keywords: tuple[str, ...]


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


def sources(**models: tuple[str, dict[str, str]]) -> dict[str, Any]:
    """Return digests of the models' files and of the code, and library versions: equal sources, equal results.

    models: argument -> (name, shipped names -> directories below the models), as `checkpoints.locate` takes them. A
    hub id stands for its files, with the revision after its "@" where it has one.
    """
    found: dict[str, Any] = {argument: _model(argument, name, known) for argument, (name, known) in models.items()}
    return found | {"code": _code(), "libraries": {name: version(name) for name in _LIBRARIES}}


@lru_cache(maxsize=1)
def _code() -> str:
    """Return the code's digest, once per process: a file that changes later is not the code that runs."""
    code: dict[str, str] = {}
    for package, patterns in _CODE.items():
        root = Path(str(package.__file__)).parent
        files = {path for pattern in patterns for path in root.glob(pattern) if path.name != "__main__.py"}
        code |= {f"{package.__name__}/{path.relative_to(root)}": _file(path) for path in sorted(files)}
    return digest(code)


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


def read_result(path: Path, fingerprint: str) -> dict[str, Any] | None:
    """Return the JSON object stored at path if it has that "fingerprint", and None otherwise."""
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return stored if isinstance(stored, dict) and stored.get("fingerprint") == fingerprint else None


def write_changed(path: Path, text: str) -> Path:
    """Write a text file atomically unless it holds that text already, and return the path."""
    if not path.is_file() or path.read_bytes() != text.encode("utf-8"):
        write_text(path, text)
    return path
