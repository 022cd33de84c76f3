"""`score`: log q of texts on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paper_figures.commands import SCORE
from paper_figures.statistics.sampler_divergence import sampler_divergence
from rws_decode import Shape, load_predictor, load_reward, strategy_log_prob
from rws_theory.commands.line import run_line


def score(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = run_line("rws", "", {"score": SCORE}, ["score", *words])
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


def test_people_get_intervals_from_twenty_prompts_on(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, out, _ = score(capsys, "--model", "english", "--data", str(written(tmp_path, 21)))
    assert status == 0 and "[" in out.splitlines()[1] and "no interval" not in out
    few = ("--model", "english", "--prompt", "peace", "--answer", "and the people")
    assert "no interval: it needs 20 prompts" in score(capsys, *few)[1]


def test_a_text_off_the_greedy_path_is_null(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--model", "english", "--prompt", "peace", "--answer", "and the people", "--sampling-temperature", "0")
    (row,) = json.loads(score(capsys, *words, "--json")[1])
    assert (row["log_prob"], row["per_token"]) == (None, None)


def test_the_divergence_is_that_of_the_call(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--model", "english", "--strategies", "default", "random-order", "--draw", "2", "--length", "4")
    rows = json.loads(score(capsys, *words, "--json")[1])
    english = load_predictor("english")
    for row, strategy in zip(rows, ("default", "random-order"), strict=True):
        found = sampler_divergence(
            english, english.prompts[:20], strategy, Shape(4), draws=2, rng=np.random.default_rng(0)
        )
        assert row["strategy"] == strategy and row["kl_world"][0] == pytest.approx(found.world.mean())
        assert row["kl_sampler"] == pytest.approx(found.interval(found.sampler, np.random.default_rng(0)), abs=1e-9)
    out = score(capsys, *words)[1]
    assert f"{rows[0]['kl_world'][0]:.2f} [" in out.splitlines()[1] and "4 tokens in 2 steps" in out


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--answer", "x"], "--prompt or --example"),
        (["--prompt", "a"], "--answer or --answer-ids"),
        (["--prompt", "a", "--answer", "b", "--data", "texts.jsonl"], "--prompt beside --data"),
        (["--prompt", "a", "--answer", "qqqq"], "answers hold qqqq"),
        (["--prompt", "a", "--answer-ids", "[3, 0.5]"], "--answer-ids is"),
        (["--prompt", "a", "--answer", "the", "--strategies", "rws:8"], "--reward is missing"),
        (["--prompt", "a", "--answer", "the people", "--strategies", "remdm:0.1"], "remdm"),
        (["--draw", "2", "--answer", "the"], "--answer beside --draw"),
        (["--prompt", "a", "--answer", "the", "--length", "4"], "--length is of --draw, which is not given"),
        (["--draw", "2", "--prompts", "3"], "--prompts is 3: at least 20"),
        (["--draw", "2", "--sampling-temperature", "0"], "--sampling-temperature is 0"),
        (["--draw", "2", "--model", "mini"], "mini is no exact world"),
    ],
)
def test_bad_input_exits_2_with_one_line(capsys: pytest.CaptureFixture[str], words: list[str], named: str) -> None:
    status, out, err = score(capsys, "--model", "english", *words)
    lines: list[Any] = [line for line in err.splitlines() if not line.startswith("score: ")]
    assert (status, out, len(lines)) == (2, "", 1) and named in lines[0]
