"""`bench --quality`: what each method writes and costs is what its own decode says, in one run."""

from __future__ import annotations

import json

import pytest

from rws_decode.__main__ import main
from rws_decode.decode import decode
from rws_decode.predictors import load_predictor
from rws_decode.rewards import load_reward
from rws_decode.settings import Shape
from rws_decode.steering.steer import steer

METHODS = ["default", "rws:8", "threshold:0.9", "best-of:2"]
SIZE = ["--prompts", "2", "--length", "8", "--steps", "4", "--block", "8", "--repeats", "1"]


def test_its_numbers_are_those_of_the_decodes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--quality", "--json", "--methods", *METHODS, *SIZE]) == 0
    mini, english = json.loads(capsys.readouterr().out)
    assert [(world["model"], world["reward"]) for world in (mini, english)] == [("mini", "mini"), ("english", "era")]
    predictor, reward = load_predictor("english"), load_reward("era")
    usual = [example for example in predictor.examples if example.get("kind") != "gap"]
    prompts = [usual[number * len(usual) // 2]["prompt"] for number in range(2)]
    for row in english["methods"]:
        method = row["method"]
        if method == "best-of:2":
            frame = steer(predictor, prompts, method, Shape(8, 4, 8), reward=reward).to_frame()
        else:
            steps = 8 if method.startswith("threshold") else 4
            frame = decode(predictor, prompts, method, Shape(8, steps, 8), reward=reward).to_frame()
        for name in ("reward", "log_prob", "god_tokens", "forwards", "reward_calls"):
            assert row[name] == pytest.approx(frame[name].mean()), (method, name)
        assert row["rules_broken"] is None and row["seconds"] > 0
    assert all(row["rules_broken"] is not None and row["log_prob"] is None for row in mini["methods"])
    assert english["methods"][0]["ratio"] == 1.0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--methods", "default"], "--methods is default: only --quality reads it"),
        (["--quality", "--methods", "best"], "--methods is 'best'"),
        (["--quality", "--check"], "--quality measures texts"),
    ],
)
def test_what_makes_no_sense_is_refused(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *words]) == 2
    assert message in capsys.readouterr().err
