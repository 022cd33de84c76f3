"""The words of a prompt that a predictor does not know, and the warning that names them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence

from rws_decode.predictors.base import MaskPredictor, NamesUnknownWords, tokenizer_of
from rws_decode.text.dialogue import Dialogue, as_dialogue
from rws_decode.text.gaps import without_gaps
from rws_decode.text.prompt_ids import plain_ids
from rws_theory.show import Note

_NAMED = 8  # words that the warning names, at most


def warn_of_unknown_words(predictor: MaskPredictor, prompt: str | Dialogue, ids: Sequence[int]) -> None:
    """Warn, by a `show.Note`, of a prompt's words that the predictor reads as unknown, or does not read at all.

    ids: what the predictor reads. The warning names the line that called this package.
    """
    text = without_gaps(as_dialogue(prompt).text)
    unknown = getattr(tokenizer_of(predictor), "unk_token_id", None)
    words: list[str] = []
    if isinstance(predictor, NamesUnknownWords):
        words, how = predictor.unknown_words(text), "reads only what follows the last of them"
    elif unknown is not None and unknown in ids:
        tokenizer = tokenizer_of(predictor)
        words = list(dict.fromkeys(word for word in text.split() if unknown in plain_ids(tokenizer, word)))
        how = "reads each as unknown"
    if not words:
        return
    more = len(words) - _NAMED
    named = " ".join(words[:_NAMED]) + (f" and {more} more" if more > 0 else "")
    frame, level = sys._getframe(), 1
    package = __name__.partition(".")[0]
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    warnings.warn(f"{predictor.name} does not know these words and {how}: {named}", Note, stacklevel=level)
