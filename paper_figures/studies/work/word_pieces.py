"""Cut a text into the pieces that its tokens stand for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise


def text_pieces(decode: Callable[[Sequence[int]], str], ids: Sequence[int]) -> list[str]:
    """Return the part of decode(ids) that each id adds, in order; joined, they are decode(ids).

    The text up to an id shares its beginning with the whole text. The id adds what this beginning has beyond that of
    the id before. So a character of several tokens, or a space that a decoder takes back, goes to the id that settles
    it. The other ids add "".

    >>> text_pieces(lambda ids: " ".join("abc"[token] for token in ids), [0, 2, 1])
    ['a', ' c', ' b']
    >>> text_pieces(lambda ids: bytes(ids).decode(errors="replace"), list("né".encode()))
    ['n', '', 'é']
    """
    if not ids:
        return []
    full_text = decode(ids)
    shared = [_shared(decode(ids[:count]), full_text) for count in range(1, len(ids))]
    ends = accumulate([0, *shared, len(full_text)], max)
    return [full_text[start:end] for start, end in pairwise(ends)]


def _shared(text: str, full_text: str) -> int:
    """Return the length of the longest common beginning of two texts."""
    differs = (
        index for index, (character, other) in enumerate(zip(text, full_text, strict=False)) if character != other
    )
    return next(differs, min(len(text), len(full_text)))
