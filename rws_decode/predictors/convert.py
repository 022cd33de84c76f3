"""Write a checkpoint of a family once under the names of transformers, so that it loads without renaming."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from safetensors import safe_open
from safetensors.torch import save_file

from rws_decode.checkpoints.config import config_of
from rws_decode.checkpoints.files import Checkpoint, fetch, locate
from rws_decode.checkpoints.weights import Stored, refuse_nonfinite
from rws_decode.common.files import write_json
from rws_decode.predictors.described import described, renamed
from rws_decode.predictors.converted import MARKER, family_of, native_config

__all__ = ["convert"]

_TEXT_FILES = ("*.txt", "*.model", "*.jinja", "*token*.json", "vocab.json", "generation_config.json", "examples.json")


def convert(source: str, target: str | os.PathLike[str], *, revision: str | None = None) -> Path:
    """Write a native checkpoint of LLaDA, Dream or another family to a new directory, and return its path.

    source: a directory or hub id (at `revision`) in the published layout. The tensors keep their values, dtype and
    shards, one of which is in memory at a time; tokenizer files are copied, code is not. config.json is that of
    transformers' LlamaForCausalLM, Qwen2ForCausalLM and so on with an entry `masked_diffusion`, mask and end tokens, by
    which `load_predictor` knows the checkpoint: its logits are those of the source to the last bit.

    The directory appears whole or not at all. ValueError for a source that `load_predictor` would refuse or that is
    converted already, for a target that exists, and for too little disk space, with the number that is missing.
    """
    goal = Path(target)
    if goal.exists():
        raise ValueError(f"target is {goal}: it exists already, name a new directory")
    checkpoint = fetch("model", locate("source", source, {}), revision)
    raw = config_of("model", checkpoint)
    family = family_of(raw, checkpoint.name)
    if family is None or MARKER in raw:
        kind = "converted already" if MARKER in raw else f"of model_type {raw.get('model_type')!r}"
        raise ValueError(
            f"source is {source}: it is {kind}, a published LLaDA, LLaDA-MoE, Dream or A2D checkpoint is needed"
        )
    layout, headers, stored, _, ids = described(checkpoint, raw, family)
    # The dtype of the largest tensor: norms may be kept in another.
    largest = max(stored.values(), key=lambda tensor: math.prod(tensor.shape))
    config = native_config(family, layout, ids, str(largest.torch_dtype).removeprefix("torch."))

    goal.parent.mkdir(parents=True, exist_ok=True)
    _refuse_too_small(checkpoint, headers, goal.parent)
    scratch = Path(tempfile.mkdtemp(dir=goal.parent, prefix=f".{goal.name}.", suffix=".part"))
    try:
        _copy_weights(checkpoint, headers, dict(layout.renamed), scratch)
        _copy_text(checkpoint, scratch)
        write_json(scratch / "config.json", config)
        os.chmod(scratch, 0o755)
        os.rename(scratch, goal)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    return goal


def _copy_weights(checkpoint: Checkpoint, headers: dict[str, Stored], names: dict[str, str], scratch: Path) -> None:
    folder = checkpoint.directory
    assert folder is not None
    table: dict[str, str] = {}
    for file in sorted({tensor.file for tensor in headers.values()}):
        with safe_open(folder / file, framework="pt") as opened:
            tensors = {renamed(key, names): opened.get_tensor(key) for key in opened.keys()}  # noqa: SIM118
        refuse_nonfinite("model", checkpoint, tensors.items())
        save_file(tensors, scratch / file, metadata={"format": "pt"})
        with (scratch / file).open("rb") as written:
            os.fsync(written.fileno())
        table |= dict.fromkeys(tensors, file)
        del tensors
    if len(set(table.values())) > 1 or "model.safetensors" not in table.values():
        total = sum((scratch / file).stat().st_size for file in set(table.values()))
        index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(table.items()))}
        write_json(scratch / "model.safetensors.index.json", index)


def _copy_text(checkpoint: Checkpoint, scratch: Path) -> None:
    for path in _text_files(checkpoint):
        shutil.copyfile(path, scratch / path.name)
    settings: Any = checkpoint.read_json("tokenizer_config.json")
    if isinstance(settings, dict) and "auto_map" in settings:
        write_json(scratch / "tokenizer_config.json", {key: settings[key] for key in settings if key != "auto_map"})


def _text_files(checkpoint: Checkpoint) -> Iterator[Path]:
    folder = checkpoint.directory
    assert folder is not None
    yield from sorted({path for pattern in _TEXT_FILES for path in folder.glob(pattern) if path.is_file()})


def _refuse_too_small(checkpoint: Checkpoint, headers: dict[str, Stored], parent: Path) -> None:
    folder = checkpoint.directory
    assert folder is not None
    needed = sum((folder / file).stat().st_size for file in {tensor.file for tensor in headers.values()})
    free = shutil.disk_usage(parent).free
    if needed > free:
        raise ValueError(
            f"target is in {parent}: {needed / 10**9:.3g} GB are needed and {free / 10**9:.3g} GB are free, "
            f"{(needed - free) / 10**9:.3g} GB are missing"
        )
