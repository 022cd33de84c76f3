"""Strategies: what one is, and those that multiply the logits: confidence, temperature, RWS, controls of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from rws_decode.common.arguments import at_step, check_positive, check_table, per_row
from rws_decode.strategies.orders import MaskedPositions, RecordedOrder
from rws_decode.trace.trace import NOT_NEEDED, Trace
from rws_theory.gain import factor_range, reward_factor

__all__ = [
    "RWS",
    "Confidence",
    "FactorStrategy",
    "OrderStrategy",
    "RewardReplay",
    "Schedule",
    "Strategy",
    "Temperature",
    "asks_reward",
    "constant_of",
    "describe",
    "recorded",
    "shuffled",
]

Floats = NDArray[np.float64]


@runtime_checkable
class FactorStrategy(Protocol):
    """A rule for the factor c that multiplies all logits of a row at a step; positions go by their confidence then.

    `needs_reward` says whether the candidate text is scored at every step, or at those for which `asks_reward(step)` is
    true, where a strategy has that method; `name` goes into traces. A method `factor_range(low, high)`, the least and
    greatest factor that normalised rewards in [low, high] can give, lets rewards be left out where they cannot matter
    (`savings.Savings`).
    Implementations are frozen dataclasses, whose numbers `describe` puts into the trace.
    """

    @property
    def name(self) -> str: ...

    @property
    def needs_reward(self) -> bool: ...

    def factor(self, view: MaskedPositions) -> Floats:
        """Return each row's factor, float64 [rows], positive. Rows that have left the batch are not looked at."""
        ...


@runtime_checkable
class OrderStrategy(Protocol):
    """A rule for the order in which positions are committed, largest value first; the factor is 1.

    `name`, `needs_reward` and `asks_reward` as in FactorStrategy. An attribute `sensitivity`, 2 where there is none,
    bounds how far a value moves if every logit of its position moves by at most 1: near-ties are counted by it.
    """

    @property
    def name(self) -> str: ...

    @property
    def needs_reward(self) -> bool: ...

    def order(self, view: MaskedPositions) -> Tensor:
        """Return a ranking value for each of the N positions, [N], not NaN; ties go to the leftmost."""
        ...


Strategy = FactorStrategy | OrderStrategy


def asks_reward(strategy: Strategy, step: int) -> bool:
    """Return whether the candidate text is scored at a step.

    >>> [asks_reward(rule, 0) for rule in (Confidence(), RWS(8.0))]
    [False, True]
    """
    asks = getattr(strategy, "asks_reward", None)
    return strategy.needs_reward and (asks is None or bool(asks(step)))


@dataclass(frozen=True)
class Confidence:
    """Plain confidence decoding: factor 1 at every step (the paper's Default).

    >>> Confidence().factor(MaskedPositions(step=0, rows=2)).tolist()
    [1.0, 1.0]
    """

    name = "default"
    needs_reward = False

    def factor(self, view: MaskedPositions) -> Floats:
        """Return ones, [rows]."""
        return np.ones(view.rows)


@dataclass(frozen=True)
class Temperature:
    """A constant factor: softmax(c z), an inverse temperature c (the paper's "temperature scaling" baseline).

    scale: c, positive and finite; one number, or a tuple with one per row. ValueError otherwise.

    >>> Temperature(2.0).factor(MaskedPositions(step=0, rows=2)).tolist()
    [2.0, 2.0]
    """

    scale: float | tuple[float, ...]
    name = "temperature"
    needs_reward = False

    def __post_init__(self) -> None:
        for value in self.scale if isinstance(self.scale, tuple) else (self.scale,):
            check_positive("scale", value)

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

    reward_scale: float
    eps: float = 1e-5
    name = "rws"
    needs_reward = True

    def __post_init__(self) -> None:
        check_positive("reward_scale", self.reward_scale)
        check_positive("eps", self.eps)

    def factor(self, view: MaskedPositions) -> Floats:
        """Return the factor of each normalised reward, [rows]; ValueError without rewards."""
        return rws_factor(self.name, view.reward, self.reward_scale, self.eps)

    def tensor_factor(self, reward: Tensor) -> Tensor:
        """Return the same factors of normalised rewards that stay on their device."""
        return tensor_factors(reward, self.reward_scale, self.eps)

    def factor_range(self, low: float, high: float) -> tuple[float, float]:
        """Return the least and greatest factor of the rewards in [low, high], -inf and inf allowed, rounded outward."""
        return reward_factors(self.reward_scale, self.eps, low, high)


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

    def __post_init__(self) -> None:
        check_positive("reward_scale", self.reward_scale)
        check_positive("eps", self.eps)
        check_table("rewards", self.rewards, positive=False)

    def factor(self, view: MaskedPositions) -> Floats:
        """Return the factors of this step's given rewards, [rows]."""
        given = at_step("rewards", self.rewards, view.step, view.rows)
        return reward_factor(given, self.reward_scale, self.eps)


