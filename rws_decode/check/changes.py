"""What can differ between two digests, as data: the model, a decode, the machine, last digits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rws_decode.check.digest import Fact
from rws_theory.show import one_line

Kind = Literal["checkpoint", "tokenizer", "template", "end of text", "prompts", "logits", "rewards", "tokens"]


@dataclass(frozen=True)
class ModelChange:
    """Something that is not the same and is no decode: its kind, and a sentence that says what."""

    kind: Kind
    text: str

    def __repr__(self) -> str:
        return one_line(self)


@dataclass(frozen=True)
class RowChange:
    """A decode that committed other tokens, or the same ones at other steps.

    prompt, strategy: which decode; step: the first that committed otherwise, from 0; near_there, near_here: whether
    that run has a tie or near-tie at this step; near_tie: whether one of them has; only_there, only_here: what only one
    of them committed at the step, (position, id, word); tokens: how many of the answer's tokens differ in the end;
    other_ids: whether the prompt has other ids.
    """

    prompt: int
    strategy: str
    step: int
    near_tie: bool
    near_there: bool
    near_here: bool
    only_there: tuple[tuple[int, int, str], ...]
    only_here: tuple[tuple[int, int, str], ...]
    tokens: int
    other_ids: bool
    kind: Kind = "tokens"

    def __repr__(self) -> str:
        return one_line(self)


@dataclass(frozen=True)
class FactChange:
    """A fact of the machine that is not the same there and here."""

    name: str
    there: Fact
    here: Fact

    def __repr__(self) -> str:
        return one_line(self)


@dataclass(frozen=True)
class LastDigits:
    """How far numbers differ that rounding explains: the largest differences of logits and of rewards, None for none.

    canvases: how many canvases have logits with other bits. Of those logits only the largest ones are in a digest.
    """

    logits: float | None
    canvases: int
    rewards: float | None

    def __repr__(self) -> str:
        return one_line(self)
