"""Reward models: what scores the greedy completions."""

from __future__ import annotations

from rws_decode.rewards.base import CallableReward, RewardModel
from rws_decode.rewards.classifier import SequenceClassifierReward, load_reward

__all__ = ["CallableReward", "RewardModel", "SequenceClassifierReward", "load_reward"]
