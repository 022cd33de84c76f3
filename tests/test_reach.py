"""What one axis reaches and the other does not: the comparison against decoding, and the experiment's files."""

from __future__ import annotations

import csv
import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from table_models import REWARD, table_predictor
from tiny_models import bert, save_predictor, save_reward

from rws_decode.__main__ import main
from rws_decode.decode import decode
from rws_decode.experiments import reach_cell
from rws_decode.experiments.reach import run_reach
from rws_decode.experiments.reach_cell import Settings
from rws_decode.guidance import RWS, Temperature
from rws_decode.reach import Reach, compare_reach
from rws_decode.scale_path import ScalePath, scale_path

PROMPTS = ["the cat sat on a mat .", "a dog ran", "it was red and blue"]
SHAPE = {"length": 8, "steps": 8, "block": 8}
LOW, HIGH = 0.05, 30.0


def paths(seed: int, **options: Any) -> tuple[ScalePath, ScalePath]:
    predictor = table_predictor(seed)
    asked: dict[str, Any] = SHAPE | options
    one = scale_path(predictor, "", LOW, HIGH, **asked)
    return one, scale_path(predictor, "", LOW, HIGH, over="reward-scale", reward=REWARD, **asked)


def split(reach: Reach) -> list[set[tuple[int, ...]]]:
    parts = (reach.shared, reach.only_temperature, reach.only_reward_scale, reach.open)
    return [{output.tokens for output in part} for part in parts]


def test_it_is_what_decoding_at_many_scales_finds() -> None:
    kinds = np.zeros(3, dtype=int)
    for seed in range(4):
        reach = compare_reach(*paths(seed))
        predictor = table_predictor(seed)
        grid = np.geomspace(LOW, HIGH, 40).tolist()
        factors = decode(predictor, [""] * 40, Temperature(tuple(grid)), **SHAPE)
        tried = {tuple(trace.tokens.tolist()) for trace in factors}
        rewarded = {
            tuple(decode(predictor, [""], RWS(s_r), reward=REWARD, **SHAPE)[0].tokens.tolist()) for s_r in grid[::4]
        }
        shared, only_temperature, only_reward_scale, unknown = split(reach)
        assert not unknown and reach.temperature_certified and reach.reward_certified
        assert tried <= shared | only_temperature and rewarded <= shared | only_reward_scale
        assert {output.tokens for output in reach.temperature} == shared | only_temperature
        assert {output.tokens for output in reach.reward_scale} == shared | only_reward_scale
        for output in reach.outputs:
            assert (output.temperature_width > 0) == bool(output.by_temperature)
            assert (output.reward_width > 0) == bool(output.by_reward_scale)
        for name in ("temperature_width", "reward_width"):
            assert sum(getattr(o, name) for o in reach.outputs) == pytest.approx(math.log(HIGH / LOW))
        kinds += [len(shared), len(only_temperature), len(only_reward_scale)]
    assert (kinds > 0).all()


def test_nothing_is_denied_of_what_was_not_explored() -> None:
    left_open = 0
    for seed in range(4):
        whole = compare_reach(*paths(seed))
        part = compare_reach(*paths(seed, budget=10))
        for mine, theirs in zip(split(part)[:3], split(whole)[:3], strict=True):
            assert mine <= theirs
        left_open += len(part.open)
        for reach in (part, whole):
            covered = sum(output.temperature_width for output in reach.outputs) + reach.temperature_unexplored
            assert covered == pytest.approx(math.log(HIGH / LOW))
        assert (part.reward_unexplored == 0) == part.reward_certified
    assert left_open > 0


def test_other_axes_and_answers_of_another_length_are_refused() -> None:
    one, two = paths(0)
    with pytest.raises(ValueError, match="temperature_path is over 'reward-scale'"):
        compare_reach(two, one)
    with pytest.raises(ValueError, match="reward_path is over 'temperature'"):
        compare_reach(one, one)
    short = scale_path(table_predictor(0), [1, 2, 3, 4], LOW, HIGH, length=4, steps=4, block=4)
    with pytest.raises(ValueError, match="answers of different lengths"):
        compare_reach(short, two)


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder = tmp_path_factory.mktemp("model")
    save_predictor(folder / "tiny", examples=[{"prompt": prompt} for prompt in PROMPTS])
    save_reward(folder / "reward", {"mean": 0.0, "std": 0.3})
    names = {"model": str(folder / "tiny"), "reward": str(folder / "reward")}
    return Settings(**names, length=8, steps=4, block=8, scale_min=0.1, scale_max=20.0)


