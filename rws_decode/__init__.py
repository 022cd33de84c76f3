"""Decoding of masked diffusion language models: confidence, temperature, and reward-weighted sampling.

What is needed beside the functions that run, `rws_decode.decode.decode`, `rws_decode.replay.replay.replay` and
`rws_decode.scales.path.scale_path`, which keep to the modules of their names, is here as well.

>>> import rws_decode
>>> rws_decode.RWS(8.0)
RWS(reward_scale=8.0, eps=1e-05)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rws_decode.adapters.config import RWSGenerationConfig
    from rws_decode.predictors import (
        CallablePredictor,
        HFMaskPredictor,
        MaskPredictor,
        WorldPredictor,
        load_predictor,
    )
    from rws_decode.replay.diff import TraceDiff
    from rws_decode.replay.replay import Replay, replay_with
    from rws_decode.rewards import CallableReward, CausalReward, RewardModel, SequenceClassifierReward, load_reward
    from rws_decode.scales.path import Breakpoint, ScalePath, ScalePiece, Unexplored
    from rws_decode.scales.reach import Output, Reach, compare_reach
    from rws_decode.settings import Options, Savings, Shape
    from rws_decode.strategies.factors import RWS, Confidence, Temperature
    from rws_decode.strategies.given import RewardReplay, Schedule
    from rws_decode.strategies.orders import Entropy, LeftToRight, Margin, RandomOrder, RecordedOrder
    from rws_decode.strategies.protocol import FactorStrategy, MaskedPositions, OrderStrategy, Strategy
    from rws_decode.strategies.recorded import constant_of, recorded, shuffled
    from rws_decode.strategies.reward_controls import FlippedReward, RandomReward, RWSEvery
    from rws_decode.text.dialogue import Dialogue
    from rws_decode.trace.decoding import Decoding
    from rws_decode.trace.trace import Trace

# Names are imported when first used, so that --help and the story language do not wait for PyTorch.
_HOME = {
    "strategies.reward_controls": ("FlippedReward", "RWSEvery", "RandomReward"),
    "trace.decoding": ("Decoding",),
    "text.dialogue": ("Dialogue",),
    "replay.diff": ("TraceDiff",),
    "adapters.config": ("RWSGenerationConfig",),
    "strategies.factors": ("Confidence", "RWS", "Temperature"),
    "strategies.given": ("RewardReplay", "Schedule"),
    "strategies.protocol": ("FactorStrategy", "MaskedPositions", "OrderStrategy", "Strategy"),
    "strategies.recorded": ("constant_of", "recorded", "shuffled"),
    "strategies.orders": ("Entropy", "LeftToRight", "Margin", "RandomOrder", "RecordedOrder"),
    "predictors": ("CallablePredictor", "HFMaskPredictor", "MaskPredictor", "WorldPredictor", "load_predictor"),
    "scales.reach": ("Output", "Reach", "compare_reach"),
    "replay.replay": ("Replay", "replay_with"),
    "rewards": ("CallableReward", "CausalReward", "RewardModel", "SequenceClassifierReward", "load_reward"),
    "settings": ("Options", "Savings", "Shape"),
    "scales.path": ("Breakpoint", "ScalePath", "ScalePiece", "Unexplored"),
    "trace.trace": ("Trace",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "RWS",
    "Breakpoint",
    "CallablePredictor",
    "CallableReward",
    "CausalReward",
    "Confidence",
    "Decoding",
    "Dialogue",
    "Entropy",
    "FactorStrategy",
    "FlippedReward",
    "HFMaskPredictor",
    "LeftToRight",
    "Margin",
    "MaskPredictor",
    "MaskedPositions",
    "Options",
    "OrderStrategy",
    "Output",
    "RWSEvery",
    "RWSGenerationConfig",
    "RandomOrder",
    "RandomReward",
    "Reach",
    "RecordedOrder",
    "Replay",
    "RewardModel",
    "RewardReplay",
    "Savings",
    "ScalePath",
    "ScalePiece",
    "Schedule",
    "SequenceClassifierReward",
    "Shape",
    "Strategy",
    "Temperature",
    "Trace",
    "TraceDiff",
    "Unexplored",
    "WorldPredictor",
    "compare_reach",
    "constant_of",
    "load_predictor",
    "load_reward",
    "recorded",
    "replay_with",
    "shuffled",
]


def __getattr__(name: str) -> Any:
    """Import the module that defines `name` and return the name's value."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
