"""Mask predictors: what the decoder fills canvases with.

A predictor has the methods and attributes of `MaskPredictor`. It may have these abilities too, each a Protocol of
`predictors.base` with one function that gives the default for predictors without it:

- `LogitsAt`: logits of some positions alone. `computes_at(predictor)` says whether; `logits_at(predictor, ...)` falls
  back to all logits.
- `FillsBlocks`: tokens see their block and those before it. `block_of(predictor)` falls back to None.
- `EndsWith`: several tokens that end the text. `ends_of(predictor)` falls back to `end_id`.
- `ReadsDialogue`: the turns of a dialogue. `prompt_ids(predictor, prompt)` falls back to its plain text.
- `FromCheckpoint`: the files that it was loaded from.
- `HasTokenizer`: a tokenizer of transformers. `tokenizer_of(predictor)` falls back to None.
- `NamesUnknownWords`: the words that it does not know, where it has no token for them.
- `LogitsDtype`: the dtype of the logits. `logit_bytes_of(predictor)` falls back to the 4 bytes of float32.

>>> from rws_decode.predictors.base import computes_at, ends_of
>>> predictor = CallablePredictor(lambda canvas: canvas, mask_id=0, end_id=5)
>>> computes_at(predictor), ends_of(predictor)
(False, (5,))
"""

from __future__ import annotations

from rws_decode.predictors.base import MaskPredictor
from rws_decode.predictors.callable import CallablePredictor
from rws_decode.predictors.loading import load_predictor
from rws_decode.predictors.masked_language_model import HFMaskPredictor
from rws_decode.predictors.world import WorldPredictor

__all__ = [
    "CallablePredictor",
    "HFMaskPredictor",
    "MaskPredictor",
    "WorldPredictor",
    "load_predictor",
]
