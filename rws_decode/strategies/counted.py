"""Strategies that count or choose by scaled logits: what they share, and the plainest of them, a threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import partial

from rws_decode.common.later import NDArray, Tensor, np, torch
from rws_decode.strategies.factors import Confidence
from rws_decode.strategies.numbers import check_numbers, number
from rws_decode.strategies.protocol import Abilities, FactorStrategy, MaskedPositions, asks_reward, factor_alone
from rws_theory.show import one_line, quoted

# Declares what a probability is compared with.
least_probability = partial(
    number, "the least probability of what is committed", metavar="P", above=0, below=1, example="0.9"
)

# Positions whose logits are widened to float64 at once.
_CHUNK = 64


@dataclass(frozen=True, kw_only=True, repr=False)
class Counted:
    """The factor of all logits is that of another strategy, so that what counts by confidence can be scaled.

    scaled: Confidence (factor 1), Temperature, RWS or any other strategy that is a factor alone; ValueError for others.
    """

    scaled: FactorStrategy = field(default_factory=Confidence)
    abilities = Abilities(asks_at_steps=True)

    def __post_init__(self) -> None:
        if not factor_alone(self.scaled):
            raise ValueError(f"scaled is {quoted(self.scaled)}: a strategy with a factor is needed, such as RWS(8.0)")
        check_numbers(self)

    def __repr__(self) -> str:
        # One line without a default `scaled`; subclasses are made with repr=False, or dataclass would write its own.
        line = one_line(self)
        return line.replace("(scaled=Confidence(), ", "(")

    @property
    def needs_reward(self) -> bool:
        return self.scaled.needs_reward

    def asks_reward(self, step: int) -> bool:
        return asks_reward(self.scaled, step)

    def factor(self, view: MaskedPositions) -> NDArray[np.float64]:
        return self.scaled.factor(view)


def least_odds(threshold: float) -> float:
    """Return the log-odds of a probability, to compare others with."""
    return math.log(threshold) - math.log1p(-threshold)


def likely(view: MaskedPositions, threshold: float) -> Tensor:
    """Return how many positions of each row have a probability of `threshold` or more, int64 [rows]."""
    return in_rows(view.log_odds >= least_odds(threshold), view.row, view.rows)


@dataclass(frozen=True, repr=False)
class Threshold(Counted):
    r"""Commit all positions of probability tau or more, and the most confident one in any case.

    threshold: tau in (0, 1), of the candidate's probability under the scaled logits; compared as log-odds, so that
    positions whose probability rounds to 1 are told from tau below 1 by their margin. A larger factor commits more:
    confidence rises with the scale, so that each position passes tau at most once. [MASK] has no share in the
    probability; with `Options(ranking="topk")` it has, as in the authors' code.

    >>> rule = Threshold(0.9)
    >>> odds = torch.tensor([3.0, 1.0, 2.5], dtype=torch.float64)
    >>> rule.count(MaskedPositions(0, 1, 3, torch.zeros(3, dtype=torch.int64), torch.arange(3), log_odds=odds)).tolist()
    [2]
    """

    threshold: float = least_probability(usual=0.9)
    name = "threshold"
    abilities = replace(Counted.abilities, counts=True)

    def count(self, view: MaskedPositions) -> Tensor:
        return likely(view, self.threshold)


def entropies(logits: Tensor, scale: Tensor) -> Tensor:
    """Return the entropy of softmax(c z) of N positions, in nats, float64 [N]. logits: [N, V]; scale: c, [N]."""
    parts = [
        torch.special.entr((part.double() * c[:, None]).softmax(dim=-1)).sum(dim=-1)
        for part, c in zip(logits.split(_CHUNK), scale.split(_CHUNK), strict=True)
    ]
    return torch.cat(parts)


def in_rows(holds: Tensor, row: Tensor, rows: int) -> Tensor:
    """Return in how many positions of each row a condition holds, int64 [rows]. holds: bool [N]; row: int64 [N]."""
    return torch.zeros(rows, dtype=torch.int64, device=row.device).index_add(0, row, holds.long())


def near(value: Tensor, off: Tensor, inside: Tensor, row: Tensor) -> Tensor:
    """Return which of N values that are off rounding could carry across the cut of their row, bool [N].

    inside: bool [N], those on the side of the least values.
    """
    ends = value.new_full((2, int(row.max()) + 1 if len(row) else 0), torch.inf)
    roof = -ends[0].scatter_reduce(0, row, torch.where(inside, -value - off, torch.inf), "amin")
    floor = ends[1].scatter_reduce(0, row, torch.where(inside, torch.inf, value - off), "amin")
    return torch.where(inside, value + off >= floor[row], value - off <= roof[row])


def ranks_in_rows(values: Tensor, row: Tensor) -> Tensor:
    """Return the rank of each of N positions in its row, from 0, the largest value first, int64 [N].

    Of equals the first goes first. row: int64 [N].
    """
    order = values.argsort(descending=True, stable=True)
    order = order[row[order].argsort(stable=True)]
    begins = torch.searchsorted(row[order], row[order])
    return torch.empty_like(order).index_put((order,), torch.arange(len(order), device=order.device) - begins)
