"""Reward models: what scores the greedy completions."""

from __future__ import annotations

from rws_decode.rewards.base import CallableReward, RewardModel, RewardSession, SessionReward
from rws_decode.rewards.causal import CausalReward
from rws_decode.rewards.classifier import SequenceClassifierReward, load_reward

__all__ = [
    "CallableReward",
    "CausalReward",
    "RewardModel",
    "RewardSession",
    "SequenceClassifierReward",
    "SessionReward",
    "load_reward",
]
