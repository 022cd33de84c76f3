"""Mask predictors: what the decoder fills canvases with.

A predictor has the methods and attributes of `MaskPredictor`. What it may be able to do besides are the other Protocols
of `predictors.base`, each with one function that gives the default for predictors without it.

>>> from rws_decode.predictors.base import ends_of
>>> ends_of(CallablePredictor(lambda canvas: canvas, mask_id=0, end_id=5))
(5,)
"""

from rws_decode.predictors.base import MaskPredictor
from rws_decode.predictors.callable import CallablePredictor
from rws_decode.predictors.loading import load_predictor
from rws_decode.predictors.masked_language_model import HFMaskPredictor
from rws_decode.predictors.world import WorldPredictor

__all__ = ["CallablePredictor", "HFMaskPredictor", "MaskPredictor", "WorldPredictor", "load_predictor"]
