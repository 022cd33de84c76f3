"""Decoding of masked diffusion language models: confidence, temperature, and reward-weighted sampling.

Load a mask predictor and a reward model, decode, and look at what came of it:

>>> import rws_decode
>>> predictor, reward = rws_decode.load_predictor("mini"), rws_decode.load_reward("mini")
>>> (trace,) = rws_decode.decode(predictor, predictor.examples[3]["prompt"], "rws:8", reward=reward)
>>> trace.text.split()[:4]
['the', 'curious', 'accountant', 'amara']
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rws_decode.adapters.config import RWSGenerationConfig
    from rws_decode.check.compare import compare_digests
    from rws_decode.check.difference import DigestDiff
    from rws_decode.check.digest import Digest, load_digest
    from rws_decode.check.make import check_digest
    from rws_decode.common.animation import Animation
    from rws_decode.common.page import Page
    from rws_decode.compare import Comparison, compare
    from rws_decode.decode import decode
    from rws_decode.predictors import (
        CallablePredictor,
        HFMaskPredictor,
        MaskPredictor,
        WorldPredictor,
        load_predictor,
    )
    from rws_decode.replay.diff import TraceDiff, diff
    from rws_decode.replay.exchange import exchange_distance
    from rws_decode.replay.path_diagnostics import (
        PathDiagnostics,
        circulation,
        order_log_likelihood,
        path_diagnostics,
        path_frame,
    )
    from rws_decode.replay.replay import Replay, replay, replay_with
    from rws_decode.replay.step_logits import StepLogits, step_logits
    from rws_decode.rewards import CallableReward, CausalReward, RewardModel, SequenceClassifierReward, load_reward
    from rws_decode.scales.path import Breakpoint, ScalePath, ScalePiece, Unexplored, scale_path
    from rws_decode.scales.reach import Output, Reach, compare_reach
    from rws_decode.settings import Options, Savings, Shape
    from rws_decode.steering.best_of import BestOf, SoftBestOf
    from rws_decode.steering.particle_gibbs import ParticleGibbs
    from rws_decode.steering.particles import Particles
    from rws_decode.steering.reward_lookahead import RewardLookahead
    from rws_decode.steering.steer import Steering, steer
    from rws_decode.steering.svdd import SVDD
    from rws_decode.step.final_text import final_reward
    from rws_decode.strategies.d2cache import CertaintyPrior
    from rws_decode.strategies.eb_sampler import EntropyBound
    from rws_decode.strategies.factors import RWS, Confidence, Temperature
    from rws_decode.strategies.fast_dllm import ParallelFactor, Threshold
    from rws_decode.strategies.given import RewardReplay, Schedule
    from rws_decode.strategies.klass import Klass
    from rws_decode.strategies.oracle import OracleOrder
    from rws_decode.strategies.orders import Entropy, LeftToRight, Margin, RandomOrder, RecordedOrder
    from rws_decode.strategies.pc_sampler import Calibrated, token_frequencies
    from rws_decode.strategies.protocol import (
        ChoosingStrategy,
        CommittedPositions,
        CountingStrategy,
        FactorStrategy,
        MaskedPositions,
        OrderStrategy,
        RevisingStrategy,
        Strategy,
    )
    from rws_decode.strategies.recorded import constant_of, recorded, shuffled
    from rws_decode.strategies.revising.p2 import P2
    from rws_decode.strategies.revising.remdm import ReMDM
    from rws_decode.strategies.revising.wino import Wino
    from rws_decode.strategies.reward_controls import FlippedReward, RandomReward, RWSEvery
    from rws_decode.text.dialogue import Dialogue
    from rws_decode.trace.decoding import Decoding
    from rws_decode.trace.trace import Trace, load_trace
    from rws_decode.view.curves_page import curves_page
    from rws_decode.view.decode_page import decode_page
    from rws_decode.view.scale_path_page import scale_path_page

# Names are imported when first used, so that --help and the story language do not wait for PyTorch.
_HOME = {
    "strategies.reward_controls": ("FlippedReward", "RWSEvery", "RandomReward"),
    "trace.decoding": ("Decoding",),
    "text.dialogue": ("Dialogue",),
    "replay.diff": ("TraceDiff", "diff"),
    "replay.step_logits": ("StepLogits", "step_logits"),
    "check.compare": ("compare_digests",),
    "check.difference": ("DigestDiff",),
    "check.digest": ("Digest", "load_digest"),
    "check.make": ("check_digest",),
    "compare": ("Comparison", "compare"),
    "decode": ("decode",),
    "steering.best_of": ("BestOf", "SoftBestOf"),
    "steering.particle_gibbs": ("ParticleGibbs",),
    "steering.particles": ("Particles",),
    "steering.reward_lookahead": ("RewardLookahead",),
    "steering.steer": ("Steering", "steer"),
    "steering.svdd": ("SVDD",),
    "step.final_text": ("final_reward",),
    "adapters.config": ("RWSGenerationConfig",),
    "strategies.d2cache": ("CertaintyPrior",),
    "strategies.eb_sampler": ("EntropyBound",),
    "strategies.factors": ("Confidence", "RWS", "Temperature"),
    "strategies.fast_dllm": ("ParallelFactor", "Threshold"),
    "strategies.klass": ("Klass",),
    "strategies.revising.p2": ("P2",),
    "strategies.revising.remdm": ("ReMDM",),
    "strategies.revising.wino": ("Wino",),
    "strategies.oracle": ("OracleOrder",),
    "strategies.pc_sampler": ("Calibrated", "token_frequencies"),
    "strategies.given": ("RewardReplay", "Schedule"),
    "strategies.protocol": (
        "ChoosingStrategy",
        "CommittedPositions",
        "CountingStrategy",
        "FactorStrategy",
        "MaskedPositions",
        "OrderStrategy",
        "RevisingStrategy",
        "Strategy",
    ),
    "strategies.recorded": ("constant_of", "recorded", "shuffled"),
    "strategies.orders": ("Entropy", "LeftToRight", "Margin", "RandomOrder", "RecordedOrder"),
    "predictors": ("CallablePredictor", "HFMaskPredictor", "MaskPredictor", "WorldPredictor", "load_predictor"),
    "scales.reach": ("Output", "Reach", "compare_reach"),
    "replay.exchange": ("exchange_distance",),
    "replay.path_diagnostics": (
        "PathDiagnostics",
        "circulation",
        "order_log_likelihood",
        "path_diagnostics",
        "path_frame",
    ),
    "replay.replay": ("Replay", "replay", "replay_with"),
    "rewards": ("CallableReward", "CausalReward", "RewardModel", "SequenceClassifierReward", "load_reward"),
    "settings": ("Options", "Savings", "Shape"),
    "scales.path": ("Breakpoint", "ScalePath", "ScalePiece", "Unexplored", "scale_path"),
    "trace.trace": ("Trace", "load_trace"),
    "common.animation": ("Animation",),
    "common.page": ("Page",),
    "view.curves_page": ("curves_page",),
    "view.decode_page": ("decode_page",),
    "view.scale_path_page": ("scale_path_page",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "P2",
    "RWS",
    "SVDD",
    "Animation",
    "BestOf",
    "Breakpoint",
    "Calibrated",
    "CallablePredictor",
    "CallableReward",
    "CausalReward",
    "CertaintyPrior",
    "ChoosingStrategy",
    "CommittedPositions",
    "Comparison",
    "Confidence",
    "CountingStrategy",
    "Decoding",
    "Dialogue",
    "Digest",
    "DigestDiff",
    "Entropy",
    "EntropyBound",
    "FactorStrategy",
    "FlippedReward",
    "HFMaskPredictor",
    "Klass",
    "LeftToRight",
    "Margin",
    "MaskPredictor",
    "MaskedPositions",
    "Options",
    "OracleOrder",
    "OrderStrategy",
    "Output",
    "Page",
    "ParallelFactor",
    "ParticleGibbs",
    "Particles",
    "PathDiagnostics",
    "RWSEvery",
    "RWSGenerationConfig",
    "RandomOrder",
    "RandomReward",
    "ReMDM",
    "Reach",
    "RecordedOrder",
    "Replay",
    "RevisingStrategy",
    "RewardLookahead",
    "RewardModel",
    "RewardReplay",
    "Savings",
    "ScalePath",
    "ScalePiece",
    "Schedule",
    "SequenceClassifierReward",
    "Shape",
    "SoftBestOf",
    "Steering",
    "StepLogits",
    "Strategy",
    "Temperature",
    "Threshold",
    "Trace",
    "TraceDiff",
    "Unexplored",
    "Wino",
    "WorldPredictor",
    "check_digest",
    "circulation",
    "compare",
    "compare_digests",
    "compare_reach",
    "constant_of",
    "curves_page",
    "decode",
    "decode_page",
    "diff",
    "exchange_distance",
    "final_reward",
    "load_digest",
    "load_predictor",
    "load_reward",
    "load_trace",
    "order_log_likelihood",
    "path_diagnostics",
    "path_frame",
    "plots",
    "recorded",
    "replay",
    "replay_with",
    "scale_path",
    "scale_path_page",
    "shuffled",
    "steer",
    "step_logits",
    "token_frequencies",
]


class _Package(ModuleType):
    """The class of this package, in which `decode`, `compare` and `replay` are functions, never modules."""

    def __setattr__(self, name: str, value: Any) -> None:
        # Importing `rws_decode.decode` would set the module over the function.
        if name not in _MODULE_OF or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    """Import the module that defines `name` and return the name's value."""
    if name == "plots":
        return import_module(f"{__name__}.view.plots")
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__
