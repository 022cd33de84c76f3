"""Inputs for tests of your own functions: Hypothesis strategies of logits, rewards, orders and exact models.

The tests of this package use them: ordinary inputs, and those on which functions of logits break, such as ties,
neighbouring floats, forbidden tokens, confidences that saturate and curves that cross. Needs Hypothesis: `pip install
"rws-toolkit[hypothesis]"`. Here they find an input that breaks a naive confidence:

>>> import numpy as np
>>> from hypothesis import find
>>> from rws_theory.testing import logit_vectors
>>> def my_confidence(logits, scale):
...     powers = np.exp(scale * logits)
...     return powers.max() / powers.sum()
>>> with np.errstate(all="ignore"):
...     find(logit_vectors(1, 1, bound=1000.0), lambda logits: not my_confidence(logits, 1.0) == 1.0)
array([710.])
"""

from __future__ import annotations

import lazy_loader

from rws_theory.extras import not_installed

try:
    import hypothesis  # noqa: F401  (absent, it is named here and not where a strategy is first used)
except ModuleNotFoundError as error:
    if error.name != "hypothesis":
        raise
    raise ModuleNotFoundError(f"{__name__}: {not_installed('hypothesis')}", name="hypothesis") from None

# The names are in __init__.pyi, once; each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
