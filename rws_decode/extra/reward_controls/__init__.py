"""Rewards asked less often, turned around or made up: what tells a reward's effect from that of its factor."""

from __future__ import annotations

from dataclasses import dataclass

from rws_decode.common.arguments import check_seeds, per_seed
from rws_decode.common.later import Floats, Tensor, np
from rws_decode.strategies.factors import RWS
from rws_decode.strategies.numbers import check_numbers, checked, number
from rws_decode.strategies.protocol import Abilities, MaskedPositions
from rws_theory.show import one_line


@dataclass(frozen=True)
class RWSEvery:
    """RWS with the reward asked at steps 0, every, 2 every, ... only: the paper's frequency ablation.

    Between calls the factor is 1, that of confidence decoding, as the ablation implies: the rarer the calls, the nearer
    the GOD is to that of confidence decoding. every: 1 is RWS itself; reward_scale and eps: as in RWS.

    >>> rule = RWSEvery(8.0, every=2)
    >>> [rule.asks_reward(step) for step in range(3)], rule.factor(MaskedPositions(step=1, rows=1)).tolist()
    ([True, False, True], [1.0])
    """

    reward_scale: float = number("reward scale s_R, also of what counts", metavar="S", usual=4.0, above=0)
    every: int = number("ask the reward every N steps", metavar="N", usual=2, least=1)
    eps: float = checked(1e-5, above=0)
    name = "rws-every"
    about = "rws that asks the reward at every --every-th step"
    abilities = Abilities(asks_at_steps=True, factor_range=True, tensor_factor=True)
    needs_reward = True
    __post_init__ = check_numbers

    @property
    def rws(self) -> RWS:
        """The rule at the steps that ask for a reward."""
        return RWS(self.reward_scale, self.eps)

    def asks_reward(self, step: int) -> bool:
        return step % self.every == 0

    def factor(self, view: MaskedPositions) -> Floats:
        return self.rws.factor(view) if self.asks_reward(view.step) else np.ones(view.rows)

    def tensor_factor(self, reward: Tensor) -> Tensor:
        return self.rws.tensor_factor(reward)

    def factor_range(self, low: float, high: float) -> tuple[float, float]:
        return self.rws.factor_range(low, high)


@dataclass(frozen=True)
class FlippedReward(RWS):
    """RWS of the reward with its sign turned: factor s_R sqrt(sigmoid(-r) + eps).

    >>> FlippedReward(8.0).factor(MaskedPositions(0, rows=1, reward=np.array([-3.0]))).round(3).tolist()
    [7.808]
    """

    name = "rws-flipped"
    about = "rws of minus the reward"

    def factor(self, view: MaskedPositions) -> Floats:
        return super().factor(view if view.reward is None else view._replace(reward=-view.reward))

    def tensor_factor(self, reward: Tensor) -> Tensor:
        return super().tensor_factor(-reward)

    def factor_range(self, low: float, high: float) -> tuple[float, float]:
        return super().factor_range(-high, -low)


@dataclass(frozen=True)
class RandomReward:
    """RWS of standard normal noise in place of the normalised reward: no reward model is asked.

    At step t the reward is default_rng([seed, t]).standard_normal(). seed: one number, then all rows have the same
    rewards and no answer depends on the batch, or a tuple with one per row. reward_scale and eps: as in RWS.

    >>> RandomReward(8.0, seed=(3, 3)).factor(MaskedPositions(step=5, rows=2)).round(3).tolist()
    [5.841, 5.841]
    """

    reward_scale: float = number("reward scale s_R, also of what counts", metavar="S", usual=4.0, above=0)
    seed: int | tuple[int, ...] = checked(0, check_seeds)
    eps: float = checked(1e-5, above=0)
    name = "rws-random"
    about = "rws of normal noise instead of a reward"
    needs_reward = False

    __repr__ = one_line
    __post_init__ = check_numbers

    def factor(self, view: MaskedPositions) -> Floats:
        noise = per_seed(self.seed, view.rows, lambda seed: np.random.default_rng([seed, view.step]).standard_normal())
        return RWS(self.reward_scale, self.eps).factor(view._replace(reward=noise))
