"""Gaps of a prompt: n masks where text is to come, [MASK:n] in a text and mask ids among token ids."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import groupby

_GAP = re.compile(r"\s*\[MASK:([1-9]\d{0,3})\]")


def masks_in(text: str) -> int:
    """Return the number of masks in all gaps of a text.

    >>> masks_in("the [MASK:2] of [MASK:12]."), masks_in("the [MASK]")
    (14, 0)
    """
    return sum(int(gap) for gap in _GAP.findall(text))


def check_gaps(text: str) -> None:
    """Raise ValueError for what looks like a gap and is none.

    >>> check_gaps("the [MASK: 4] .")
    Traceback (most recent call last):
    ...
    ValueError: '[MASK: 4]' is no gap: a number of masks from 1 to 9999 is needed, as in [MASK:4]
    """
    for gap in re.findall(r"\[MASK:[^\]]*\]", text):
        if not _GAP.fullmatch(gap):
            raise ValueError(f"{gap!r:.80} is no gap: a number of masks from 1 to 9999 is needed, as in [MASK:4]")


def parts_of(text: str) -> list[str | int]:
    """Return the parts of a text with gaps: texts without blanks at their ends, and the number of masks of each gap.

    >>> parts_of("the [MASK:2] of peace [MASK:12].")
    ['the', 2, 'of peace', 12, '.']
    """
    parts = _GAP.split(text)
    return [int(part) if number % 2 else part.strip() for number, part in enumerate(parts) if part.strip()]


def before_gap(text: str) -> str:
    """Return the text before the first gap, without blanks at its end."""
    return _GAP.split(text)[0]


def without_gaps(text: str) -> str:
    """Return the words of a text without its gaps."""
    return _GAP.sub(" ", text)


def gap_ids(text: str, encode: Callable[[str], list[int]], mask_id: int) -> list[int]:
    """Return the ids of a text with a mask id for each mask of a gap; each part between gaps is encoded alone.

    Blanks before a gap are left out, as tokens that begin words hold the blank before them.

    >>> gap_ids("ab [MASK:2] c", lambda part: [len(part)], mask_id=0)
    [2, 0, 0, 2]
    """
    check_gaps(text)
    first, *rest = _GAP.split(text)
    ids = list(encode(first)) if first or not rest else []
    for gap, part in zip(rest[::2], rest[1::2], strict=True):
        ids += [*[mask_id] * int(gap), *(encode(part) if part else [])]
    return ids


def gap_text(ids: Sequence[int], decode: Callable[[list[int]], str | None], mask_id: int) -> str | None:
    """Return the text of ids with their gaps as [MASK:n]; None where `decode` returns None.

    >>> gap_text([5, 0, 0, 6], str, mask_id=0)
    '[5] [MASK:2] [6]'
    """
    parts = []
    for masked, run in groupby(ids, lambda token: token == mask_id):
        tokens = list(run)
        part = f"[MASK:{len(tokens)}]" if masked else decode(tokens)
        if part is None:
            return None
        parts.append(part)
    return " ".join(filter(None, parts)) if parts else decode([])


def row_of(ids: Sequence[int], mask_id: int, length: int) -> list[int]:
    """Return the row of a canvas: ids with gaps as they are, else the ids and `length` masks after them.

    >>> row_of([5, 0, 6], 0, length=1), row_of([5, 6], 0, length=1)
    ([5, 0, 6], [5, 6, 0])
    """
    return list(ids) if mask_id in ids else [*ids, *[mask_id] * length]


def from_gap(ids: Sequence[int], mask_id: int) -> list[int]:
    """Return the ids from the first gap on, none where there is no gap."""
    return list(ids[ids.index(mask_id) :]) if mask_id in ids else []


def filled(row: Sequence[int], answer: Sequence[int], mask_id: int) -> list[int]:
    """Return a row with the answer's tokens in place of its masks, in order.

    >>> filled([5, 0, 6, 0], [7, 8], mask_id=0)
    [5, 7, 6, 8]
    """
    tokens = iter(answer)
    return [next(tokens) if token == mask_id else token for token in row]
