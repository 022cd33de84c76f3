"""`python -m paper_figures frontier`: its JSON, its table, and what it refuses."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from paper_figures.__main__ import main
from rws_decode.predictors import WorldPredictor, load_predictor
from rws_decode.rewards.world import era_reward

SHAPE = ["--length", "8", "--steps", "4", "--block", "8"]
METHODS = "default temperature:8 rws:8 constant:8 shuffled:8 left-to-right sample best-of:3".split()
METHODS += ["tilt-sample:1", "tilt-decode:1", "threshold:0.9", "threshold:0.9+rws:8"]
METHODS += ["particles:3+beta:2", "reward-lookahead:3", "best-of:2+rws:8"]


def test_no_method_lies_above_the_frontier_and_every_number_is_the_worlds(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["frontier", "--example", "3", "--reward", "era", "--json", "--seed", "1", *SHAPE]
    assert main([*words, "--strategies", *METHODS]) == 0
    result = json.loads(capsys.readouterr().out)
    predictor, reward = load_predictor("english"), era_reward().world_reward
    assert isinstance(predictor, WorldPredictor)
    context = predictor.encode_prompt(predictor.examples[3]["prompt"])
    for row in (*result["frontier"], *result["points"]):
        assert row["log_prob"] == pytest.approx(predictor.world.log_prob(row["tokens"], context))
        assert row["reward"] == pytest.approx(reward.score(row["tokens"]))
    assert result["complete"] and result["frontier"][0]["beta"] == 0.0
    for low, high in pairwise(result["frontier"]):
        assert low["beta"] < high["beta"] and low["reward"] < high["reward"] and low["log_prob"] > high["log_prob"]
    assert [point["strategy"] for point in result["points"]] == METHODS
    for point in result["points"]:
        assert point["regret"] > -1e-9
        for best in result["frontier"]:
            assert (
                point["log_prob"] + best["beta"] * point["reward"]
                <= best["log_prob"] + best["beta"] * best["reward"] + 1e-9
            )


def test_it_prints_a_table_of_texts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["frontier", "--prompt", "my fellow", "--strategies", "default", "--searches", "2", *SHAPE]) == 0
    printed = capsys.readouterr()
    assert "regret" in printed.out and "default" in printed.out
    assert printed.err.startswith("frontier: loading english, era ...\nfrontier: searching ...\n")
    assert "frontier: 1 of 1 text, " in printed.err
