"""Reward models: what scores the greedy completions.

One's own in one line: a function of prompt and answer, or the directory of a sequence classifier of one output.

>>> shorter = CallableReward(lambda prompt, answer: -len(answer.split()), mean=-10.0, std=5.0)
>>> shorter.score(["why?"], ["because it is"])
[-3.0]
>>> from rws_decode.checkpoints.files import models_directory
>>> own = load_reward(str(models_directory() / "mini-reward"), mean=0.0, std=1.0)
>>> [type(own.score(["sort : two one"], ["one two ."])[0])]
[<class 'float'>]
"""

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
