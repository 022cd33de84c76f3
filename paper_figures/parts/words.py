"""Token ids as words, by the tokenizer file of a model: no weights are loaded and nothing is downloaded."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["Words", "words_of"]

_LONGEST = 14


@dataclass(frozen=True)
class Words:
    """A model's text codec for pictures; `tokenizer` is None where none is at hand, and tokens are shown as ids."""

    tokenizer: Any = None

    def word(self, token: int) -> str:
        """Return a token as a word of at most 14 characters: line breaks spelled out, "_" for mere spaces.

        >>> Words().word(7)
        '#7'
        """
        if self.tokenizer is None:
            return f"#{token}"
        text = self.tokenizer.decode([int(token)], skip_special_tokens=False)
        text = text.replace("\n", "\\n").strip() or "_"
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"

    def ids(self, text: str) -> list[int] | None:
        """Return a text's tokens, special ones not added; None without a tokenizer."""
        return None if self.tokenizer is None else list(self.tokenizer.encode(text, add_special_tokens=False).ids)


@cache
def words_of(model: str) -> Words:
    """Return the words of a mask predictor: shipped name, directory, or hub id whose tokenizer.json is on this machine.

    ValueError for a name that is none of these.

    >>> words = words_of("mini")
    >>> [words.word(token) for token in words.ids("the meadow .")]
    ['the', 'meadow', '.']
    """
    from tokenizers import Tokenizer

    path = _file(model)
    if path is None:
        return Words()
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return Words(tokenizer)


def _file(model: str) -> Path | None:
    from rws_decode.checkpoints import locate, shipped, split_revision

    name, revision = split_revision(model)
    checkpoint = locate("model", name, {known: known for known in shipped("ForMaskedLM")})
    if checkpoint.directory is not None:
        path = checkpoint.directory / "tokenizer.json"
        return path if path.is_file() else None
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(name, "tokenizer.json", revision=revision)
    return Path(found) if isinstance(found, str) else None
