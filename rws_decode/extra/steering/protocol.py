"""The interface of a steering method: how many copies of a decode it needs, and how it runs and chooses them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rws_decode.strategies.numbers import check_numbers, number
from rws_theory.checks import whole

if TYPE_CHECKING:
    from rws_decode.extra.steering.ensemble import Ensemble

__all__ = ["Choice", "SteeringMethod"]


class Choice(NamedTuple):
    """The result of a method: the copy that it chooses for each prompt, int64 [P].

    log_partition: float64 [P], its estimate of ln E[exp(beta R)] over texts of the base sampler, nats, or None.
    """

    copy: NDArray[np.int64]
    log_partition: NDArray[np.float64] | None = None


@runtime_checkable
class SteeringMethod(Protocol):
    """A way to use a reward besides scaling logits. Methods are frozen dataclasses; their numbers go into the trace."""

    @property
    def name(self) -> str: ...

    @property
    def copies(self) -> int:
        """How many copies of each prompt are decoded in lock-step."""
        ...

    @property
    def draws(self) -> bool:
        """Whether copies must differ by sampling: the temperature is above 0 then, else 0."""
        ...

    @property
    def orders(self) -> bool:
        """Whether copies differ by their order: the strategy then has random numbers of its own in each copy."""
        ...

    def forwards(self, steps: int) -> int:
        """Return the most forwards that a prompt takes over so many steps."""
        ...

    def reward_calls(self, steps: int) -> int:
        """Return the most texts that are scored for a prompt over so many steps, a gradient counting as one."""
        ...

    def run(self, ensemble: Ensemble) -> Choice:
        """Decode all copies to their end and choose one for each prompt."""
        ...


@dataclass(frozen=True)
class Copies:
    """N copies of each prompt that differ by sampling. beta, of those that have it: per unit of the raw reward.

    ValueError for numbers outside of the ranges that their fields declare.
    """

    n: int = number("copies, or draws", metavar="N", usual=8, least=1)
    draws = True
    orders = False

    def __post_init__(self) -> None:
        whole("n", self.n, example=f"{type(self).__name__}(8)")
        check_numbers(self)

    @property
    def copies(self) -> int:
        return self.n

    def forwards(self, steps: int) -> int:
        """Return the most forwards of a prompt: the first canvas is one, and a value's logits are the next step's."""
        return 1 + self.n * (steps - 1)

    def reward_calls(self, steps: int) -> int:
        """Return the most texts of a prompt: the first canvas has one, and each copy one after each step."""
        return self.forwards(steps + 1)
