"""Dialogues: what was said before an answer, in turns of user and assistant."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["ANSWER", "QUESTION", "Dialogue", "as_dialogue"]

# What sets turns apart where text alone is read: as the story language writes its dialogues (`stories.tasks`).
ANSWER, QUESTION = " answer : ", " question : "


@dataclass(frozen=True)
class Dialogue:
    """Texts by turns, user, assistant, ..., user: a prompt whose answer is the assistant's next message.

    Chat templates are given `messages`, what the parties said and no more. Readers of plain text are given `text`:
    the first turn, then " answer : " before each of the assistant's and " question : " before each further one of the
    user's, which is how the shipped models were trained on dialogues. A dialogue of one turn is the same prompt as its
    text. ValueError for an even number of turns, none, or one that is no text.

    >>> dialogue = Dialogue(("how many cats ?", "two .", "and dogs ?"))
    >>> dialogue.text
    'how many cats ? answer : two . question : and dogs ?'
    >>> dialogue.messages[1]
    {'role': 'assistant', 'content': 'two .'}
    """

    turns: tuple[str, ...]

    def __post_init__(self) -> None:
        given: object = self.turns
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise ValueError(f"turns is {given!r}: a tuple of texts is needed")
        object.__setattr__(self, "turns", tuple(given))
        if len(self.turns) % 2 == 0:
            raise ValueError(f"turns has {len(self.turns)} texts: user, assistant, ..., user is needed, an odd number")
        for number, turn in enumerate(self.turns):
            if not isinstance(turn, str):
                raise ValueError(f"turns[{number}] is {turn!r}: a text is needed")

    @property
    def messages(self) -> list[dict[str, str]]:
        """Return the turns as chat messages: {"role": "user" or "assistant", "content": text}."""
        return [{"role": ("user", "assistant")[index % 2], "content": turn} for index, turn in enumerate(self.turns)]

    @property
    def text(self) -> str:
        """Return the plain text of all turns."""
        first, *rest = self.turns
        return first + "".join((ANSWER, QUESTION)[index % 2] + turn for index, turn in enumerate(rest))


def as_dialogue(prompt: str | Dialogue) -> Dialogue:
    """Return a prompt as a dialogue: a text is one of one turn.

    >>> as_dialogue("why ?")
    Dialogue(turns=('why ?',))
    """
    return Dialogue((prompt,)) if isinstance(prompt, str) else prompt