@pytest.fixture(scope="module")
def finished(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("finished")
    run_reach(out, settings, PROMPTS)
    return out


def options(settings: Settings) -> list[str]:
    words = ["--model", settings.model, "--reward", settings.reward, "--length", "8", "--steps", "4", "--block", "8"]
    return [*words, "--scale-min", "0.1", "--scale-max", "20", "--prompts", "3", "--workers", "1"]


def test_rows_count_what_the_paths_hold_and_the_last_adds_them_up(finished: Path) -> None:
    results = json.loads((finished / "reach/results.json").read_text())
    *rows, total = results["summary"]
    assert [row["prompt"] for row in rows] == [0, 1, 2] and total["prompt"] == "all"
    for row, prompt in zip(rows, results["prompts"], strict=True):
        cell = json.loads((finished / f"reach/prompt-000{row['prompt']}.json").read_text())
        reached = {over: {tuple(p["tokens"]) for p in path["pieces"]} for over, path in cell["paths"].items()}
        one, two = reached["temperature"], reached["reward-scale"]
        assert cell["prompt"] == prompt["prompt"] == PROMPTS[row["prompt"]]
        assert (row["temperature"], row["reward_scale"], row["shared"]) == (len(one), len(two), len(one & two))
        assert (row["only_temperature"], row["only_reward_scale"]) == (len(one - two), len(two - one))
        assert {tuple(output["tokens"]) for output in prompt["outputs"]} == one | two
        assert (row["certified"], row["open"]) == (2, 0)
        for path in cell["paths"].values():
            assert (path["c_min"], path["c_max"]) == (0.1, 20.0)
            assert all(a["upper"] == b["lower"] for a, b in pairwise(path["pieces"]))
        for name in ("forwards", "grid_forwards"):
            assert row[name] == sum(path[name] for path in cell["paths"].values())
    assert all(total[name] == sum(row[name] for row in rows) for name in rows[0] if name != "prompt")
    with open(finished / "reach/summary.csv", newline="") as stream:
        table = list(csv.DictReader(stream))
    assert [(line["prompt"], line["shared"]) for line in table] == [
        (str(row["prompt"]), str(row["shared"])) for row in results["summary"]
    ]


def counted(monkeypatch: pytest.MonkeyPatch, fail_after: int | None = None) -> list[int]:
    ran: list[int] = []
    original = reach_cell.run_cell

    def one(task: Any) -> None:
        if len(ran) == fail_after:
            raise KeyboardInterrupt
        ran.append(task[1])
        original(task)

    monkeypatch.setattr(reach_cell, "run_cell", one)
    return ran


def stable(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path in sorted((out / "reach").iterdir()):
        found[path.name] = path.read_text()
        if path.suffix == ".json":
            found[path.name] = {key: value for key, value in json.loads(path.read_text()).items() if key != "seconds"}
    return found


def test_it_goes_on_where_it_stopped_and_a_finished_one_touches_nothing(
    finished: Path, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        first = counted(patch, fail_after=2)
        with pytest.raises(KeyboardInterrupt):
            run_reach(tmp_path, settings, PROMPTS)
    assert not (tmp_path / "reach/results.json").exists()
    second = counted(monkeypatch)
    results = run_reach(tmp_path, settings, PROMPTS)
    assert (first, second) == ([0, 1], [2]) and stable(tmp_path) == stable(finished)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    assert run_reach(tmp_path, settings, PROMPTS) == results
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
    bert(5).save_pretrained(settings.model + "-other")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (Path(settings.model + "-other") / name).write_bytes((Path(settings.model) / name).read_bytes())
    changed = Settings(settings.model + "-other", settings.reward, None, 8, 4, 8, 0.1, 20.0)
    run_reach(tmp_path, changed, PROMPTS[:1])
    assert second == [2, 0]


def test_the_command_prints_json_or_the_table(
    finished: Path, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["experiment", "reach", "--out", str(finished), *options(settings)]
    assert main([*words, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["summary"] == json.loads((finished / "reach/results.json").read_text())["summary"]
    assert main(words) == 0
    assert "| all |" in capsys.readouterr().out


def test_a_budget_reaches_both_paths(settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["experiment", "reach", "--out", str(tmp_path), *options(settings), "--prompts", "1", "--budget", "4"]
    assert main([*words, "--json"]) == 0
    row = json.loads(capsys.readouterr().out)["summary"][0]
    assert row["forwards"] == 8 and row["certified"] < 2 and row["temperature_unexplored"] > 0


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--prompts", "0"], "--prompts is 0"),
        (["--prompts", "4"], "--prompts is 4: the examples of"),
        (["--workers", "0"], "--workers is 0"),
        (["--scale-min", "0"], "--scale-min and --scale-max are 0.0 and 20.0"),
        (["--scale-max", "inf"], "are 0.1 and inf"),
        (["--budget", "3"], "--budget is 3: at least --steps, 4"),
        (["--block", "3"], "block is 3"),
        (["--model", "nowhere"], "model is 'nowhere'"),
        (["--reward", "nowhere"], "reward is 'nowhere'"),
    ],
    ids=" ".join,
)
def test_bad_input_is_one_line_and_exit_two(
    extra: list[str], message: str, settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["experiment", "reach", "--out", str(tmp_path / "out"), *options(settings), *extra]) == 2
    captured = capsys.readouterr()
    assert message in captured.err and captured.err.count("\n") == 1 and captured.out == ""
    assert not (tmp_path / "out").exists()