def rws_factor(name: str, reward: Floats | None, reward_scale: float, eps: float) -> Floats:
    """Return the RWS factors of normalised rewards, [rows]; ValueError, naming the strategy, without rewards.

    >>> rws_factor("rws", np.array([0.0]), 8.0, 1e-5).round(3).tolist()
    [5.657]
    """
    if reward is None:
        raise ValueError(f"reward is None: {name} needs the normalised reward of every row")
    return reward_factor(reward, reward_scale, eps)


def tensor_factors(reward: Tensor, reward_scale: float, eps: float) -> Tensor:
    """Return the RWS factors of normalised rewards, float64, where they are; NaN of NaN: nothing is looked at.

    >>> import torch
    >>> tensor_factors(torch.zeros(1, dtype=torch.float64), 8.0, 1e-5).round(decimals=3).tolist()
    [5.657]
    """
    return reward_scale * (reward.sigmoid() + eps).sqrt()


def reward_factors(reward_scale: float, eps: float, low: float, high: float) -> tuple[float, float]:
    """Return the least and greatest RWS factor of the normalised rewards in [low, high], rounded outward.

    >>> [round(factor, 6) for factor in reward_factors(8.0, 1e-5, -np.inf, 0.0)]
    [0.025298, 5.656911]
    """
    ends = factor_range(reward_scale, eps)
    least, most = (float(reward_factor(reward, reward_scale, eps)) for reward in (low, high))
    # The factor is accurate to a few ulp.
    return max(ends[0], least * (1 - 1e-14)), min(ends[1], most * (1 + 1e-14))


def describe(strategy: Strategy) -> dict[str, Any]:
    """Return the strategy as JSON-ready data: its name and its numbers; what is given per step stays in the trace.

    A strategy that is not a dataclass is described by its name alone.

    >>> describe(RWS(8.0))
    {'name': 'rws', 'reward_scale': 8.0, 'eps': 1e-05}
    """
    numbers = (
        {field.name: getattr(strategy, field.name) for field in fields(strategy)} if is_dataclass(strategy) else {}
    )
    return {"name": strategy.name} | {
        key: value for key, value in numbers.items() if isinstance(value, int | float | str)
    }


def recorded(traces: Trace | Sequence[Trace]) -> Schedule | RecordedOrder:
    """Return what a run did, as a strategy: decoding with it repeats the run without its rewards.

    The factors that it applied as a Schedule, the last one again for steps that were planned and not run; or a
    RecordedOrder, of its ranking values where the order was the strategy's own (-inf where they are not kept, as they
    were not among the best), and of minus the commit steps where a trace of the batch has steps whose reward was not
    needed: no factor is known there, but the order repeats the sets exactly. traces: one trace, or those of a batch in
    the order of its rows. ValueError for a batch of factors and own orders.

    >>> from rws_decode.decode import decode
    >>> from rws_decode.predictors import CallablePredictor
    >>> import torch
    >>> predictor = CallablePredictor(lambda canvas: torch.eye(4)[3 - canvas], mask_id=0)
    >>> (trace,) = decode(predictor, [[2]], Temperature(2.0), length=3, steps=3, block=3)
    >>> recorded(trace)
    Schedule(factors=(2.0, 2.0, 2.0))
    """
    batch = [traces] if isinstance(traces, Trace) else list(traces)
    own = {trace.ranking == "order" for trace in batch}
    if len(own) != 1:
        found = [trace.strategy for trace in batch]
        raise ValueError(f"traces come from {found}: factors or orders, not both, are needed")
    if own == {True}:
        values = [_every_step(trace, np.where(np.isnan(trace.value), -np.inf, trace.value)) for trace in batch]
        return RecordedOrder(np.stack(values))
    if any(_unneeded(trace) for trace in batch):
        orders = [np.where(trace.commit_step < 0, -np.inf, 0.0 - trace.commit_step) for trace in batch]
        return RecordedOrder(np.stack([np.tile(order, (batch[0].steps, 1)) for order in orders]))
    factors = tuple(tuple(_every_step(trace, trace.factor).tolist()) for trace in batch)
    return Schedule(factors[0] if isinstance(traces, Trace) else factors)


