"""Decoding of masked diffusion language models: confidence, temperature, and reward-weighted sampling.

Load a mask predictor and a reward model, decode, and look at what came of it:

>>> import rws_decode
>>> predictor, reward = rws_decode.load_predictor("mini"), rws_decode.load_reward("mini")
>>> (trace,) = rws_decode.decode(predictor, predictor.examples[3]["prompt"], "rws:8", reward=reward)
>>> trace.text.split()[:4]
['the', 'curious', 'accountant', 'amara']
"""

from typing import Any

import lazy_loader

# The names are in __init__.pyi, once; each is imported when it is first used. Extras offer more, by entry points.
_core, _, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name in __all__ or name.startswith("_"):
        return _core(name)
    from rws_decode.common.plugins import public_name

    return public_name(__name__, name)


def __dir__() -> list[str]:
    from rws_decode.common.plugins import NAMES, names

    return [*__all__, *(name for name in names(NAMES) if "." not in name)]
