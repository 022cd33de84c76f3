"""Lower-case words and punctuation as ids, and back: the text codec of models whose tokens are words."""

from __future__ import annotations

import re
from collections.abc import Sequence

END = "<end>"

_WORD = re.compile(r"[a-z]+(?:'[a-z]+)*|\d+(?:st|nd|rd|th)\b|\d[\d,.]*\d|\d|[.,;:?!]")
_MARKS = frozenset(".,;:?!")
_APOSTROPHES = str.maketrans("\u2019\u2018\u02bc", "'''")  # typographic ones


def split_words(text: str) -> list[str]:
    r"""Return the lower-case words, numbers and marks . , ; : ? ! of a text; all else separates words."""
    return _WORD.findall(text.translate(_APOSTROPHES).lower())


class Words:
    """A vocabulary of words: the id of a word is its place. `END` ends a text, and is no word of any text.

    ValueError for a word that occurs twice, and for one that `split_words` would part or change.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self._ids = {word: number for number, word in enumerate(self.words)}
        if len(self._ids) != len(self.words):
            twice = next(word for number, word in enumerate(self.words) if self._ids[word] != number)
            raise ValueError(f"words hold {twice!r} twice: each word has one id")
        for word in self.words:
            if word != END and split_words(word) != [word]:
                raise ValueError(f"words hold {word!r}: a lower-case word, a number or one of . , ; : ? ! is needed")

    def __len__(self) -> int:
        return len(self.words)

    @property
    def end(self) -> int | None:
        """Return the id that ends a text, None if there is none."""
        return self._ids.get(END)

    def ids(self, text: str) -> list[int]:
        """Return the id of each word of a text, -1 for a word that is not in the vocabulary."""
        return [self._ids.get(word, -1) for word in split_words(text)]

    def unknown(self, text: str) -> list[str]:
        """Return the different words of a text that are not in the vocabulary, in their order."""
        return [word for word in dict.fromkeys(split_words(text)) if word not in self._ids]

    def text(self, ids: Sequence[int]) -> str:
        """Return ids as a text: words between blanks, marks after the word before; `END` is left out.

        `ids(text(x)) == x` for every row x of words.
        """
        parts: list[str] = []
        for word in (self.words[number] for number in ids):
            if word in _MARKS and parts:
                parts[-1] += word
            elif word != END:
                parts.append(word)
        return " ".join(parts)
