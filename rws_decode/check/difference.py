"""What differs between two digests, as data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from html import escape
from typing import Any, Literal

from rws_decode.check.digest import Digest, Fact
from rws_theory.show import clipped, one_line

__all__ = ["DigestDiff", "FactChange", "Kind", "LastDigits", "ModelChange", "RowChange"]

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


@dataclass(frozen=True, repr=False)
class DigestDiff:
    """How a digest made here differs from one made there. Print it for the plain words.

    models, rows: the differences. last_digits: None where all bits are the same. context: what else is not the same of
    the two machines, which is no difference by itself. not_compared: what one digest alone has. near_steps: the share
    of steps with a tie or near-tie, there and here.
    """

    there: Digest
    here: Digest
    models: tuple[ModelChange, ...]
    rows: tuple[RowChange, ...]
    last_digits: LastDigits | None
    context: tuple[FactChange, ...]
    not_compared: tuple[str, ...]
    compared: int
    near_steps: tuple[float, float]

    @property
    def same(self) -> bool:
        """Return whether model and tokens are the same; last digits and the machine may differ."""
        return not self.models and not self.rows

    def __repr__(self) -> str:
        if self.same:
            digits = "no bit differs" if self.last_digits is None else "only last digits differ"
            return clipped(f"DigestDiff(the same in {self.compared} decodes, {digits})")
        kinds = ", ".join(dict.fromkeys(each.kind for each in (*self.models, *self.rows)))
        return clipped(f"DigestDiff({kinds} differ; print it for the rest)")

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def __str__(self) -> str:
        from rws_decode.check.words import difference_text

        return difference_text(self)

    def as_json(self) -> dict[str, Any]:
        """Return the difference as JSON-ready data; each difference has its kind."""
        return {
            "same": self.same,
            "differences": [asdict(each) for each in (*self.models, *self.rows)],
            "last_digits": None if self.last_digits is None else asdict(self.last_digits),
            "context": [asdict(each) for each in self.context],
            "not_compared": list(self.not_compared),
            "decodes": self.compared,
            "near_steps": list(self.near_steps),
        }
