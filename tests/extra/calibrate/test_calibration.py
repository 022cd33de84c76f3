"""Calibration: which pairs are read and drawn, their statistics, going on after a stop, and what load_reward reads."""

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_lines import figures as main
from command_lines import outcome
from hypothesis import given
from hypothesis import strategies as st
from misuse import refused

from paper_figures.data.pairs import Pair, read_pairs
from paper_figures.extra.calibrate.calibration import score_pairs, statistics
from rws_decode import CallableReward, load_reward
from rws_decode.extra.testing import WORDS, tiny_checkpoint

RNG = np.random.default_rng(0)
ROWS = [
    {
        "prompt": f"\n\nHuman: {' '.join(RNG.choice(WORDS, 3))}\n\nAssistant: ",
        "answers": [{"answer": " ".join(RNG.choice(WORDS, 4)), "rank": rank} for rank in (1.0, 2.0)],
        "num_responses": 2,
    }
    for _ in range(12)
]


@pytest.fixture(scope="module")
def reward(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_checkpoint("classifier", tmp_path_factory.mktemp("models") / "tiny", files={"reward.json": None})


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "nectar.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def calibrate(capsys: pytest.CaptureFixture[str], *options: str | Path) -> tuple[int, Any, str]:
    status, out, err = outcome(main, ["calibrate", *options, "--json"], capsys)
    return status, json.loads(out) if out else None, err


def test_known_layouts_are_found_and_others_named() -> None:
    chat = [{"role": "user", "content": "why?"}, {"role": "assistant", "content": "so"}]
    both = [Pair(0, 0, "why?", "so"), Pair(0, 1, "why?", "no")]
    assert read_pairs([{"prompt": "why?", "chosen": chat, "rejected": "no"}]) == both
    assert read_pairs([{"prompt": "a", "response": "b"}]) == [Pair(0, 0, "a", "b")]
    assert read_pairs([{"q": "a", "reply": ["b", "c"]}], "q", "reply") == [Pair(0, 0, "a", "b"), Pair(0, 1, "a", "c")]
    turns = "\n\nHuman: a\n\nAssistant: b\n\nHuman: c\n\nAssistant: "
    assert read_pairs([{"prompt": turns, "answer": "d"}])[0].prompt == "a\n\nAssistant: b\n\nHuman: c"


values = st.floats(-1e3, 1e3).map(lambda value: round(value, 3))


@given(st.lists(st.lists(values, min_size=1, max_size=4), min_size=2, max_size=8))
def test_statistics_are_those_of_their_definitions(groups: list[list[float]]) -> None:
    scores = [value for group in groups for value in group]
    rows = [row for row, group in enumerate(groups) for _ in group]
    count, mean = len(scores), sum(scores) / len(scores)
    spread = sum((value - mean) ** 2 for value in scores)
    if spread < 1e-9:
        return
    estimate = statistics(scores, rows)
    assert (estimate.n, estimate.rows) == (count, len(groups))
    assert estimate.mean == pytest.approx(mean, abs=1e-9)
    assert estimate.std == pytest.approx(math.sqrt(spread / (count - 1)), rel=1e-9)
    between = sum(sum(value - mean for value in group) ** 2 for group in groups)
    factor = len(groups) / (len(groups) - 1)
    assert estimate.standard_error == pytest.approx(math.sqrt(factor * between) / count, rel=1e-6, abs=1e-9)
    if len(groups) == count:
        assert estimate.standard_error == pytest.approx(estimate.std / math.sqrt(count), rel=1e-6)


def test_scores_without_a_deviation_are_refused() -> None:
    refused(lambda: statistics([2.0, 2.0, 2.0], [0, 1, 2]), "all 3 scores are 2.0")
    refused(lambda: statistics([1.0, 2.0], [0, 0]), "there are 2 of 1")


def test_what_is_written_loads(reward: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tiny_checkpoint("classifier", tmp_path / "mine", files={"reward.json": None})
    status, report, err = calibrate(capsys, "--reward", folder, "--data", data, "--out", folder / "reward.json")
    assert status == 0 and "calibrate" in err
    assert json.loads((folder / "reward.json").read_text()) == report
    loaded = load_reward(str(folder))
    read = read_pairs(ROWS)
    scores = loaded.score([each.prompt for each in read], [each.answer for each in read])
    assert (loaded.mean, loaded.std) == (pytest.approx(np.mean(scores)), pytest.approx(np.std(scores, ddof=1)))
    about = report["calibration"]
    assert (about["n"], about["rows"], about["pairs"], about["chosen"], about["skipped"]) == (24, 12, 24, "all", 0)
    assert about["data"] == {"file": "nectar.jsonl", "sha256": hashlib.sha256(data.read_bytes()).hexdigest()}
    assert sorted(path.name for path in folder.glob("reward*")) == ["reward.json"]


def test_a_seeded_sample_is_recorded_and_repeats(reward: Path, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--reward", reward, "--data", data, "--sample", "6")
    _, first, _ = calibrate(capsys, *options, "--seed", "3")
    assert calibrate(capsys, *options, "--seed", "3", "--batch", "2")[1]["mean"] == pytest.approx(first["mean"])
    _, other, _ = calibrate(capsys, *options, "--seed", "4")
    assert other["calibration"]["chosen"] != first["calibration"]["chosen"]
    drawn = [read_pairs(ROWS)[2 * row + number] for row, number in first["calibration"]["chosen"]]
    scores = load_reward(str(reward), mean=0, std=1).score([p.prompt for p in drawn], [p.answer for p in drawn])
    assert first["mean"] == pytest.approx(np.mean(scores)) and len(scores) == 6


def test_a_run_that_stops_goes_on_where_it_stopped(tmp_path: Path) -> None:
    answers: list[str] = []

    def score(prompt: str, answer: str) -> float:
        if len(answers) == 5:
            answers.append("stop")
            raise KeyboardInterrupt
        answers.append(answer)
        return float(len(answer))

    model, progress = CallableReward(score), tmp_path / "reward.json.progress"
    wanted = [Pair(row, 0, "p", "x" * row) for row in range(8)]
    with pytest.raises(KeyboardInterrupt):
        score_pairs(model, wanted, batch=2, progress=progress, key={"seed": 0})
    answers.remove("stop")
    assert json.loads(progress.read_text())["scores"] == [0.0, 1.0, 2.0, 3.0]
    refused(lambda: score_pairs(model, wanted, batch=2, progress=progress, key={"seed": 1}), "progress of another")
    steps: list[int] = []
    answers[:] = ["-"] * 6
    done = score_pairs(model, wanted, batch=2, progress=progress, key={"seed": 0}, advance=steps.append)
    assert done == [*range(8)] and steps == [4, 2, 2] and answers[6:] == ["x" * n for n in range(4, 8)]
    progress.write_text("{")
    refused(lambda: score_pairs(model, wanted, progress=progress, key={"seed": 0}), "holds no progress of")
