"""Reward models: what scores the greedy completions.

Your own is one line: a function of prompt and answer, or the directory of a sequence classifier of one output.

>>> shorter = CallableReward(lambda prompt, answer: -len(answer.split()), mean=-10.0, std=5.0)
>>> shorter.score(["why?"], ["because it is"])
[-3.0]
>>> from rws_decode.checkpoints.files import models_directory
>>> classifier = load_reward(str(models_directory() / "mini-reward"), mean=0.0, std=1.0)
>>> [type(classifier.score(["sort : two one"], ["one two ."])[0])]
[<class 'float'>]

A reward model has the methods and attributes of `RewardModel`. What it may be able to do besides are the other
Protocols of `rewards.base`, each with one function that also serves models without it.
"""

import lazy_loader

# The names are in __init__.pyi, once; each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
