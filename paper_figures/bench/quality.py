"""Time strategies and steering methods beside the quality of what they write, all in one run."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from rws_decode.decode import decode
from rws_decode.predictors import WorldPredictor
from rws_decode.predictors.base import MaskPredictor
from rws_decode.rewards.base import RewardModel
from rws_decode.settings import Shape
from rws_decode.steering.steer import steer
from rws_decode.steering.table import is_method
from rws_decode.strategies.protocol import OwnCount
from rws_decode.strategies.table import as_strategy
from rws_decode.trace.decoding import Decoding
from rws_theory.worlds.part_memory import PartMemory

_MEANS = ("reward", "log_prob", "rules_broken", "god_tokens", "forwards", "reward_calls")


def quality(
    predictor: MaskPredictor,
    reward: RewardModel,
    prompts: Sequence[str],
    methods: Sequence[str],
    *,
    shape: Shape,
    repeats: int = 2,
    advance: Callable[[], object] = lambda: None,
) -> dict[str, Any]:
    """Decode the prompts by every method in turn, `repeats` times, and return the settings and a row of each method.

    A row holds means over prompts, None where something is not known: `reward`, raw, of the final text; `log_prob`,
    nats, of an exact world; `rules_broken`, how many; `god_tokens`; `forwards` and `reward_calls`, of all copies, for
    one prompt; `seconds`, for one prompt, all prompts being decoded at once, the fastest of the repeats; `ratio`,
    seconds over those of the first method.

    Methods are run in turn in each repeat, so that a machine that slows down slows all alike. The reward of the final
    text of a method that asks for none is part of its seconds, but not of its reward calls. advance: called after each
    decode.
    """
    seconds = dict.fromkeys(methods, float("inf"))
    runs: dict[str, Decoding] = {}
    for _ in range(repeats):
        for method in methods:
            _forget(predictor)
            start = time.perf_counter()
            runs[method] = _run(predictor, reward, prompts, method, shape)
            seconds[method] = min(seconds[method], time.perf_counter() - start)
            advance()
    rows = []
    for method, run in runs.items():
        means = run.to_frame()[list(_MEANS)].astype(float).mean()
        known = {name: None if math.isnan(mean) else mean for name, mean in means.items()}
        times = {"seconds": seconds[method] / len(prompts), "ratio": seconds[method] / seconds[methods[0]]}
        rows.append({"method": method} | known | times)
    return {
        "model": predictor.name,
        "reward": reward.name,
        "prompts": len(prompts),
        "length": shape.length,
        "steps": shape.steps,
        "block": shape.block,
        "threads": torch.get_num_threads(),
        "device": str(predictor.device),
        "repeats": repeats,
        "methods": rows,
    }


def _run(predictor: MaskPredictor, reward: RewardModel, prompts: Sequence[str], method: str, shape: Shape) -> Decoding:
    if is_method(method):
        return steer(predictor, prompts, method, shape, reward=reward)
    strategy = as_strategy(method)
    if isinstance(strategy, OwnCount):  # as many steps as it asks for
        shape = Shape(shape.length, shape.length, shape.block)
    return decode(predictor, prompts, strategy, shape, reward=reward)


def _forget(predictor: MaskPredictor) -> None:
    """Let a world forget the canvases that it has seen: no method profits by those of the one before."""
    if isinstance(predictor, WorldPredictor) and predictor.memory is not None:
        predictor.memory = PartMemory()
