"""`score`: log q of texts on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paper_figures.commands import SCORE
from rws_decode import load_predictor, load_reward, strategy_log_prob
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


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--answer", "x"], "--prompt or --example"),
        (["--prompt", "a"], "--answer or --answer-ids"),
        (["--prompt", "a", "--answer", "b", "--data", "texts.jsonl"], "--prompt beside --data"),
        (["--prompt", "a", "--answer", "qqqq"], "answers hold qqqq"),
        (["--prompt", "a", "--answer-ids", "[3, 400000]"], "answers hold 400000"),
        (["--prompt", "a", "--answer-ids", "[3, 0.5]"], "--answer-ids is"),
        (["--example", "99999", "--answer", "the"], "--example is 99999"),
        (["--prompt", "a", "--answer", "the", "--strategies", "rws:8"], "--reward is missing"),
        (["--prompt", "a", "--answer", "the people", "--strategies", "remdm:0.1"], "remdm"),
        (["--prompt", "a", "--answer", "the people", "--steps", "3"], "steps"),
    ],
)
def test_bad_input_exits_2_with_one_line(capsys: pytest.CaptureFixture[str], words: list[str], named: str) -> None:
    status, out, err = score(capsys, "--model", "english", *words)
    lines: list[Any] = [line for line in err.splitlines() if not line.startswith("score: ")]
    assert (status, out, len(lines)) == (2, "", 1) and named in lines[0]
