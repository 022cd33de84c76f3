"""Load a shipped mask predictor for a page to drag; other models may take minutes or a GPU, and none is loaded."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rws_decode.predictors.base import MaskPredictor


@lru_cache(maxsize=2)
def shipped_predictor(name: str) -> MaskPredictor | None:
    """Return the mask predictor of that name, or None if it does not ship with the project."""
    from rws_decode.checkpoints.files import shipped
    from rws_decode.predictors import load_predictor

    return load_predictor(name, progress=False) if name in shipped("BertForMaskedLM") else None
