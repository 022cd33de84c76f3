"""Writing a trained model as it ships: float16 safetensors, tokenizer, model card; whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import load_file
from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from rws_decode.checkpoints.files import write_digests


def restore(model: nn.Module, run: Path, file: str = "checkpoint.safetensors") -> dict[str, str]:
    """Load into `model` the weights of a run's last checkpoint, or of one it kept, and return its metadata.

    ValueError where the run has no checkpoint yet.
    """
    path = run / file
    if not path.exists():
        raise ValueError(f"run is {run}; it holds no {file}, train it first")
    stored = load_file(path)
    with torch.no_grad():
        for name, value in model.named_parameters():
            value.copy_(stored[f"model.{name}"])
    model.eval()
    with safe_open(path, "pt") as handle:
        return dict(handle.metadata())


def export(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, directory: Path, extra: dict[str, Any], readme: str
) -> None:
    """Write weights rounded to float16, config, tokenizer, model card and extra JSON files to `directory`.

    The files are made in a temporary directory beside it, which then takes its place.
    """
    directory.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(dir=directory.parent, prefix=f".{directory.name}-"))
    work.chmod(0o755)
    rounded = type(model)(model.config)
    rounded.load_state_dict(model.state_dict())
    rounded.half().save_pretrained(work)
    tokenizer.save_pretrained(work)
    for name, value in extra.items():
        (work / name).write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (work / "README.md").write_text(readme, encoding="utf-8")
    write_digests(work)
    if directory.exists():
        shutil.rmtree(directory)
    for path in work.iterdir():
        path.chmod(0o644)
    os.replace(work, directory)


def card(name: str, summary: str, base: str, numbers: dict[str, Any], command: str, notes: list[str]) -> str:
    """Return a model card in Markdown: what it is, how it was made, and the numbers that the recipe measured.

    >>> card("x", "A model.", "from scratch", {"loss": 1.0}, "train x", ["A note."]).splitlines()[0]
    '---'
    """
    rows = "\n".join(
        f"| {key} | {value:.4g} |" if isinstance(value, float) else f"| {key} | {value} |"
        for key, value in numbers.items()
    )
    remarks = "\n".join(f"- {note}" for note in notes)
    return f"""---
license: apache-2.0
language: en
library_name: transformers
---

# {name}

{summary}

Made {base}, by

    {command}

Weights are stored in float16; the numbers below are those of the stored weights, computed in float32.

| measured | value |
| --- | --- |
{rows}

{remarks}
"""
