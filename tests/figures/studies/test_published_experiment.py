"""The same experiment on LLaDA and the paper's six reward models, by changing options: small ones of their layout."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from paper_figures.__main__ import main
from paper_figures.runner.results import read_failures, read_unit_rows
from paper_figures.studies.summaries.answers import answers_of
from rws_decode.checkpoints.files import Checkpoint
from rws_decode.predictors import loading as predictor_loading
from rws_decode.rewards import loading as reward_loading
from rws_decode.rewards.registry import PUBLISHED
from rws_decode.testing import tiny_checkpoint

MODEL = "GSAI-ML/LLaDA-8B-Instruct"
SIX = ("skywork-v0.2", "llamaob", "intern", "eurus", "grm", "qrm")
ROWS = [
    {"id": number, "subset": "alpacaeval-easy", "prompt": text, "chosen": "it was red", "rejected": ""}
    for number, text in enumerate(["the cat ?", "a dog ?", "red or blue ?", "why ?"])
]


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str | None]]:
    """Stand for the hub: small checkpoints under the published names; return what was asked for."""
    places = {MODEL: tmp_path / "hub" / "llada"}
    tiny_checkpoint("llada", places[MODEL])
    for name in SIX:
        places[PUBLISHED[name].hub_id] = tiny_checkpoint(name, tmp_path / "hub" / name)
    asked: list[tuple[str, str | None]] = []

    def fetch(argument: str, checkpoint: Checkpoint, revision: str | None = None) -> Checkpoint:
        asked.append((checkpoint.name, revision))
        return Checkpoint(checkpoint.name, places[checkpoint.name])

    monkeypatch.setattr(predictor_loading, "fetch", fetch)
    monkeypatch.setattr(reward_loading, "fetch", fetch)
    return asked


def test_six_reward_models_guide_and_judge_llada(
    hub: list[tuple[str, str | None]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "filtered.json").write_text(json.dumps(ROWS))
    commit = "0123456789abcdef0123456789abcdef01234567"
    words = ["experiment", "reward-bench", "--model", f"{MODEL}@{commit}", "--rewards", *SIX, "--prompts", "1"]
    words += ["--data", f"reward-bench:{tmp_path / 'filtered.json'}", "--validation", "1", "--path-prompts", "0"]
    words += ["--grid", "1", "8", "--dtype", "bfloat16", "--reward-dtype", "bfloat16", "--methods", "rws", "constant"]
    words += ["--length", "8", "--steps", "4", "--block", "4", "--out", str(tmp_path / "out")]
    assert main([*words, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert not read_failures(tmp_path / "out") and report["data"] == {
        "source": words[words.index("--data") + 1],
        "test": 1,
        "validation": 1,
    }
    # LLaDA is of the commit named, the reward models of those that the registry names.
    assert set(hub) == {(MODEL, commit), *((PUBLISHED[name].hub_id, PUBLISHED[name].revision) for name in SIX)}
    frame = read_unit_rows(tmp_path / "out")
    assert answers_of(frame)[[f"score of {name}" for name in SIX]].notna().all(axis=None)  # by every judge
    assert set(frame[frame["method"] == "rws"]["dtype"]) == {"bfloat16"}
    before = len(hub)
    assert main([*words, "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["units"]["computed"] == 0 and again["tables"] == report["tables"] and len(hub) == before
