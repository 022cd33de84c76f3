"""Show token ids as words, from the files beside a model's weights; no weights are loaded, nothing is downloaded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from rws_decode.common.files import parse_json

_LONGEST = 14


@dataclass(frozen=True)
class Words:
    """A model's text codec for pictures; `tokenizer` is None if none is at hand, and tokens are shown as ids.

    end: the end-of-text id, None if the model names none, or its config.json is not at hand.
    """

    tokenizer: Any = None
    end: int | None = None

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

    def words(self, tokens: Iterable[int]) -> tuple[str, ...]:
        """Return tokens as words: "(end)" for the end of text, "?" for no token, which is below 0.

        >>> Words(end=1).words([1, 7, -1])
        ('(end)', '#7', '?')
        """
        return tuple("(end)" if token == self.end else self.word(token) if token >= 0 else "?" for token in tokens)

    def ids(self, text: str) -> list[int] | None:
        """Return a text's tokens, special ones not added; None without a tokenizer."""
        return None if self.tokenizer is None else list(self.tokenizer.encode(text, add_special_tokens=False).ids)


@cache
def words_of(model: str) -> Words:
    """Return the words of a mask predictor: a shipped name, directory, or hub id; without its files, tokens are ids.

    >>> words = words_of("mini")
    >>> [words.word(token) for token in words.ids("the meadow .")]
    ['the', 'meadow', '.']
    >>> words_of("/no/such/folder")
    Words(tokenizer=None, end=None)
    """
    from tokenizers import Tokenizer

    tokens, config = _file(model, "tokenizer.json"), _file(model, "config.json")
    end = None if config is None else parse_json(config.read_text(encoding="utf-8")).get("eos_token_id")
    tokenizer = None if tokens is None else Tokenizer.from_file(str(tokens))
    if tokenizer is not None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
    return Words(tokenizer, end if isinstance(end, int) else None)


def _file(model: str, name: str) -> Path | None:
    from rws_decode.checkpoints.files import locate, shipped, split_revision

    model, revision = split_revision(model)
    try:
        checkpoint = locate("model", model, {name: name for name in shipped("ForMaskedLM")})
    except ValueError:  # a directory of another machine: the traces alone are here
        return None
    if checkpoint.directory is not None:
        path = checkpoint.directory / name
        return path if path.is_file() else None
    from huggingface_hub import try_to_load_from_cache

    cached = try_to_load_from_cache(model, name, revision=revision)
    return Path(cached) if isinstance(cached, str) else None
