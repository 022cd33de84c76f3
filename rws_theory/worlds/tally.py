"""How often one decoding earns more reward than another, with exact intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from scipy.special import betainccinv, betaincinv

from rws_theory.show import one_line

__all__ = ["RewardTally", "clopper_pearson"]


@dataclass(frozen=True)
class RewardTally:
    """How many models gave RWS `more`, `equal` or `less` reward than the decoding called `against`."""

    against: str
    more: int
    equal: int
    less: int

    __repr__ = one_line

    @property
    def models(self) -> int:
        """Return the number of models."""
        return self.more + self.equal + self.less

    def interval(self, outcome: Literal["more", "equal", "less"], confidence: float = 0.95) -> tuple[float, float]:
        """Return the Clopper-Pearson interval of the outcome's probability in the ensemble: coverage >= `confidence`.

        The tail beyond each end is (1 - confidence) / 2 to ten digits, up to what the rounding of the ends makes of it.

        >>> [round(x, 3) for x in RewardTally("confidence", more=30, equal=50, less=20).interval("more")]
        [0.212, 0.4]
        """
        return clopper_pearson(getattr(self, outcome), self.models, confidence)

    def more_if_different(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the Clopper-Pearson interval of P(more | not equal): (0, 1) where all are equal.

        RWS beats the other decoding with this confidence if the interval lies above 1/2, and loses if it lies below.

        >>> [round(x, 3) for x in RewardTally("confidence", more=30, equal=50, less=20).more_if_different()]
        [0.452, 0.736]
        """
        return clopper_pearson(self.more, self.more + self.less, confidence)


def clopper_pearson(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the Clopper-Pearson interval of a probability from `successes` in `trials`: coverage >= `confidence`.

    >>> [round(x, 3) for x in clopper_pearson(30, 100)]
    [0.212, 0.4]
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}")
    tail, failures = (1 - confidence) / 2, trials - successes
    low = float(betaincinv(successes, failures + 1, tail)) if successes else 0.0
    return low, float(betainccinv(successes + 1, failures, tail)) if failures else 1.0
