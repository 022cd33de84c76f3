"""What one axis reaches and the other does not: the comparison against decoding, and the experiment's files."""

import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import single_stage_runs
from grouped import grouped
from misuse import refused
from single_stage_runs import PROMPTS, options_of, save_models
from table_models import REWARD, table_predictor

from paper_figures.studies.scale_path import reach_row
from rws_decode import RWS, Reach, ScalePath, Shape, Temperature, compare_reach, decode, scale_path

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
    for seed in range(2):
        reach = compare_reach(*paths(seed))
        predictor = table_predictor(seed)
        grid = np.geomspace(LOW, HIGH, 20).tolist()
        factors = decode(predictor, [""] * 20, Temperature(tuple(grid)), **grouped(**SHAPE))
        tried = {tuple(trace.tokens.tolist()) for trace in factors}
        rewarded = {
            tuple(decode(predictor, [""], RWS(s_r), reward=REWARD, **grouped(**SHAPE))[0].tokens.tolist())
            for s_r in grid[::4]
        }
        shared, only_temperature, only_reward_scale, unknown = split(reach)
        assert not unknown
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
    for seed in range(2):
        both, few = paths(seed), paths(seed, budget=10)
        whole, part = compare_reach(*both), compare_reach(*few)
        for mine, theirs in zip(split(part)[:3], split(whole)[:3], strict=True):
            assert mine <= theirs
        left_open += len(part.open)
        for reach, (path, _) in ((part, few), (whole, both)):
            covered = sum(output.temperature_width for output in reach.outputs)
            covered += sum(math.log(gap.upper / gap.lower) for gap in path.unexplored)
            assert covered == pytest.approx(math.log(HIGH / LOW))
    assert left_open > 0


def test_other_axes_and_answers_of_another_length_are_refused() -> None:
    by_temperature, by_reward_scale = paths(0)
    refused(lambda: compare_reach(by_reward_scale, by_temperature), "temperature_path is over 'reward-scale'")
    refused(lambda: compare_reach(by_temperature, by_temperature), "reward_path is over 'temperature'")
    short = scale_path(table_predictor(0), [1, 2, 3, 4], LOW, HIGH, Shape(length=4, steps=4, block=4))
    refused(lambda: compare_reach(short, by_reward_scale), "answers of different lengths")


RUN = partial(single_stage_runs.run, "scale-path")


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    models = save_models(tmp_path_factory.mktemp("models"))
    shape = {"length": 8, "steps": 4, "block": 8, "scale_min": 0.1, "scale_max": 20}
    return options_of(models, judge=models / "reward", causal="none", **shape)


def test_rows_count_what_the_paths_hold_and_the_last_adds_them_up(options: list[str], tmp_path: Path) -> None:
    assert RUN(tmp_path, options) == 0
    results = single_stage_runs.results_of(tmp_path, "scale-path")
    *rows, total = results["reach"]
    assert [row["prompt"] for row in rows] == ["0", "1", "2"] and total["prompt"] == "all"
    for row, profile in zip(rows, results["profiles"], strict=True):
        assert (row["prompt"], profile["prompt"]) == (profile["index"], PROMPTS[int(row["prompt"])])
        by_temperature, by_reward_scale = ({piece["output"] for piece in path["pieces"]} for path in profile["paths"])
        assert (row["temperature"], row["reward_scale"], row["shared"], row["open"]) == (
            *(len(by_temperature), len(by_reward_scale), len(by_temperature & by_reward_scale), 0),
        )
        assert (row["only_temperature"], row["only_reward_scale"]) == (
            len(by_temperature - by_reward_scale),
            len(by_reward_scale - by_temperature),
        )
    assert all(total[name] == sum(row[name] for row in rows) for name in rows[0] if name != "prompt")
    table = (tmp_path / "scale-path/reach.csv").read_text().splitlines()
    assert table[-1] == ",".join(map(str, total.values()))


def test_what_a_budget_left_out_is_open() -> None:
    pairs = [(True, True), (True, None), (None, True), (True, False), (False, True), (False, True)]
    outputs = [dict(zip(("by_temperature", "by_reward_scale"), pair, strict=True)) for pair in pairs]
    assert reach_row({"example": "0", "outputs": outputs}) == {
        **{"prompt": "0", "temperature": 3, "reward_scale": 4, "shared": 1},
        **{"only_temperature": 1, "only_reward_scale": 2, "open": 2},
    }
