from .base import MaskPredictor as MaskPredictor
from .callable import CallablePredictor as CallablePredictor
from .loading import load_predictor as load_predictor
from .masked_language_model import HFMaskPredictor as HFMaskPredictor
from .world import WorldPredictor as WorldPredictor
from .base import (
    forbidden_ids as forbidden_ids,
)
from .bidirectional import (
    BidirectionalPredictor as BidirectionalPredictor,
    attend_both_ways as attend_both_ways,
)
