"""Strategies whose factors or rewards are given step by step: what an RWS run did, again or changed."""

from __future__ import annotations

from dataclasses import dataclass

import rws_theory
from rws_decode.common.arguments import at_step, check_table
from rws_decode.common.later import Floats
from rws_decode.strategies.protocol import MaskedPositions
from rws_theory.checks import finite
from rws_theory.show import one_line

__all__ = ["RewardReplay", "Schedule"]


@dataclass(frozen=True)
class Schedule:
    """Factors given step by step, e.g. those that an RWS run recorded; no reward is asked.

    factors: a tuple with one positive factor per step, or one such tuple per row. ValueError otherwise, and where a
    step beyond the last or another number of rows is asked for.

    >>> Schedule((1.0, 2.0)).factor(MaskedPositions(step=1, rows=2)).tolist()
    [2.0, 2.0]
    """

    factors: tuple[float, ...] | tuple[tuple[float, ...], ...]
    name = "schedule"
    needs_reward = False

    def __repr__(self) -> str:
        return one_line(self)

    def __post_init__(self) -> None:
        check_table("factors", self.factors, positive=True)

    def factor(self, view: MaskedPositions) -> Floats:
        """Return the factors of this step, [rows]."""
        return at_step("factors", self.factors, view.step, view.rows)


@dataclass(frozen=True)
class RewardReplay:
    """The RWS factor of given normalised rewards instead of the candidate's own: a control; no reward is asked.

    With the rewards of an RWS run in another order (`shuffled`) the factors keep their distribution and lose their
    link to the text. reward_scale, eps: as in RWS; rewards: one per step, or one such tuple per row.

    >>> RewardReplay(8.0, (0.0, 3.0)).factor(MaskedPositions(step=1, rows=1)).round(3).tolist()
    [7.808]
    """

    reward_scale: float
    rewards: tuple[float, ...] | tuple[tuple[float, ...], ...]
    eps: float = 1e-5
    name = "reward-replay"
    needs_reward = False

    def __repr__(self) -> str:
        return one_line(self)

    def __post_init__(self) -> None:
        finite("reward_scale", self.reward_scale, above=0)
        finite("eps", self.eps, above=0)
        check_table("rewards", self.rewards, positive=False)

    def factor(self, view: MaskedPositions) -> Floats:
        """Return the factors of this step's given rewards, [rows]."""
        given = at_step("rewards", self.rewards, view.step, view.rows)
        return rws_theory.reward_factor(given, self.reward_scale, self.eps)
