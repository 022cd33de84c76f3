from .base import MaskPredictor as MaskPredictor
from .callable import CallablePredictor as CallablePredictor
from .loading import load_predictor as load_predictor
from .masked_language_model import HFMaskPredictor as HFMaskPredictor
from .world import WorldPredictor as WorldPredictor
