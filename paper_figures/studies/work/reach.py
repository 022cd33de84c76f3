"""Do the work of the reach experiment: follow both complete scale paths of a prompt, and compare their answers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, get_args

from paper_figures.runner.units import Unit
from paper_figures.runner.worker import Rows
from paper_figures.studies.work.decoding import predictor_for, prompt_of, reward_for
from rws_decode.scales.path import Over, ScalePath, scale_path
from rws_decode.scales.reach import Reach, compare_reach
from rws_decode.settings import Options, Shape


def work(units: Sequence[Unit]) -> list[Rows]:
    """Follow both paths of each unit's prompt and return one row for each; `studies.reach` describes the columns."""
    return [[_row(unit)] for unit in units]


def _row(unit: Unit) -> dict[str, Any]:
    started = time.perf_counter()
    paths, reach = both_paths(unit)
    return _counts(paths, reach) | {
        "outputs": [asdict(output) for output in reach.outputs],
        "paths": [{"over": over} | asdict(path) for over, path in paths.items()],
        "seconds": time.perf_counter() - started,
    }


def both_paths(unit: Unit) -> tuple[dict[Over, ScalePath], Reach]:
    """Return a unit's complete scale paths, from `low` to `high` of its strategy, and their comparison."""
    paths: dict[Over, ScalePath] = {over: _path_of(unit, over) for over in get_args(Over)}
    return paths, compare_reach(paths["temperature"], paths["reward-scale"])


def _path_of(unit: Unit, over: Over) -> ScalePath:
    numbers = unit.strategy
    return scale_path(
        predictor_for(unit),
        prompt_of(unit),
        numbers["low"],
        numbers["high"],
        Shape(length=unit.length, steps=unit.steps, block=unit.block),
        over=over,
        reward=reward_for(unit, unit.reward or "") if over == "reward-scale" else None,
        budget=numbers.get("budget"),
        options=Options(cfg=unit.settings.get("cfg") or 0.0, end_of_text=unit.settings.get("end_of_text") or "none"),
    )


def _counts(paths: dict[Over, ScalePath], reach: Reach) -> dict[str, Any]:
    both = paths.values()
    return {
        "temperature": len(reach.temperature),
        "reward_scale": len(reach.reward_scale),
        "shared": len(reach.shared),
        "only_temperature": len(reach.only_temperature),
        "only_reward_scale": len(reach.only_reward_scale),
        "open": len(reach.open),
        "only_temperature_width": sum(output.temperature_width for output in reach.only_temperature),
        "only_reward_scale_width": sum(output.reward_width for output in reach.only_reward_scale),
        "temperature_unexplored": reach.temperature_unexplored,
        "reward_scale_unexplored": reach.reward_unexplored,
        "certified": sum(path.certified for path in both),
        "forwards": sum(path.forwards for path in both),
        "grid_forwards": sum(path.grid_forwards for path in both),
        "reward_calls": paths["reward-scale"].reward_calls,
        "near_tokens": sum(path.near_tokens for path in both),
    }
