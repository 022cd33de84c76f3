"""Reward models: what scores the greedy completions.

Your own is one line: a function of prompt and answer, or the directory of a sequence classifier of one output.

>>> shorter = CallableReward(lambda prompt, answer: -len(answer.split()), mean=-10.0, std=5.0)
>>> shorter.score(["why?"], ["because it is"])
[-3.0]
>>> from rws_decode.checkpoints.files import models_directory
>>> classifier = load_reward(str(models_directory() / "mini-reward"), mean=0.0, std=1.0)
>>> [type(classifier.score(["sort : two one"], ["one two ."])[0])]
[<class 'float'>]

A reward model has the methods and attributes of `RewardModel`. It may have these abilities too, each a Protocol of
`rewards.base` with one function that gives the default for models without it:

- `Bounded`: the range of its raw scores. `bounds_of(model)` falls back to (-inf, inf).
- `ReadsTurns`: the turns of a dialogue. `prompts_for(model, prompts)` falls back to plain text.
- `SessionReward`: memory of what it read of each row. `session_of(model, rows)` falls back to `score`.
- `ReadsTokens`: token ids, in batches. `reads_whole(model, prompt, answer)` is True for models without it.

A `SoftReward` reads mixtures of tokens, and has a gradient; gradient guidance needs it, so there is no default.

>>> from rws_decode.rewards.base import bounds_of
>>> bounds_of(shorter)
(-inf, inf)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rws_theory.on_demand import on_demand

if TYPE_CHECKING:
    from rws_decode.rewards.base import RewardModel, RewardSession, SessionReward
    from rws_decode.rewards.callable import CallableReward
    from rws_decode.rewards.causal import CausalReward
    from rws_decode.rewards.classifier import SequenceClassifierReward
    from rws_decode.rewards.loading import load_reward
    from rws_decode.rewards.quantile import QuantileReward
    from rws_decode.rewards.registry import PUBLISHED, PublishedReward, published_reward

# Names are imported when first used, so that a misspelt name of a reward model does not wait for PyTorch.
_HOME = {
    "base": ("RewardModel", "RewardSession", "SessionReward"),
    "callable": ("CallableReward",),
    "causal": ("CausalReward",),
    "classifier": ("SequenceClassifierReward",),
    "loading": ("load_reward",),
    "quantile": ("QuantileReward",),
    "registry": ("PUBLISHED", "PublishedReward", "published_reward"),
}

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

on_demand(__name__, _HOME)
