"""Decode units: build their strategies, and load the models that they name once per process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paper_figures.runner.units import PER_ROW, Unit, batch_key
from paper_figures.runner.worker import kept
from paper_figures.statistics.causal_scores import CausalScorer, load_causal
from rws_decode.checkpoints.files import split_revision
from rws_decode.decode import decode
from rws_decode.gpu import CompactSavings, decode_compact
from rws_decode.predictors import HFMaskPredictor, load_predictor
from rws_decode.rewards import RewardModel, load_reward
from rws_decode.rewards.registry import SHIPPED
from rws_decode.settings import Options, Savings, Shape
from rws_decode.strategies.protocol import Strategy, gives_factor
from rws_decode.strategies.table import strategy_from
from rws_decode.text.dialogue import Dialogue
from rws_decode.trace.decoding import Decoding


def strategy_of(units: Sequence[Unit]) -> Strategy:
    """Return the strategy that decodes these units as one batch, with one number per row where they differ.

    ValueError is raised for units that cannot share a decode, for a name that is not in `table.STRATEGIES`, and for bad
    numbers.

    >>> units = [Unit(experiment="x", prompt="a", strategy={"name": "temperature", "scale": c}) for c in (1.0, 2.0)]
    >>> strategy_of(units)
    Temperature(scale=(1.0, 2.0))
    """
    if len({batch_key(unit) for unit in units}) != 1:
        raise ValueError(f"units have {len({batch_key(unit) for unit in units})} keys: those of one batch share one")
    description = dict(units[0].strategy)
    for number in PER_ROW.get(description["name"], ()):
        if number in description:
            values = [unit.strategy[number] for unit in units]
            description[number] = tuple(tuple(value) if isinstance(value, list) else value for value in values)
    return strategy_from(description)


# Settings of a unit that say how its predictor is loaded.
_LOADING_OPTIONS = ("dtype", "device_map", "mask_id", "chat")


def decode_units(units: Sequence[Unit], savings: Savings | None = None) -> Decoding:
    """Decode the units of one batch with the models that they name.

    Their settings `cfg` and `end_of_text` are those of `settings.Options`. `dtype`, `device_map`, `mask_id` and `chat`
    are those of `load_predictor`. `reward_dtype` and `reward_device` are those of `reward_for`. If the setting
    `compact` is true and no `savings` are given, `gpu.decode_compact` decodes what it can. `decode.decode` decodes the
    rest.
    """
    first = units[0]
    strategy = strategy_of(units)
    shape = Shape(first.length, first.steps, first.block)
    reward = reward_for(first, first.reward) if first.reward and strategy.needs_reward else None
    policies = _of(first.settings, ("cfg", "end_of_text"))
    predictor, prompts = predictor_for(first), [prompt_of(unit) for unit in units]
    if savings is None and gives_factor(strategy) and _compact(first):
        # Controls are built from the factors and rewards of all steps, so no step may be left out.
        usual = CompactSavings.usual()
        return decode_compact(
            predictor, prompts, strategy, shape, reward=reward, options=Options(**policies), savings=usual
        )
    policies |= {"ranking": first.ranking, "precision": first.precision}  # Options checks them
    seeds = tuple(unit.seed for unit in units)
    options = Options(sampling_temperature=first.sampling_temperature, seed=seeds, **policies)
    return decode(predictor, prompts, strategy, shape, reward=reward, options=options, savings=savings or Savings())


def _compact(unit: Unit) -> bool:
    """Return whether a unit asks for the compact decoder, and for nothing that this decoder cannot do."""
    settings = unit.settings
    exact = (unit.ranking, unit.precision, unit.sampling_temperature) == ("log-odds", "float64", 0)
    return (
        bool(settings.get("compact")) and exact and not settings.get("cfg") and settings.get("end_of_text") != "defer"
    )


def _of(settings: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: settings[name] for name in names if settings.get(name) is not None}


def predictor_for(unit: Unit) -> HFMaskPredictor:
    """Return a unit's mask predictor, loaded as its settings say, once per process; only the last one is kept.

    ValueError is raised if the unit names none.
    """
    if unit.predictor is None:
        raise ValueError("predictor is None: units that are decoded need one")
    options, device = _of(unit.settings, _LOADING_OPTIONS), unit.device
    short, revision = split_revision(unit.predictor)
    key = (unit.predictor, device, *sorted(options.items()))
    return kept("predictor", key, lambda: load_predictor(short, device, revision=revision, progress=False, **options))


def reward_for(unit: Unit, name: str) -> RewardModel:
    """Return a reward model, loaded as a unit's settings say (`reward_device`, `reward_dtype`), once per process.

    Of the shipped models the last three are kept, of others only the last one.
    """
    device, dtype = unit.settings.get("reward_device") or unit.device, unit.settings.get("reward_dtype") or "float32"
    short, revision = split_revision(name)
    most = 3 if name in (*SHIPPED, "exact") else 1
    key = (name, device, dtype)
    return kept("reward", key, lambda: load_reward(short, device, dtype=dtype, revision=revision, progress=False), most)


def load_models(units: Sequence[Unit]) -> None:
    """Load every model that the units name, each once; NotLoaded for the first that cannot be."""
    for unit in {(unit.predictor, unit.reward, unit.judges, unit.causal): unit for unit in units}.values():
        if unit.predictor is not None:
            predictor_for(unit)
        for name in filter(None, (unit.reward, *unit.judges)):
            reward_for(unit, name)
        if unit.causal is not None:
            causal_of(unit.causal, unit.device, unit.settings.get("reward_dtype") or "float32")


def prompt_of(unit: Unit) -> str | Dialogue:
    """Return what a unit asks: its prompt, which follows its history if it has one.

    >>> unit = Unit(experiment="x", prompt="and dogs ?", history=("cats ?", "two ."), strategy={"name": "default"})
    >>> prompt_of(unit).turns
    ('cats ?', 'two .', 'and dogs ?')
    """
    return Dialogue((*unit.history, unit.prompt)) if unit.history else unit.prompt


def causal_of(name: str, device: str = "cpu", dtype: str = "float32") -> CausalScorer:
    """Return a causal language model, loaded once per process; only the last one is kept."""
    short, revision = split_revision(name)
    key = (name, device, dtype)
    return kept("causal", key, lambda: load_causal(short, device, dtype=dtype, revision=revision))
