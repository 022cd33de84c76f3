"""What methods of several copies share: how many there are, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass

from rws_decode.strategies.numbers import number
from rws_theory.checks import whole


@dataclass(frozen=True)
class Copies:
    """N copies of each prompt that differ by sampling. ValueError unless n is a whole number, at least 1."""

    n: int = number("copies, or draws", metavar="N", usual=8)
    draws = True

    def __post_init__(self) -> None:
        whole("n", self.n, example=f"{type(self).__name__}(8)")

    @property
    def copies(self) -> int:
        """How many copies are decoded in lock-step."""
        return self.n

    def forwards(self, steps: int) -> int:
        """Return the most forwards of a prompt: the first canvas is one, and a value's logits are the next step's."""
        return 1 + self.n * (steps - 1)
