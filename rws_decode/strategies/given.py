"""Strategies that replay a recorded run, as it was or changed: factors, rewards, order or choice by step."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from rws_decode.common.arguments import per_row
from rws_decode.common.later import Floats, NDArray, Tensor, np, torch
from rws_decode.strategies.counted import Counted
from rws_decode.strategies.factors import RWS
from rws_decode.strategies.protocol import Abilities, CommittedPositions, MaskedPositions
from rws_theory.show import one_line


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

    __repr__ = one_line

    def __post_init__(self) -> None:
        _check_table("factors", self.factors, positive=True)

    def factor(self, view: MaskedPositions) -> Floats:
        return _at_step("factors", self.factors, view.step, view.rows)


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

    __repr__ = one_line

    def __post_init__(self) -> None:
        RWS(self.reward_scale, self.eps)  # checks both
        _check_table("rewards", self.rewards, positive=False)

    def factor(self, view: MaskedPositions) -> Floats:
        given = _at_step("rewards", self.rewards, view.step, view.rows)
        return RWS(self.reward_scale, self.eps).factor(view._replace(reward=given))


@dataclass(frozen=True, eq=False)
class RecordedOrder:
    """The ranking values of a recorded run, whatever the logits: repeats a run whose order was a strategy's own.

    values: float64 [B, S, n], as in the traces. ValueError where step, rows or positions are not among them.

    >>> view = MaskedPositions(0, 1, 2, torch.tensor([0]), torch.tensor([1]), torch.zeros(1, 4), None, None)
    >>> RecordedOrder(np.array([[[0.5, 0.25]]])).order(view).tolist()
    [0.25]
    """

    values: NDArray[np.float64]
    name = "recorded-order"
    needs_reward = False
    abilities = Abilities(sensitivity=0.0)

    __repr__ = one_line

    def __post_init__(self) -> None:
        if self.values.ndim != 3 or bool(np.isnan(self.values).any()):
            raise ValueError(f"values has shape {self.values.shape}: numbers [rows, steps, positions] are needed")

    def order(self, view: MaskedPositions) -> Tensor:
        return _recorded("values", self.values, view)


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
    abilities = replace(Counted.abilities, chooses=True)

    def choose(self, view: MaskedPositions) -> Tensor:
        """Return the positions of this step, bool [N]; ValueError where rows or positions are not among them."""
        return _recorded("chosen", self.chosen, view)


@dataclass(frozen=True, repr=False, kw_only=True, eq=False)
class RecordedRevision(RecordedChoice):
    """The positions that a run committed, and those that it masked again, step by step.

    masked_again: bool [B, S, n], as in the traces.
    """

    masked_again: NDArray[np.bool_]
    name = "recorded-revision"
    abilities = replace(RecordedChoice.abilities, revises="none")

    def revise(self, view: CommittedPositions) -> Tensor:
        """Return the tokens that this step masked again, bool [M]; ValueError as in `choose`."""
        return _recorded("masked_again", self.masked_again, view)


def _recorded(name: str, record: NDArray[Any], view: MaskedPositions | CommittedPositions) -> Tensor:
    """Return what a record [rows, steps, positions] holds of the view's step and positions, [N]."""
    rows, steps, length = record.shape
    if (rows, length) != (view.rows, view.length) or view.step >= steps:
        needed = f"({view.rows}, more than {view.step}, {view.length})"
        raise ValueError(f"{name} has shape {record.shape}: {needed} is needed")
    return torch.from_numpy(record[:, view.step].copy()).to(view.row.device)[view.row, view.position]


def _check_table(name: str, table: tuple[Any, ...], *, positive: bool) -> None:
    """Raise ValueError unless the table is a tuple of numbers, one per step, or of such tuples, one per row."""
    rows = table if isinstance(table, tuple) and table and isinstance(table[0], tuple) else (table,)
    if any(not isinstance(row, tuple) or not row or len(row) != len(rows[0]) for row in rows):
        raise ValueError(
            f"{name} must be a tuple of numbers, one per step, or a tuple of equally long ones, one per row"
        )
    for value in (value for row in rows for value in row):
        if not math.isfinite(value) or (positive and value <= 0):
            raise ValueError(f"{name} holds {value!r}: each must be {'positive and ' if positive else ''}finite")


def _at_step(name: str, table: tuple[Any, ...], step: int, rows: int) -> Floats:
    """Return a table's values at one step, [rows]; ValueError beyond its steps."""
    grid = np.asarray(table, dtype=np.float64)
    if not 0 <= step < grid.shape[-1]:
        raise ValueError(f"{name} has {grid.shape[-1]} steps: step {step} (from 0) was asked for")
    return per_row(name, tuple(grid[:, step]) if grid.ndim == 2 else float(grid[step]), rows)
