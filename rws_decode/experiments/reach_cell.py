"""One prompt of the reach experiment: its two complete scale paths, and what each of them reaches."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, get_args

from rws_decode.files import write_json
from rws_decode.predictors import HFMaskPredictor, load_predictor
from rws_decode.reach import Reach, compare_reach
from rws_decode.rewards import RewardModel, load_reward
from rws_decode.scale_path import Over, ScalePath, scale_path

__all__ = ["Settings", "cell_name", "run_cell"]


@dataclass(frozen=True)
class Settings:
    """What all prompts share: the models' names, the shape of the answer, the ranges of c and s_R, and the budget of
    forwards of each path (None: none)."""

    model: str = "mini"
    reward: str = "mini"
    mask_id: int | None = None
    length: int = 32
    steps: int = 16
    block: int = 32
    scale_min: float = 0.01
    scale_max: float = 32.0
    budget: int | None = None
    device: str = "cpu"


def cell_name(index: int) -> str:
    """Return the stem of a prompt's file.

    >>> cell_name(3)
    'prompt-0003'
    """
    return f"prompt-{index:04d}"


@lru_cache(maxsize=1)
def _models(settings: Settings, sources: str) -> tuple[HFMaskPredictor, RewardModel]:
    """Load the models once per process; `sources` is their digest, so that changed files are loaded again."""
    predictor = load_predictor(settings.model, settings.device, mask_id=settings.mask_id, progress=False)
    return predictor, load_reward(settings.reward, settings.device, progress=False)


def run_cell(task: tuple[Path, int, str, Settings, str, str]) -> None:
    """Follow both paths of one prompt and write its JSON.

    task: folder, place of the prompt, prompt, settings, fingerprint, digest of the sources. Everything but "seconds"
    follows from them and the models' files, on one machine and number of threads.
    """
    folder, index, prompt, settings, fingerprint, sources = task
    started = time.perf_counter()
    predictor, reward = _models(settings, sources)

    def follow(over: Over) -> ScalePath:
        return scale_path(
            predictor,
            prompt,
            settings.scale_min,
            settings.scale_max,
            over=over,
            reward=reward if over == "reward-scale" else None,
            length=settings.length,
            steps=settings.steps,
            block=settings.block,
            budget=settings.budget,
        )

    paths: dict[Over, ScalePath] = {over: follow(over) for over in get_args(Over)}
    reach = compare_reach(paths["temperature"], paths["reward-scale"])
    header = {"schema": "rws_decode.experiment.reach", "version": 1, "fingerprint": fingerprint}
    header |= {"index": index, "prompt": prompt, "settings": asdict(settings)}
    body: dict[str, Any] = {"row": _row(index, paths, reach), "outputs": [asdict(output) for output in reach.outputs]}
    body |= {"paths": {over: asdict(path) for over, path in paths.items()}}
    seconds = round(time.perf_counter() - started, 3)
    write_json(folder / f"{cell_name(index)}.json", header | {"seconds": seconds} | body, indent=1)


def _row(index: int, paths: dict[Over, ScalePath], reach: Reach) -> dict[str, Any]:
    """Return the prompt's line of the summary; `experiments.reach` says what each column means."""
    both = paths.values()
    return {
        "prompt": index,
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
