"""What stands before an answer: turns of user and assistant; and gaps, n masks where text is to come.

A gap is [MASK:n] in a text, and mask ids among token ids.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from rws_theory.show import one_line, quoted

# What sets turns apart where text alone is read: as the story language writes its dialogues (`story_tasks`).
ANSWER, QUESTION = " answer : ", " question : "
_GAP = re.compile(r"\s*\[MASK:([1-9]\d{0,3})\]")


@dataclass(frozen=True)
class Dialogue:
    """Texts by turns, user, assistant, ..., user: a prompt whose answer is the assistant's next message.

    Chat templates are given `messages`, what the parties said and no more. Readers of plain text are given `text`:
    the first turn, then " answer : " before each of the assistant's and " question : " before each further one of the
    user's, which is how the shipped models were trained on dialogues. A dialogue of one turn is the same prompt as its
    text. ValueError for an even number of turns, none, or what `check_text` refuses.

    >>> dialogue = Dialogue(("how many cats ?", "two .", "and dogs ?"))
    >>> dialogue.text
    'how many cats ? answer : two . question : and dogs ?'
    >>> dialogue.messages[1]
    {'role': 'assistant', 'content': 'two .'}
    """

    turns: tuple[str, ...]

    __repr__ = one_line

    def __post_init__(self) -> None:
        given: object = self.turns
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise ValueError(f"turns is {quoted(given)}: a tuple of texts is needed")
        object.__setattr__(self, "turns", tuple(given))
        if len(self.turns) % 2 == 0:
            raise ValueError(f"turns has {len(self.turns)} texts: user, assistant, ..., user is needed, an odd number")
        for number, turn in enumerate(self.turns):
            check_text(f"turns[{number}]", turn)

    @property
    def messages(self) -> list[dict[str, str]]:
        """Return the turns as chat messages: {"role": "user" or "assistant", "content": text}."""
        return [{"role": ("user", "assistant")[index % 2], "content": turn} for index, turn in enumerate(self.turns)]

    @property
    def text(self) -> str:
        """Return the plain text of all turns."""
        first, *rest = self.turns
        return first + "".join((ANSWER, QUESTION)[index % 2] + turn for index, turn in enumerate(rest))


def check_text(name: str, text: object) -> str:
    r"""Return the text; ValueError, naming it, for what is none, or a lone surrogate in it, which UTF-8 cannot hold.

    A command line or a file name whose bytes are not UTF-8 has such surrogates in Python.
    """
    if not isinstance(text, str):
        raise ValueError(f"{name} is {quoted(text)}: a text is needed")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        shown, alone = text if len(text) <= 60 else f"{text[:57]}...", text[error.start]
        bytewise = ", a byte that is not UTF-8" if "\udc80" <= alone <= "\udcff" else ""
        raise ValueError(f"{name} is {shown!r}: no text, as it holds the lone surrogate {alone!r}{bytewise}") from None
    return text


def as_dialogue(prompt: str | Dialogue) -> Dialogue:
    """Return a prompt as a dialogue: a text is one of one turn.

    >>> as_dialogue("why ?")
    Dialogue(turns=('why ?',))

    ValueError for anything else.
    """
    given: object = prompt
    if isinstance(given, Dialogue):
        return given
    if not isinstance(given, str):
        raise ValueError(f"prompt is {quoted(given)}: a text or a Dialogue is needed")
    return Dialogue((given,))


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
