"""Mask predictors: what the decoder fills canvases with.

A predictor has the methods and attributes of `MaskPredictor`. What it may be able to do besides are the other Protocols
of `predictors.base`, each with one function that also serves predictors without it.

>>> from rws_decode.predictors.base import ends_of
>>> ends_of(CallablePredictor(lambda canvas: canvas, mask_id=0, end_id=5))
(5,)
"""

import lazy_loader

# The names are in __init__.pyi, once; each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
