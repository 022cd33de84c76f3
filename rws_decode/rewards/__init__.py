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

import lazy_loader

# The names are in __init__.pyi, once; each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
