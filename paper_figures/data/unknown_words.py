"""Words of a prompt that a mask predictor does not know, by its vocabulary alone: no weights, no PyTorch."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

from paper_figures.data.examples import checkpoint_of


def unknown_words(model: str, text: str) -> tuple[list[str], bool]:
    """Return the words of a text that a model does not know, in their order, and whether it knows none at all.

    Marks are no words. A model that reads bytes knows every word, and so does a model on the hub, whose vocabulary is
    not read here. ValueError for an unknown model.

    >>> unknown_words("mini", "the flurb owned one violin ?")
    (['flurb'], False)
    >>> unknown_words("mini", "zorp flurb ?")
    (['zorp', 'flurb'], True)
    """
    words = [word for word in dict.fromkeys(text.split()) if re.search(r"\w", word)]
    unknown = _unknown_of(model)
    missed = [word for word in words if unknown(word)]
    return missed, bool(missed) and len(missed) == len(words)


@cache
def _unknown_of(model: str) -> Callable[[str], bool]:
    """Return what says of a word whether the model's vocabulary lacks it."""
    checkpoint = checkpoint_of(model)
    listed = checkpoint.read_json("words.json")
    if isinstance(listed, list) and all(isinstance(word, str) for word in listed):
        from rws_decode.text.words import Words

        vocabulary = Words(listed)
        return lambda word: bool(vocabulary.unknown(word))
    described = checkpoint.read_json("tokenizer.json")
    core = described.get("model") if isinstance(described, dict) else None
    named = core.get("unk_token") if isinstance(core, dict) else None
    if checkpoint.directory is None or not isinstance(named, str):
        return lambda word: False
    return _in_tokenizer(checkpoint.directory / "tokenizer.json", named)


def _in_tokenizer(path: Path, unknown: str) -> Callable[[str], bool]:
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_str(path.read_text(encoding="utf-8"))
    except Exception:  # tokenizers raises it plain; whoever loads the model says what is wrong with the file
        return lambda word: False
    return lambda word: unknown in tokenizer.encode(word, add_special_tokens=False).tokens
