"""What one axis reaches and the other does not: the comparison against decoding, and the experiment's files."""

from __future__ import annotations

import csv
import json
import math
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import single_stage_runs
from grouped import grouped
from single_stage_runs import PROMPTS, assert_refused, options_of, save_models
from table_models import REWARD, table_predictor

from paper_figures.runner.results import read_unit_rows
from rws_decode import RWS, Reach, ScalePath, Shape, Temperature, compare_reach, load_predictor, load_reward, scale_path
from rws_decode.decode import decode

SHAPE = {"length": 8, "steps": 8, "block": 8}
LOW, HIGH = 0.05, 30.0


def paths(seed: int, **options: Any) -> tuple[ScalePath, ScalePath]:
    predictor = table_predictor(seed)
    asked: dict[str, Any] = SHAPE | options
    by_temperature = scale_path(predictor, "", LOW, HIGH, **grouped(**asked))
    return by_temperature, scale_path(predictor, "", LOW, HIGH, over="reward-scale", reward=REWARD, **grouped(**asked))


def split(reach: Reach) -> list[set[tuple[int, ...]]]:
    parts = (reach.shared, reach.only_temperature, reach.only_reward_scale, reach.open)
    return [{output.tokens for output in part} for part in parts]


def test_paths_at_a_threshold_are_compared_alike() -> None:
    both = paths(3, threshold=0.9)
    reach = compare_reach(*both)
    assert {output.tokens for output in reach.temperature} == set(both[0].answers)
    assert {output.tokens for output in reach.reward_scale} == set(both[1].answers)


def test_it_is_what_decoding_at_many_scales_finds() -> None:
    kinds = np.zeros(3, dtype=int)
    for seed in range(4):
        reach = compare_reach(*paths(seed))
        predictor = table_predictor(seed)
        grid = np.geomspace(LOW, HIGH, 40).tolist()
        factors = decode(predictor, [""] * 40, Temperature(tuple(grid)), **grouped(**SHAPE))
        tried = {tuple(trace.tokens.tolist()) for trace in factors}
        rewarded = {
            tuple(decode(predictor, [""], RWS(s_r), reward=REWARD, **grouped(**SHAPE))[0].tokens.tolist())
            for s_r in grid[::4]
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
    by_temperature, by_reward_scale = paths(0)
    with pytest.raises(ValueError, match="temperature_path is over 'reward-scale'"):
        compare_reach(by_reward_scale, by_temperature)
    with pytest.raises(ValueError, match="reward_path is over 'temperature'"):
        compare_reach(by_temperature, by_temperature)
    short = scale_path(table_predictor(0), [1, 2, 3, 4], LOW, HIGH, Shape(length=4, steps=4, block=4))
    with pytest.raises(ValueError, match="answers of different lengths"):
        compare_reach(short, by_reward_scale)


run_reach = partial(single_stage_runs.run, "reach")
results_of = partial(single_stage_runs.results_of, experiment="reach")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_models(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def options(models: Path) -> list[str]:
    return options_of(models, length=8, steps=4, block=8, scale_min=0.1, scale_max=20)


@pytest.fixture(scope="module")
def finished(options: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("finished")
    assert run_reach(out, options) == 0
    return out


def test_rows_count_what_the_paths_hold_and_the_last_adds_them_up(finished: Path, models: Path) -> None:
    results = results_of(finished)
    *rows, total = results["summary"]
    assert [row["prompt"] for row in rows] == ["0", "1", "2"] and total["prompt"] == "all"
    units = {row["example"]: row for row in read_unit_rows(finished).to_dict("records")}
    predictor, reward = load_predictor(str(models / "tiny")), load_reward(str(models / "reward"))
    for row, prompt in zip(rows, results["prompts"], strict=True):
        unit = units[row["prompt"]]
        paths = {path["over"]: path for path in unit["paths"]}
        reached = {over: {tuple(piece["tokens"]) for piece in path["pieces"]} for over, path in paths.items()}
        by_temperature, by_reward_scale = reached["temperature"], reached["reward-scale"]
        assert unit["prompt"] == prompt["prompt"] == PROMPTS[int(row["prompt"])]
        assert (row["temperature"], row["reward_scale"], row["shared"]) == (
            len(by_temperature),
            len(by_reward_scale),
            len(by_temperature & by_reward_scale),
        )
        assert (row["only_temperature"], row["only_reward_scale"]) == (
            len(by_temperature - by_reward_scale),
            len(by_reward_scale - by_temperature),
        )
        assert {tuple(output["tokens"]) for output in prompt["outputs"]} == by_temperature | by_reward_scale
        assert (row["certified"], row["open"]) == (2, 0)
        for path in paths.values():
            assert (path["scale_min"], path["scale_max"]) == (0.1, 20.0)
            assert all(a["upper"] == b["lower"] for a, b in pairwise(path["pieces"]))
        for name in ("forwards", "grid_forwards"):
            assert row[name] == sum(path[name] for path in paths.values())
        shape: dict[str, Any] = {"length": 8, "steps": 4, "block": 8}
        for over, rule in (("temperature", Temperature(3.0)), ("reward-scale", RWS(3.0))):
            (piece,) = [piece for piece in paths[over]["pieces"] if piece["lower"] <= 3.0 < piece["upper"]]
            guide = reward if rule.needs_reward else None
            (trace,) = decode(predictor, [unit["prompt"]], rule, reward=guide, **grouped(**shape))
            assert list(piece["tokens"]) == trace.tokens.tolist()
    assert all(total[name] == sum(row[name] for row in rows) for name in rows[0] if name != "prompt")
    with open(finished / "reach/summary.csv", newline="") as stream:
        table = list(csv.DictReader(stream))
    assert [(line["prompt"], line["shared"]) for line in table] == [
        (row["prompt"], str(row["shared"])) for row in results["summary"]
    ]


def test_a_budget_reaches_both_paths(options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_reach(tmp_path, options, "--prompts", "1", "--budget", "4", "--json") == 0
    row = json.loads(capsys.readouterr().out)["tables"]["summary"][0]
    assert row["forwards"] == 8 and row["certified"] < 2 and row["temperature_unexplored"] > 0


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--scale-min", "0"], "--scale-min and --scale-max are 0.0 and 20.0"),
        (["--scale-max", "inf"], "are 0.1 and inf"),
        (["--budget", "3"], "--budget is 3: at least --steps, 4"),
    ],
    ids=" ".join,
)
def test_bad_input_is_one_line_and_exit_two(
    extra: list[str], message: str, options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert_refused("reach", tmp_path / "out", [*options, *extra], message, capsys)
