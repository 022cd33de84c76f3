"""CreditDecoding: a token that was the best one in the steps before needs less probability now."""

from __future__ import annotations

from dataclasses import dataclass

from rws_decode.strategies.numbers import number
from rws_decode.strategies.parallel import Threshold
from rws_theory.checks import finite


@dataclass(frozen=True, repr=False)
class Credit(Threshold):
    r"""Commit all positions of probability tau or more under z + weight log(1 + C), the most confident one in any case.

    C is the credit of a token at a position of the current block: at each step of the block it is multiplied by
    `decay`, and the best token gains p^boost, p its probability under z. Numbers and rule are those of the authors'
    engine (inclusionAI/dInfer fce4e32 parallel_strategy.py, CreditThresholdParallelDecoder; arXiv 2510.06133).
    The credit can also change which token is the best.
    """

    weight: float = 0.7
    boost: float = 0.2
    decay: float = 0.8
    name = "credit"

    def __post_init__(self) -> None:
        super().__post_init__()
        finite("weight", self.weight, least=0)
        finite("boost", self.boost, least=0)
        finite("decay", self.decay, least=0)
