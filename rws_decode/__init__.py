"""Decoding of masked diffusion language models: confidence, temperature, and reward-weighted sampling.

Load a mask predictor and a reward model, decode, and look at what came of it:

>>> import rws_decode
>>> predictor, reward = rws_decode.load_predictor("mini"), rws_decode.load_reward("mini")
>>> (trace,) = rws_decode.decode(predictor, predictor.examples[3]["prompt"], "rws:8", reward=reward)
>>> trace.text.split()[:4]
['the', 'curious', 'accountant', 'amara']
"""

import lazy_loader

# The names are in __init__.pyi, once; each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
