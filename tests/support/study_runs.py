"""Tiny checkpoints and finished runs of studies on them, for tests of experiments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
from tiny_models import classifier, llama, save_predictor, save_reward, tokenizer

from paper_figures.__main__ import main
from paper_figures.runner.results import read_results

EXAMPLES: list[dict[str, Any]] = [
    {"kind": "keywords", "prompt": "the cat sat on a mat .", "keywords": ["cat", "mat", "red", "hill"]},
    {"kind": "keywords", "prompt": "a dog ran", "keywords": ["dog", "tree", "blue", "then"]},
    {"kind": "keywords", "prompt": "it was red and blue", "keywords": ["red", "blue", "it", "was"]},
    {"kind": "keywords", "prompt": "the bird flew over a tree", "keywords": ["bird", "tree", "flew", "small"]},
]
SHAPE = {"length": 16, "steps": 8, "block": 8}


def save_models(root: Path) -> list[str]:
    """Save a predictor, two reward models and a causal model, and return the options that name them and a small run."""
    save_predictor(root / "model", examples=EXAMPLES)  # type: ignore[arg-type] - keywords are lists
    save_reward(root / "guide", {"mean": 0.1, "std": 0.5})
    save_reward(root / "other", {"mean": 0.0, "std": 1.0})
    classifier(1).save_pretrained(root / "other")
    llama(5).save_pretrained(root / "causal")
    tokenizer().save_pretrained(root / "causal")
    words = ["--data", "examples:keywords", "--prompts", "3", "--reward-scale", "8", "--batch", "2"]
    words += ["--model", str(root / "model"), "--causal", str(root / "causal")]
    words += ["--rewards", str(root / "guide"), str(root / "other")]
    return words + [word for name, value in SHAPE.items() for word in (f"--{name}", str(value))]


def run_again(experiment: str, options: list[str], out: Path, capsys: Any) -> dict[str, Any]:
    """Run an experiment whose results are all there, see that nothing is written, and return what `--json` prints."""
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}
    capsys.readouterr()
    assert main(["experiment", experiment, *options, "--out", str(out), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["units"]["computed"] == report["units"]["failed"] == 0 < report["units"]["found"]
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()} == before
    return report


def frame_of(out: Path) -> pd.DataFrame:
    """Return the rows of a run's units."""
    return read_results(out)
