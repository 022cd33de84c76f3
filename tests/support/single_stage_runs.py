"""Experiments of one round, as tests run them: command lines from options, what results.json holds, refusals."""

import json
from pathlib import Path
from typing import Any

from command_lines import figures as main

from rws_decode.extra.testing import tiny_checkpoint

PROMPTS = ["the cat sat on a mat .", "a dog ran", "it was red and blue"]


def save_models(folder: Path, prompts: list[str] = PROMPTS) -> Path:
    """Save a predictor with the prompts as `tiny` and a reward model as `reward` below a folder; return the folder."""
    tiny_checkpoint("bert", folder / "tiny", files={"examples.json": [{"prompt": prompt} for prompt in prompts]})
    tiny_checkpoint("classifier", folder / "reward", files={"reward.json": {"mean": 0.0, "std": 0.3}})
    return folder


def options_of(models: Path, **values: Any) -> list[str]:
    """Return command-line options: the models of `save_models`, three prompts, and others by name; lists are spread."""
    named = {"model": models / "tiny", "reward": models / "reward", "prompts": 3} | values
    words = []
    for name, value in named.items():
        words += [f"--{name.replace('_', '-')}", *map(str, value if isinstance(value, list | tuple) else [value])]
    return words


def run(experiment: str, out: Path, options: list[str], *extra: str) -> int:
    return main(["experiment", experiment, "--out", str(out), *options, *extra])


def results_of(out: Path, experiment: str) -> dict[str, Any]:
    return json.loads((out / experiment / "results.json").read_text(encoding="utf-8"))
