"""The command `frontier`: no method lies above the front, and every number is the world's."""

import json
from itertools import pairwise

import pytest

from paper_figures.__main__ import main
from rws_decode import WorldPredictor, load_predictor
from rws_decode.rewards import era_reward

SHAPE = ["--length", "6", "--steps", "3", "--block", "6"]
METHODS = "default rws:8 constant:8 shuffled:8 left-to-right sample best-of:3 tilt-sample:1 tilt-decode:1".split()
METHODS += ["threshold:0.9+rws:8", "particles:2+beta:2", "best-of:2+rws:8"]


def test_no_method_lies_above_the_frontier_and_every_number_is_the_worlds(capsys: pytest.CaptureFixture[str]) -> None:
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
