"""A text cut into the pieces that its tokens stand for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise

__all__ = ["text_pieces"]


def text_pieces(decode: Callable[[Sequence[int]], str], ids: Sequence[int]) -> list[str]:
    """Return the part of decode(ids) that each id adds, in order; joined they are decode(ids).

    An id adds what the whole text shares with the text up to it, beyond that up to the id before. So a character of
    several tokens, or a space that a decoder takes back, goes to the id that settles it, and the others add "".

    >>> text_pieces(lambda ids: " ".join("abc"[place] for place in ids), [0, 2, 1])
    ['a', ' c', ' b']
    >>> text_pieces(lambda ids: bytes(ids).decode(errors="replace"), list("né".encode()))
    ['n', '', 'é']
    """
    if not ids:
        return []
    whole = decode(ids)
    shared = [_shared(decode(ids[:count]), whole) for count in range(1, len(ids))]
    ends = accumulate([0, *shared, len(whole)], max)
    return [whole[start:end] for start, end in pairwise(ends)]


def _shared(text: str, whole: str) -> int:
    """Return the length of the longest common beginning."""
    differs = (index for index, (character, other) in enumerate(zip(text, whole, strict=False)) if character != other)
    return next(differs, min(len(text), len(whole)))
