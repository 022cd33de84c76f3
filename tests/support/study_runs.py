"""Tiny checkpoints and finished runs of studies on them, for tests of experiments."""

import json
from pathlib import Path
from typing import Any

from rws_decode.extra.testing import bert_classifier, llama, tiny_checkpoint, word_tokenizer

EXAMPLES: list[dict[str, Any]] = [
    {"kind": "keywords", "prompt": "the cat sat on a mat .", "keywords": ["cat", "mat", "red", "hill"]},
    {"kind": "keywords", "prompt": "a dog ran", "keywords": ["dog", "tree", "blue", "then"]},
    {"kind": "keywords", "prompt": "it was red and blue", "keywords": ["red", "blue", "it", "was"]},
    {"kind": "keywords", "prompt": "the bird flew over a tree", "keywords": ["bird", "tree", "flew", "small"]},
]
SHAPE = {"length": 8, "steps": 4, "block": 4}


def save_models(root: Path) -> list[str]:
    """Save a predictor, two reward models and a causal model, and return the options that name them and a small run."""
    tiny_checkpoint("bert", root / "model", files={"examples.json": EXAMPLES})  # type: ignore[arg-type] - keywords are lists
    _save_rewards(root / "guide", root / "other")
    llama(5).save_pretrained(root / "causal")
    word_tokenizer().save_pretrained(root / "causal")
    words = ["--data", "examples:keywords", "--prompts", "3", "--reward-scale", "8"]
    words += ["--model", str(root / "model"), "--causal", str(root / "causal")]
    words += ["--rewards", str(root / "guide"), str(root / "other")]
    return words + [word for name, value in SHAPE.items() for word in (f"--{name}", str(value))]


def _save_rewards(guide: Path, other: Path) -> None:
    tiny_checkpoint("classifier", guide, files={"reward.json": {"mean": 0.1, "std": 0.5}})
    tiny_checkpoint("classifier", other)
    bert_classifier(1).save_pretrained(other)


def save_small_models(root: Path) -> list[str]:
    """Save a predictor without prompts and a reward model; return options that name them, few methods and one scale."""
    tiny_checkpoint("bert", root / "model", files={"examples.json": []})
    tiny_checkpoint("classifier", root / "reward", files={"reward.json": {"mean": 0.1, "std": 0.5}})
    words = ["--model", str(root / "model"), "--rewards", str(root / "reward"), "--reward-scale", "8"]
    return [*words, "--methods", "rws", "constant", "--length", "16", "--steps", "8", "--block", "8"]


def save_dialogues(root: Path, rows: list[dict[str, Any]]) -> Path:
    tiny_checkpoint("bert", root / "model")
    _save_rewards(root / "one", root / "two")
    (root / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return root


def answer_row(method: str, text: str, example: int = 0, guide: str = "one", **columns: Any) -> dict[str, Any]:
    """Return a row of a decoded answer by a guide at scale 8; the default, margins and samples have no guide."""
    free = method in ("default", "margin", "sample")
    row = {"strategy": method, "method": method, "text": text, "prompt": f"p {example}", "example": str(example)}
    row |= {"guide": None if free else guide, "reward_scale": None if free else 8.0, "history": [], "sample": None}
    row |= {"turn": 0, "split": "test", "forwards": 32, "reward_calls": 0 if free else 32, "judges": []}
    row |= {"god_tokens": len(text) / 8, "god_steps": 1.0, "predictor": "mini", "device": "cpu", "reward_cost": 1.0}
    return row | {"length": 64, "steps": 32, "block": 32} | columns


def score_row(judge: str, text: str, value: float, example: int = 0, **columns: Any) -> dict[str, Any]:
    row = {"strategy": "score", "prompt": f"p {example}", "history": [], "judges": [judge], "answer": text}
    return row | {"score": value, "normalised_score": value} | columns
