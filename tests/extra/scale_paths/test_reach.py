"""What one axis reaches and the other does not: the comparison against decoding, and the experiment's files."""

import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import single_stage_runs
from grouped import grouped
from single_stage_runs import PROMPTS, options_of, save_models
from table_models import REWARD, table_predictor

from rws_decode import RWS, Reach, ScalePath, Temperature, compare_reach, decode, scale_path

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
