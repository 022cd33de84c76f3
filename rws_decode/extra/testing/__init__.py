"""What a tool of yours can be tested on without a network: tiny checkpoints of every layout, and models of known truth.

- `tiny_checkpoint` writes a checkpoint in the layout of LLaDA, Dream, a reward model of the paper and others, small and
  random; `tiny_checkpoints` names the layouts.
- `exact_predictor` and `token_reward` make a mask predictor and a reward of any distribution over short sequences, so
  that what a decoder does can be compared with the truth.
- :mod:`rws_decode.extra.testing.strategies` has Hypothesis strategies of decodes, :mod:`rws_theory.testing` those of
  numbers.

>>> from tempfile import TemporaryDirectory
>>> from rws_decode import load_reward
>>> with TemporaryDirectory() as folder:
...     reward = load_reward(str(tiny_checkpoint("intern", folder)), published="intern", progress=False)
>>> len(reward.score(["the cat"], ["sat on the mat ."]))
1
"""

import lazy_loader

# The names are in __init__.pyi, once; each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
