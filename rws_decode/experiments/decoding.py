"""Units decoded: their strategies put together, their models loaded once per process, their answers measured."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from rws_decode.controls import FlippedReward, RandomReward, RWSEvery
from rws_decode.decode import Decoding, decode
from rws_decode.dialogue import Dialogue
from rws_decode.experiments.units import PER_ROW, Model, Unit, batch_key
from rws_decode.guidance import RWS, Confidence, RewardReplay, Schedule, Strategy, Temperature
from rws_decode.metrics import CausalScorer, load_causal
from rws_decode.orders import Entropy, LeftToRight, Margin, RandomOrder
from rws_decode.predictors import HFMaskPredictor, load_predictor
from rws_decode.rewards import RewardModel, load_reward

__all__ = ["STRATEGIES", "causal_of", "decode_units", "expect", "predictor_of", "prompt_of", "reward_of", "strategy_of"]

# Every strategy that is its name and numbers, by the name that `guidance.describe` writes.
STRATEGIES: dict[str, Any] = {
    rule.name: rule
    for rule in (
        *(Confidence, Temperature, RWS, Schedule, RewardReplay, RWSEvery, FlippedReward, RandomReward),
        *(Margin, Entropy, RandomOrder, LeftToRight),
    )
}
# Threads of one worker must not load a model twice.
_LOADING = threading.Lock()
# What the files of the models in the caches below were: a worker outlives many runs.
_DIGESTS: dict[Model, str] = {}


def strategy_of(units: Sequence[Unit]) -> Strategy:
    """Return the strategy that decodes these units as one batch, with one number per row where they differ.

    ValueError for units that cannot share a decode, a name that is not in `STRATEGIES`, or numbers that it refuses.

    >>> units = [Unit(experiment="x", prompt="a", strategy={"name": "temperature", "scale": c}) for c in (1.0, 2.0)]
    >>> strategy_of(units)
    Temperature(scale=(1.0, 2.0))
    """
    if len({batch_key(unit) for unit in units}) != 1:
        raise ValueError(f"units have {len({batch_key(unit) for unit in units})} keys: those of one batch share one")
    numbers = dict(units[0].strategy)
    name = numbers.pop("name")
    if name not in STRATEGIES:
        raise ValueError(f"strategy is {name!r}: one of {', '.join(STRATEGIES)} is needed")
    for number in PER_ROW.get(name, ()):
        if number in numbers:
            numbers[number] = tuple(_tuple(unit.strategy[number]) for unit in units)
    try:
        return STRATEGIES[name](**numbers)
    except TypeError as error:
        raise ValueError(f"strategy {name} has numbers {sorted(numbers)}: {error}") from error


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def decode_units(units: Sequence[Unit], **options: Any) -> Decoding:
    """Decode units of one batch, with the models that they name; options: further ones of `decode.decode`."""
    first = units[0]
    strategy = strategy_of(units)
    return decode(
        predictor_of(first.predictor, first.device),
        [prompt_of(unit) for unit in units],
        strategy,
        length=first.length,
        steps=first.steps,
        block=first.block,
        reward=reward_of(first.reward, first.device) if first.reward and strategy.needs_reward else None,
        ranking=first.ranking,  # type: ignore[arg-type] - decode checks it
        precision=first.precision,  # type: ignore[arg-type]
        sampling_temperature=first.sampling_temperature,
        seed=[unit.seed for unit in units],
        **options,
    )


def prompt_of(unit: Unit) -> str | Dialogue:
    """Return what a unit asks: its prompt, after its history where it has one.

    >>> told = Unit(experiment="x", prompt="and dogs ?", history=("cats ?", "two ."), strategy={"name": "default"})
    >>> prompt_of(told).turns
    ('cats ?', 'two .', 'and dogs ?')
    """
    return Dialogue((*unit.history, unit.prompt)) if unit.history else unit.prompt


def predictor_of(name: str, device: str = "cpu") -> HFMaskPredictor:
    """Return a mask predictor, loaded once per process; one is kept, the last."""
    with _LOADING:
        return _predictor(name, device)


def reward_of(name: str, device: str = "cpu") -> RewardModel:
    """Return a reward model, loaded once per process; the last three are kept."""
    with _LOADING:
        return _reward(name, device)


def causal_of(name: str, device: str = "cpu") -> CausalScorer:
    """Return a causal language model, loaded once per process; one is kept, the last."""
    with _LOADING:
        return _causal(name, device)


def expect(models: Mapping[Model, str]) -> None:
    """Say what the files of the models are now, by digest: what was loaded from other files is dropped."""
    with _LOADING:
        if any(_DIGESTS.get(model, found) != found for model, found in models.items()):
            for loader in (_predictor, _reward, _causal):
                loader.cache_clear()
        _DIGESTS.update(models)


@lru_cache(maxsize=1)
def _predictor(name: str, device: str) -> HFMaskPredictor:
    return load_predictor(name, device, progress=False)


@lru_cache(maxsize=3)
def _reward(name: str, device: str) -> RewardModel:
    return load_reward(name, device, progress=False)


@lru_cache(maxsize=1)
def _causal(name: str, device: str) -> CausalScorer:
    return load_causal(name, device)
