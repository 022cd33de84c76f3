"""Step 3: the factor of all logits: 1 (confidence), fixed (temperature), or from the reward (RWS)."""

from __future__ import annotations

from dataclasses import dataclass

import rws_theory
from rws_decode.common.arguments import per_row, use_plain_numbers
from rws_decode.common.later import Floats, Tensor, np
from rws_decode.strategies.numbers import number
from rws_decode.strategies.protocol import Abilities, MaskedPositions
from rws_theory.checks import finite
from rws_theory.show import one_line


@dataclass(frozen=True)
class Confidence:
    """Plain confidence decoding: factor 1 at every step (the paper's Default).

    >>> Confidence().factor(MaskedPositions(step=0, rows=2)).tolist()
    [1.0, 1.0]
    """

    name = "default"
    needs_reward = False

    def factor(self, view: MaskedPositions) -> Floats:
        return np.ones(view.rows)


@dataclass(frozen=True)
class Temperature:
    """A fixed factor: softmax(c z), an inverse temperature c (the paper's "temperature scaling" baseline).

    scale: c, positive and finite; one number, or a tuple with one per row. ValueError otherwise.

    >>> Temperature(2.0).factor(MaskedPositions(step=0, rows=2)).tolist()
    [2.0, 2.0]
    """

    scale: float | tuple[float, ...] = number("fixed factor, also of what counts", metavar="C", usual=4.0, above=0)
    name = "temperature"
    needs_reward = False

    __repr__ = one_line

    def __post_init__(self) -> None:
        use_plain_numbers(self)
        for value in self.scale if isinstance(self.scale, tuple) else (self.scale,):
            finite("scale", value, above=0)

    def factor(self, view: MaskedPositions) -> Floats:
        """Return the scale, [rows]; ValueError where a tuple of scales has another length."""
        return per_row("scale", self.scale, view.rows)


@dataclass(frozen=True)
class RWS:
    """Reward-weighted sampling: factor s_R sqrt(sigmoid(r) + eps) of the normalised reward r (Step 3 of the paper).

    reward_scale: s_R, positive; eps: positive. The factor lies between s_R sqrt(eps) and s_R sqrt(1 + eps).

    >>> RWS(8.0).factor(MaskedPositions(0, rows=2, reward=np.array([0.0, 3.0]))).round(3).tolist()
    [5.657, 7.808]
    """

    reward_scale: float = number("reward scale s_R, also of what counts", metavar="S", usual=4.0, above=0)
    eps: float = 1e-5
    name = "rws"
    needs_reward = True
    abilities = Abilities(factor_range=True, tensor_factor=True)

    def __post_init__(self) -> None:
        use_plain_numbers(self)
        finite("reward_scale", self.reward_scale, above=0)
        finite("eps", self.eps, above=0)

    def factor(self, view: MaskedPositions) -> Floats:
        """Return the factor of each normalised reward, [rows]; ValueError without rewards."""
        if view.reward is None:
            raise ValueError(f"reward is None: {self.name} needs the normalised reward of every row")
        return rws_theory.reward_factor(view.reward, self.reward_scale, self.eps)

    def tensor_factor(self, reward: Tensor) -> Tensor:
        """Return the same factors of normalised rewards that stay on their device; NaN of NaN."""
        return self.reward_scale * (reward.sigmoid() + self.eps).sqrt()

    def factor_range(self, low: float, high: float) -> tuple[float, float]:
        """Return the least and greatest factor of the rewards in [low, high], -inf and inf allowed, rounded outward."""
        ends = rws_theory.factor_range(self.reward_scale, self.eps)
        least, most = (float(rws_theory.reward_factor(reward, self.reward_scale, self.eps)) for reward in (low, high))
        return max(ends[0], least * (1 - 1e-14)), min(ends[1], most * (1 + 1e-14))  # it is accurate to a few ulp
