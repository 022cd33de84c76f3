"""The commands of exact worlds: `frontier` and its texts, `score` and log q of texts."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from command_lines import figures as main

from paper_figures.statistics.sampler_divergence import sampler_divergence
from rws_decode import Shape, WorldPredictor, load_predictor, load_reward, strategy_log_prob
from rws_decode.rewards.world import era_reward

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


def score(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["score", *words])
    return (status, *capsys.readouterr())


def written(folder: Path, count: int) -> Path:
    """Return a file of texts that the world draws: answers of six words, and of four after the last prompt."""
    world, rng = load_predictor("english"), np.random.default_rng(0)
    rows = []
    for number, example in enumerate(world.examples[:count]):
        prompt = world.encode_prompt(example["prompt"])
        answer = world.world.sample(4 if number == count - 1 else 6, rng, context=prompt)
        rows.append({"prompt": example["prompt"], "answer": world.words.text(answer.tolist())})
    path = folder / "texts.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_rows_are_those_of_the_call(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = written(tmp_path, 3)
    words = ("--model", "english", "--reward", "era", "--strategies", "default", "rws:8", "--data", str(path), "--json")
    status, out, _ = score(capsys, *words)
    rows, texts = json.loads(out), [json.loads(line) for line in path.read_text().splitlines()]
    assert (status, [row["strategy"] for row in rows]) == (0, ["default"] * 3 + ["rws:8"] * 3)
    assert [row["prompt"] for row in rows] == [text["prompt"] for text in texts] * 2
    world, reward = load_predictor("english"), load_reward("era")
    for row, text in zip(rows, texts * 2, strict=True):
        law = strategy_log_prob(world, text["prompt"], [text["answer"]], row["strategy"], reward=reward)
        assert row["log_prob"] == pytest.approx(law.log_prob[0], abs=1e-9)
        assert row["commit_step"] == law.commit_step[0].tolist()
        assert row["per_token"] == pytest.approx(law.log_prob[0] / len(row["commit_step"]), abs=1e-9)


def test_a_text_off_the_greedy_path_is_null(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--model", "english", "--prompt", "peace", "--answer", "and the people", "--sampling-temperature", "0")
    (row,) = json.loads(score(capsys, *words, "--json")[1])
    assert (row["log_prob"], row["per_token"]) == (None, None)
    (cut,) = json.loads(score(capsys, *words[:-1], "1", "--top-k", "1", "--json")[1])
    assert cut == row


def test_the_divergence_is_that_of_the_call(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--model", "english", "--strategies", "random-order", "--draw", "1", "--length", "4")
    (row,) = json.loads(score(capsys, *words, "--json")[1])
    english, rng = load_predictor("english"), np.random.default_rng(0)
    found = sampler_divergence(english, english.prompts[:20], "random-order", Shape(4), draws=1, rng=rng)
    assert row["strategy"] == "random-order" and row["kl_world"][0] == pytest.approx(found.world.mean())
    assert row["kl_sampler"] == pytest.approx(found.interval(found.sampler), abs=1e-9)
    out = score(capsys, *words)[1]
    assert f"{row['kl_world'][0]:.2f} [" in out.splitlines()[1] and "4 tokens in 2 steps" in out