def _every_step(trace: Trace, of_steps: Floats) -> Floats:
    """Return what a trace holds of each step run for each step planned, the last again for those that were not run."""
    return of_steps[np.minimum(np.arange(trace.steps), trace.steps_run - 1)]


def _unneeded(trace: Trace) -> bool:
    return bool((trace.reward_use == NOT_NEEDED).any())


def _check_complete(traces: Sequence[Trace]) -> None:
    """Raise ValueError for a run with steps whose factor is not known."""
    for number, trace in enumerate(traces):
        if _unneeded(trace):
            count = int((trace.reward_use == NOT_NEEDED).sum())
            raise ValueError(
                f"traces[{number}] lacks {count} factors, of steps where no reward was needed: decode again with every "
                "reward asked"
            )


def shuffled(traces: Trace | Sequence[Trace], rng: np.random.Generator) -> RewardReplay:
    """Return the shuffled-reward control of an RWS run: its normalised rewards, permuted among the steps of each row.

    The permutation is uniform and drawn from `rng`, one per row in turn; scale and eps are those of the run. A reward
    scale that differs among the traces, a trace whose strategy was not RWS, and one that lacks rewards, as none was
    needed at a step or the run was settled early, is a ValueError.

    >>> from rws_decode.decode import decode
    >>> from rws_decode.predictors import CallablePredictor
    >>> from rws_decode.rewards import CallableReward
    >>> import torch
    >>> predictor = CallablePredictor(lambda canvas: torch.eye(4)[3 - canvas], mask_id=0, decode=str)
    >>> reward = CallableReward(lambda prompt, answer: answer.count("1"))
    >>> (trace,) = decode(predictor, [[2]], RWS(8.0), length=3, steps=3, block=3, reward=reward)
    >>> control = shuffled(trace, np.random.default_rng(0))
    >>> sorted(control.rewards) == sorted(trace.reward_normalised)
    True
    """
    batch = [traces] if isinstance(traces, Trace) else list(traces)
    settings = {tuple(sorted(trace.strategy.items())) for trace in batch}
    if len(settings) != 1 or batch[0].strategy["name"] != RWS.name:
        found = [trace.strategy for trace in batch]
        raise ValueError(f"traces come from {found}: rws runs of one reward_scale and eps are needed")
    _check_complete(batch)
    for number, trace in enumerate(batch):
        if trace.steps_run < trace.steps:
            raise ValueError(
                f"traces[{number}] was settled after {trace.steps_run} of {trace.steps} steps: decode again with every "
                "step run"
            )
    rewards = tuple(tuple(rng.permutation(trace.reward_normalised).tolist()) for trace in batch)
    run = batch[0].strategy
    return RewardReplay(run["reward_scale"], rewards[0] if isinstance(traces, Trace) else rewards, run["eps"])


def constant_of(traces: Trace | Sequence[Trace]) -> Temperature:
    """Return the constant control of an RWS run: a temperature with the mean factor of each row.

    traces: one trace, or the traces of a batch in the order of its rows; the mean is over the steps run. ValueError
    where no reward was needed at a step, so that its factor is not known.

    >>> from rws_decode.decode import decode
    >>> from rws_decode.predictors import CallablePredictor
    >>> import torch
    >>> predictor = CallablePredictor(lambda canvas: torch.eye(4)[3 - canvas], mask_id=0)
    >>> (trace,) = decode(predictor, [[2]], Schedule((1.0, 3.0)), length=2, steps=2, block=2)
    >>> constant_of(trace)
    Temperature(scale=2.0)
    """
    _check_complete([traces] if isinstance(traces, Trace) else traces)
    if isinstance(traces, Trace):
        return Temperature(float(traces.factor.mean()))
    return Temperature(tuple(float(trace.factor.mean()) for trace in traces))
