"""What one axis reaches and the other does not: the comparison against decoding."""

import math
from typing import Any

import numpy as np
import pytest
from grouped import grouped
from table_models import REWARD, table_predictor

from rws_decode import RWS, Reach, ScalePath, Temperature, compare_reach, decode, scale_path

SHAPE = {"length": 8, "steps": 8, "block": 8}
LOW, HIGH = 0.05, 30.0


def paths(seed: int, **options: Any) -> tuple[ScalePath, ScalePath]:
    predictor = table_predictor(seed)
    kwargs: dict[str, Any] = SHAPE | options
    by_temperature = scale_path(predictor, "", LOW, HIGH, **grouped(**kwargs))
    return by_temperature, scale_path(predictor, "", LOW, HIGH, over="reward-scale", reward=REWARD, **grouped(**kwargs))


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
