"""What strategies share that count or choose by scaled logits, and the choice of a recorded run."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

from rws_decode.common.later import NDArray, Tensor, np, torch
from rws_decode.strategies.factors import Confidence
from rws_decode.strategies.protocol import (
    CommittedPositions,
    Evidence,
    FactorStrategy,
    MaskedPositions,
    OrderStrategy,
    OwnCount,
    asks_reward,
)
from rws_theory.checks import finite
from rws_theory.show import one_line

# Positions whose logits are widened to float64 at once.
_CHUNK = 64


@dataclass(frozen=True, kw_only=True, repr=False)
class Counted:
    """The factor of all logits is that of another strategy, so that what counts by confidence can be scaled.

    scaled: Confidence (factor 1), Temperature, RWS or any other strategy that is a factor alone; ValueError for others.
    """

    scaled: FactorStrategy = field(default_factory=Confidence)

    def __post_init__(self) -> None:
        own = OwnCount | OrderStrategy
        if not isinstance(self.scaled, FactorStrategy) or isinstance(self.scaled, own):
            raise ValueError(f"scaled is {self.scaled!r}: a strategy with a factor is needed, such as RWS(8.0)")

    def __repr__(self) -> str:
        # One line without a default `scaled`; subclasses are made with repr=False, or dataclass would write its own.
        line = one_line(self)
        return line.replace("(scaled=Confidence(), ", "(")

    @property
    def needs_reward(self) -> bool:
        """Whether the strategy that scales asks for rewards."""
        return self.scaled.needs_reward

    def asks_reward(self, step: int) -> bool:
        """Say whether the strategy that scales asks at a step."""
        return asks_reward(self.scaled, step)

    def factor(self, view: MaskedPositions) -> NDArray[np.float64]:
        """Return the factors of the strategy that scales, [rows]."""
        return self.scaled.factor(view)


@dataclass(frozen=True, repr=False, kw_only=True, eq=False)
class RecordedChoice(Counted):
    """The positions that the steps of a run committed, whatever the logits; a run that counted is repeated by it.

    chosen: bool [B, S, n], what each of the S planned steps committed, as in the traces.

    >>> view = MaskedPositions(1, 1, 2, torch.tensor([0, 0]), torch.tensor([0, 1]))
    >>> RecordedChoice(chosen=np.array([[[False, False], [True, False]]])).choose(view).tolist()
    [True, False]
    """

    chosen: NDArray[np.bool_]
    name = "recorded-choice"

    def choose(self, view: MaskedPositions) -> Tensor:
        """Return the positions of this step, bool [N]; ValueError where rows or positions are not among them."""
        return _at_step("chosen", self.chosen, view)


@dataclass(frozen=True, repr=False, kw_only=True, eq=False)
class RecordedRevision(RecordedChoice):
    """The positions that a run committed, and those that it masked again, step by step.

    masked_again: bool [B, S, n], as in the traces.
    """

    masked_again: NDArray[np.bool_]
    name = "recorded-revision"
    evidence: ClassVar[Evidence] = "none"

    def revise(self, view: CommittedPositions) -> Tensor:
        """Return the tokens that this step masked again, bool [M]; ValueError as in `choose`."""
        return _at_step("masked_again", self.masked_again, view)


def _at_step(name: str, record: NDArray[np.bool_], view: MaskedPositions | CommittedPositions) -> Tensor:
    rows, steps, length = record.shape
    if (rows, length) != (view.rows, view.length) or view.step >= steps:
        needed = f"({view.rows}, more than {view.step}, {view.length})"
        raise ValueError(f"{name} has shape {record.shape}: {needed} is needed")
    return torch.from_numpy(record[:, view.step].copy()).to(view.row.device)[view.row, view.position]


def least_odds(threshold: float, name: str = "threshold") -> float:
    """Return the log-odds of a probability, to compare others with; ValueError for no probability between 0 and 1.

    >>> least_odds(0.5)
    0.0
    """
    finite(name, threshold, above=0, below=1, example="0.9")
    return math.log(threshold) - math.log1p(-threshold)


def entropies(logits: Tensor, scale: Tensor) -> Tensor:
    """Return the entropy of softmax(c z) of N positions, in nats, float64 [N]. logits: [N, V]; scale: c, float64 [N].

    >>> entropies(torch.tensor([[0.0, 0.0], [0.0, 1.0]]), torch.tensor([1.0, 1e6]).double()).round(decimals=4).tolist()
    [0.6931, 0.0]
    """
    parts = [
        torch.special.entr((part.double() * c[:, None]).softmax(dim=-1)).sum(dim=-1)
        for part, c in zip(logits.split(_CHUNK), scale.split(_CHUNK), strict=True)
    ]
    return torch.cat(parts)


def ranks_in_rows(values: Tensor, view: MaskedPositions) -> tuple[Tensor, Tensor]:
    """Return an order of the N positions, row by row and largest value first, and each one's rank in its row, from 0.

    Both int64 [N]; the leftmost of equals goes first.

    >>> view = MaskedPositions(0, 2, 3, torch.tensor([0, 0, 1]), torch.tensor([0, 1, 0]))
    >>> ranks_in_rows(torch.tensor([1.0, 2.0, 3.0]), view)
    (tensor([1, 0, 2]), tensor([0, 1, 0]))
    """
    order = values.argsort(descending=True, stable=True)
    order = order[view.row[order].argsort(stable=True)]
    begins = torch.searchsorted(view.row[order], view.row[order])
    return order, torch.arange(len(order), device=order.device) - begins
