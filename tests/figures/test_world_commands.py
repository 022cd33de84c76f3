"""The command `score`: log q of texts, and how far a law is from the world's."""

import json
from pathlib import Path

import numpy as np
import pytest
from command_lines import figures as main
from command_lines import outcome

from paper_figures.statistics import sampler_divergence
from rws_decode import Shape, load_predictor, load_reward, strategy_log_prob

SHAPE = ["--length", "6", "--steps", "3", "--block", "6"]


def test_rows_are_those_of_the_call(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    world, rng, made = load_predictor("english"), np.random.default_rng(0), []
    for number, example in enumerate(world.examples[:3]):  # answers of six words, and of four after the last prompt
        answer = world.world.sample(4 if number == 2 else 6, rng, context=world.encode_prompt(example["prompt"]))
        made.append({"prompt": example["prompt"], "answer": world.words.text(answer.tolist())})
    path = tmp_path / "texts.jsonl"
    path.write_text("\n".join(map(json.dumps, made)))
    words = ("--model", "english", "--reward", "era", "--strategies", "default", "rws:8", "--data", str(path), "--json")
    status, out, _ = outcome(main, ["score", *words], capsys)
    rows, texts = json.loads(out), made
    assert (status, [row["strategy"] for row in rows]) == (0, ["default"] * 3 + ["rws:8"] * 3)
    assert [row["prompt"] for row in rows] == [text["prompt"] for text in texts] * 2
    reward = load_reward("era")
    for row, text in zip(rows, texts * 2, strict=True):
        law = strategy_log_prob(world, text["prompt"], [text["answer"]], row["strategy"], reward=reward)
        assert row["log_prob"] == pytest.approx(law.log_prob[0], abs=1e-9)
        assert row["commit_step"] == law.commit_step[0].tolist()
        assert row["per_token"] == pytest.approx(law.log_prob[0] / len(row["commit_step"]), abs=1e-9)


def test_a_text_off_the_greedy_path_is_null(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--model", "english", "--prompt", "peace", "--answer", "and the people", "--sampling-temperature", "0")
    (row,) = json.loads(outcome(main, ["score", *words, "--json"], capsys)[1])
    assert (row["log_prob"], row["per_token"]) == (None, None)
    (cut,) = json.loads(outcome(main, ["score", *words[:-1], "1", "--top-k", "1", "--json"], capsys)[1])
    assert cut == row


def test_the_divergence_is_that_of_the_call(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--model", "english", "--strategies", "random-order", "--draw", "1", "--length", "4")
    (row,) = json.loads(outcome(main, ["score", *words, "--json"], capsys)[1])
    english, rng = load_predictor("english"), np.random.default_rng(0)
    found = sampler_divergence(english, english.prompts[:20], "random-order", Shape(4), draws=1, rng=rng)
    assert row["strategy"] == "random-order" and row["kl_world"][0] == pytest.approx(found.world.mean())
    assert row["kl_sampler"] == pytest.approx(found.interval(found.sampler), abs=1e-9)
    out = outcome(main, ["score", *words], capsys)[1]
    assert f"{row['kl_world'][0]:.2f} [" in out.splitlines()[1] and "4 tokens in 2 steps" in out
