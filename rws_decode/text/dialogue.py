"""Dialogues: what was said before an answer, in turns of user and assistant."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rws_theory.show import one_line, quoted

# What sets turns apart where text alone is read: as the story language writes its dialogues (`story_tasks`).
ANSWER, QUESTION = " answer : ", " question : "


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
