"""Reward scales are chosen on validation prompts alone, as plain decodes and scores choose them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from grouped import grouped

from paper_figures.__main__ import main
from paper_figures.runner.results import read_unit_rows
from paper_figures.runner.units import Unit
from paper_figures.studies.design.prompts import Prompt, Prompts
from paper_figures.studies.design.scale_selection import select_scales
from paper_figures.studies.design.stages import Stages
from rws_decode.decode import decode
from rws_decode.predictors import load_predictor
from rws_decode.rewards import load_reward
from rws_decode.strategies.factors import RWS, Confidence
from rws_decode.testing import tiny_checkpoint
from rws_decode.testing.networks import bert_classifier

GRID = (0.5, 2.0, 16.0)
LINES = ["the cat sat on a mat .", "red blue", "a dog ran", "it was red and blue", "a cat ran", "the dog was red"]
SHAPE = {"length": 16, "steps": 8, "block": 8}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], Path]:
    """Run reward-bench once on tiny checkpoints; return its options and its folder."""
    root = tmp_path_factory.mktemp("selection")
    tiny_checkpoint("bert", root / "model", files={"examples.json": []})
    tiny_checkpoint("classifier", root / "one", files={"reward.json": {"mean": 0.1, "std": 0.5}})
    tiny_checkpoint("classifier", root / "two")
    bert_classifier(1).save_pretrained(root / "two")
    (root / "prompts.txt").write_text("\n".join(LINES))
    words = ["experiment", "reward-bench", "--data", f"text:{root / 'prompts.txt'}", "--prompts", "3"]
    words += ["--validation", "3", "--grid", *map(str, GRID), "--model", str(root / "model")]
    words += ["--rewards", str(root / "one"), str(root / "two"), "--methods", "rws", "constant"]
    words += [word for name, value in SHAPE.items() for word in (f"--{name}", str(value))]
    assert main([*words, "--out", str(root / "out")]) == 0
    return words, root / "out"


def test_grid_counts_what_plain_decodes_win(run: tuple[list[str], Path]) -> None:
    words, out = run
    record = json.loads((out / "reward-bench/selection.json").read_text())
    predictor = load_predictor(words[words.index("--model") + 1])
    assert [choice["guide"] for choice in record["guides"]] == words[words.index("--rewards") + 1 :][:2]
    for choice in record["guides"]:
        guide = load_reward(choice["guide"])
        validation = LINES[3:]
        base = guide.score(
            validation,
            [t.text or "" for p in validation for t in decode(predictor, [p], Confidence(), **grouped(**SHAPE))],
        )
        assert [row["scale"] for row in choice["grid"]] == list(GRID)
        for row in choice["grid"]:
            runs = [
                decode(predictor, [p], RWS(row["scale"]), reward=guide, **grouped(**SHAPE))[0].text or ""
                for p in validation
            ]
            scores = guide.score(validation, runs)
            assert row["score"] == pytest.approx(np.mean(scores), abs=1e-4) and row["n"] == 3
            assert row["net"] == pytest.approx(np.mean(np.sign(np.subtract(scores, base).round(5))))
            assert row["win"] - row["loss"] == pytest.approx(row["net"])
        top = max(choice["grid"], key=lambda row: (row["net"], row["score"], -row["scale"]))
        assert choice["chosen"] == top["scale"]


def test_test_prompts_take_no_part(run: tuple[list[str], Path]) -> None:
    frame = read_unit_rows(run[1])
    chosen, decoded = frame[frame["split"] == "validation"], frame[frame["split"] == "test"]
    assert set(chosen["prompt"]) == set(LINES[3:]) and set(decoded["prompt"]) == set(LINES[:3])
    guided = decoded[decoded["method"] == "rws"]
    record = json.loads((run[1] / "reward-bench/selection.json").read_text())
    assert dict(zip(guided["guide"], guided["reward_scale"], strict=True)) == {
        choice["guide"]: choice["chosen"] for choice in record["guides"]
    }


def test_without_validation_prompts_nothing_can_be_chosen(run: tuple[list[str], Path], tmp_path: Path) -> None:
    assert main([*run[0], "--out", str(tmp_path), "--validation", "0"]) == 2 and not list(tmp_path.iterdir())


def select(scores: dict[tuple[str, float], float], failed: set[tuple[str, float]]) -> dict[str, Any]:
    """Choose between scales at which a guide scores prompts so, the default 0; the units named fail."""

    class Asked:
        def __init__(self, units: list[Unit]) -> None:
            self.units = units

        def read(self) -> pd.DataFrame:
            rows = []
            for unit in self.units:
                row = unit.columns() | {"text": f"{unit.prompt} {unit.scale}"}
                if unit.strategy["name"] == "score":
                    prompt, scale = unit.labels["answer"].split()
                    row["score"] = scores.get((prompt, float(scale)), 0.0) if scale != "None" else 0.0
                if (unit.prompt, unit.scale) not in failed:
                    rows.append(row)
            return pd.DataFrame(rows)

    base = Unit(experiment="x", prompt="", strategy={"name": "default"})
    prompts = tuple(Prompt(name, (name,)) for name in ("a", "b"))
    selection = select_scales(base, Prompts("", (), prompts), ["one"], Stages(Asked), grid=(1.0, 2.0))
    return selection["guides"][0]


def test_scale_that_failed_where_others_did_not_is_not_chosen() -> None:
    scores = {("a", 1.0): 1.0, ("b", 1.0): -1.0, ("a", 2.0): 1.0, ("b", 2.0): -1.0}
    assert select(scores | {("b", 2.0): 1.0}, set())["chosen"] == 2.0
    # On prompt a alone, scale 2 wins all that it has a result for: b, where scale 1 loses, is the harder one.
    selection = select(scores, {("b", 2.0)})
    assert selection["chosen"] == 1.0 and [row["n"] for row in selection["grid"]] == [2]
