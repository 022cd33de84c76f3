"""Mask predictors: what the decoder fills canvases with."""

from __future__ import annotations

from rws_decode.predictors.base import CallablePredictor, MaskPredictor
from rws_decode.predictors.exact import exact_predictor, token_reward
from rws_decode.predictors.huggingface import HFMaskPredictor
from rws_decode.predictors.loading import load_predictor

__all__ = [
    "CallablePredictor",
    "HFMaskPredictor",
    "MaskPredictor",
    "exact_predictor",
    "load_predictor",
    "token_reward",
]
