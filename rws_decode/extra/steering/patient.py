
from dataclasses import dataclass

from rws_decode.extra.steering.best_of import BestOf
from rws_decode.strategies.numbers import number


@dataclass(frozen=True)
class Patient(BestOf):
    """The best of N draws."""

    rounds: int = number("rounds", metavar="N", default=1)
    name = "patient"
