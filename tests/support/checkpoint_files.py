"""Look into a checkpoint's files, and change what they say."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from json_files import write_json
from safetensors.torch import load_file
from torch import Tensor

from rws_decode.extra.testing import write_weights


def stored_weights(folder: Path) -> dict[str, Tensor]:
    files = sorted(folder.glob("*.safetensors"))
    return {name: tensor for file in files for name, tensor in load_file(file).items()}


def change_weights(folder: Path, change: Callable[[dict[str, Tensor]], object], shards: int = 1) -> Path:
    """Change the tensors of a checkpoint, store them anew in so many files, and return its folder."""
    weights = stored_weights(folder)
    change(weights)
    for file in folder.glob("model*"):
        file.unlink()
    write_weights(folder, weights, shards=shards)
    return folder


def edit_json(path: Path, **changes: Any) -> None:
    write_json(path, json.loads(path.read_text(encoding="utf-8")) | changes)


def in_the_cache(cache: Path, name: str, commit: str) -> Path:
    """Return where a hub id's files of a commit lie in the hub's cache, main pointing there."""
    repository = cache / f"models--{name.replace('/', '--')}"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(commit)
    return repository / "snapshots" / commit
