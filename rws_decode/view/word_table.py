"""The words of a page: each different one once, by number; and what stands in a line of the text."""

from __future__ import annotations

from rws_decode.text.gaps import masks_in, parts_of


class WordTable:
    """The different words of a page, numbered as they come.

    >>> table = WordTable()
    >>> [table.number(word) for word in ("peace", "and", "peace")], table.texts, table.parted
    ([0, 1, 0], ['peace', 'and'], True)
    """

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, word: str) -> int:
        """Return the number of a word, a new one for a word that is new."""
        if word not in self._numbers:
            self._numbers[word] = len(self.texts)
            self.texts.append(word)
        return self._numbers[word]

    @property
    def parted(self) -> bool:
        """Whether a page puts blanks between words: those of a model that writes blanks itself begin with them."""
        return not any(word[:1].isspace() for word in self.texts)


def line_of(prompt: str | None, length: int) -> list[str | int]:
    """Return what stands in the text: answer positions by number, and the fixed texts of a prompt with gaps.

    >>> line_of("the [MASK:2] of [MASK:1].", 3), line_of("no gap", 2)
    (['the', 0, 1, 'of', 2, '.'], [0, 1])
    """
    if prompt is None or masks_in(prompt) != length:
        return list(range(length))
    line, at = list[str | int](), 0
    for part in parts_of(prompt):
        if isinstance(part, str):
            line.append(part)
        else:
            line += range(at, at + part)
            at += part
    return line
