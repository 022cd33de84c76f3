"""Tiny checkpoints and finished runs of studies on them, for tests of experiments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from paper_figures.__main__ import main
from paper_figures.runner.results import read_unit_rows
from rws_decode.testing import tiny_checkpoint
from rws_decode.testing.networks import bert_classifier, llama, word_tokenizer

EXAMPLES: list[dict[str, Any]] = [
    {"kind": "keywords", "prompt": "the cat sat on a mat .", "keywords": ["cat", "mat", "red", "hill"]},
    {"kind": "keywords", "prompt": "a dog ran", "keywords": ["dog", "tree", "blue", "then"]},
    {"kind": "keywords", "prompt": "it was red and blue", "keywords": ["red", "blue", "it", "was"]},
    {"kind": "keywords", "prompt": "the bird flew over a tree", "keywords": ["bird", "tree", "flew", "small"]},
]
SHAPE = {"length": 16, "steps": 8, "block": 8}


def save_models(root: Path) -> list[str]:
    """Save a predictor, two reward models and a causal model, and return the options that name them and a small run."""
    tiny_checkpoint("bert", root / "model", files={"examples.json": EXAMPLES})  # type: ignore[arg-type] - keywords are lists
    tiny_checkpoint("classifier", root / "guide", files={"reward.json": {"mean": 0.1, "std": 0.5}})
    tiny_checkpoint("classifier", root / "other")
    bert_classifier(1).save_pretrained(root / "other")
    llama(5).save_pretrained(root / "causal")
    word_tokenizer().save_pretrained(root / "causal")
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
    return read_unit_rows(out)


def save_dialogues(root: Path, rows: list[dict[str, Any]]) -> Path:
    """Save a predictor, two reward models and dialogues below a folder, and return it."""
    tiny_checkpoint("bert", root / "model")
    tiny_checkpoint("classifier", root / "one", files={"reward.json": {"mean": 0.1, "std": 0.5}})
    tiny_checkpoint("classifier", root / "two")
    bert_classifier(1).save_pretrained(root / "two")
    (root / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return root
