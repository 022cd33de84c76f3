"""Reward models: what scores the greedy completions."""

from __future__ import annotations

from rws_decode.rewards.base import CallableReward, RewardModel, RewardSession, SessionReward
from rws_decode.rewards.causal import CausalReward
from rws_decode.rewards.classifier import SequenceClassifierReward, load_reward
from rws_decode.rewards.heads import QuantileReward
from rws_decode.rewards.registry import PUBLISHED, PublishedReward, published_reward

__all__ = [
    "PUBLISHED",
    "CallableReward",
    "CausalReward",
    "PublishedReward",
    "QuantileReward",
    "RewardModel",
    "RewardSession",
    "SequenceClassifierReward",
    "SessionReward",
    "load_reward",
    "published_reward",
]
