"""Orders: margin, entropy, random, left to right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rws_decode.common.arguments import check_seeds, per_seed
from rws_decode.common.later import Tensor, np, torch
from rws_decode.strategies.numbers import check_numbers, checked
from rws_decode.strategies.protocol import Abilities, MaskedPositions
from rws_theory.checks import finite, one_of
from rws_theory.show import one_line


@dataclass(frozen=True)
class Margin:
    """The most decided positions first, by the gap between the two best tokens.

    of: "probability", softmax in float64, first minus second, the margin of Kim et al. 2025 ("Train for the Worst, Plan
    for the Best"); or "logit", which does not saturate and orders alike at any factor. inf where one token alone is
    possible ("logit"), or 1.

    >>> z = torch.tensor([[0.0, 1.0, 3.0], [0.0, 2.9, 3.0]])
    >>> view = MaskedPositions(0, 1, 2, torch.tensor([0, 0]), torch.tensor([0, 1]), z, z.argmax(-1), None)
    >>> Margin("logit").order(view).tolist() == [2.0, 3.0 - float(z[1, 1])]
    True
    """

    of: Literal["probability", "logit"] = checked("probability", one_of, choices=("probability", "logit"))
    name = "margin"
    needs_reward = False
    __post_init__ = check_numbers

    def order(self, view: MaskedPositions) -> Tensor:
        scores = view.logits.double()
        if self.of == "probability":
            scores = scores.softmax(dim=-1)
        if scores.shape[-1] == 1:
            return torch.full_like(scores[:, 0], 1.0 if self.of == "probability" else float("inf"))
        best = scores.topk(2, dim=-1).values
        return best[:, 0] - best[:, 1]


@dataclass(frozen=True)
class Entropy:
    """The most certain positions first, by least Shannon entropy of softmax(z), in nats, float64.

    >>> z = torch.tensor([[0.0, 0.0], [0.0, 4.0]])
    >>> view = MaskedPositions(0, 1, 2, torch.tensor([0, 0]), torch.tensor([0, 1]), z, z.argmax(-1), None)
    >>> Entropy().order(view).round(decimals=4).tolist()
    [-0.6931, -0.0901]
    """

    name = "entropy"
    needs_reward = False
    # The gradient's absolute sum is at most the SD of the surprisal, below 7 nats for a million tokens
    # (Reeb and Wolf 2015: its variance is below log(V - 1)^2 / 4 + 1).
    abilities = Abilities(sensitivity=7.0)

    def order(self, view: MaskedPositions) -> Tensor:
        return -torch.special.entr(view.logits.double().softmax(dim=-1)).sum(dim=-1)


@dataclass(frozen=True)
class RandomOrder:
    """A uniformly random order within each block: position p goes by u, the p-th number of default_rng(seed).random.

    seed: one number or a tuple with one per row. With one number all rows share one order, so that a prompt's answer
    does not depend on its batch; the same seed gives the same output. window: positions go by p + window u instead, so
    that no position goes before another that is `window` or more to its left. ValueError for a window that is not
    positive and finite.

    >>> view = MaskedPositions(0, 1, 3, torch.tensor([0, 0]), torch.tensor([0, 2]), torch.zeros(2, 4), None, None)
    >>> RandomOrder(1).order(view).tolist() == np.random.default_rng(1).random(3)[[0, 2]].tolist()
    True
    """

    seed: int | tuple[int, ...] = checked(0, check_seeds)
    window: float | None = None
    name = "random-order"
    needs_reward = False
    abilities = Abilities(sensitivity=0.0)

    __repr__ = one_line

    def __post_init__(self) -> None:
        check_numbers(self)
        if self.window is not None:
            finite("window", self.window, above=0)

    def order(self, view: MaskedPositions) -> Tensor:
        """Return a number for each position, the same at every step, in [0, 1) without a window; float64 [N]."""
        table = per_seed(self.seed, view.rows, lambda seed: np.random.default_rng(seed).random(view.length))
        if self.window is not None:
            table = -np.arange(view.length) - self.window * table
        return torch.from_numpy(table).to(view.position.device)[view.row, view.position]


@dataclass(frozen=True)
class LeftToRight:
    """The leftmost masked positions first: autoregressive order, as many tokens at once as a step commits.

    >>> view = MaskedPositions(0, 1, 3, torch.tensor([0, 0]), torch.tensor([0, 2]), torch.zeros(2, 4), None, None)
    >>> LeftToRight().order(view).tolist()
    [0.0, -2.0]
    """

    name = "left-to-right"
    needs_reward = False
    abilities = Abilities(sensitivity=0.0)

    def order(self, view: MaskedPositions) -> Tensor:
        return 0.0 - view.position.double()
