"""Make strategies from a recorded run: its factors or order, their mean, or its rewards shuffled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rws_decode.common.later import Floats, NDArray, np
from rws_decode.strategies.factors import RWS, Temperature
from rws_decode.strategies.given import RecordedChoice, RecordedOrder, RecordedRevision, RewardReplay, Schedule
from rws_decode.strategies.protocol import Strategy
from rws_decode.strategies.table import strategy_from
from rws_decode.trace.data import NOT_NEEDED, check_known
from rws_decode.trace.trace import Trace


def recorded(traces: Trace | Sequence[Trace]) -> Schedule | RecordedOrder | RecordedChoice | Strategy:
    """Return what a run did, as a strategy: decoding with it repeats the run without its rewards.

    The factors that it applied as a Schedule, the last one again for steps that were planned and not run, with the
    positions that it committed where it counted or chose these itself (RecordedChoice), and those that it masked again
    (RecordedRevision), or within the strategy itself where it replaced tokens; or a RecordedOrder, of its ranking
    values where the order was the strategy's own (-inf where they are not kept, as they were not among the best), and
    of minus the commit steps where a trace of the batch has steps whose reward was not needed: no factor is known
    there, but the order repeats the sets exactly. traces: one trace, or those of a batch in the order of its rows.
    ValueError for a batch of factors and own orders, and of several strategies that replaced tokens.

    >>> from rws_decode import Shape, decode, load_predictor
    >>> (trace,) = decode(load_predictor("english"), "peace", Temperature(2.0), Shape(3, 3, 3))
    >>> recorded(trace)
    Schedule(factors=(2.0, 2.0, 2.0))
    """
    batch = [traces] if isinstance(traces, Trace) else list(traces)
    for trace in batch:
        check_known(trace, "a recorded strategy")
    ordered = {trace.ranking == "order" for trace in batch}
    if len(ordered) != 1:
        strategies = [trace.strategy for trace in batch]
        raise ValueError(f"traces come from {strategies}: factors or orders, not both, are needed")
    if ordered == {True}:
        values = [_every_step(trace, np.where(np.isnan(trace.value), -np.inf, trace.value)) for trace in batch]
        return RecordedOrder(np.stack(values))
    if any(_unneeded(trace) for trace in batch):
        orders = [np.where(trace.commit_step < 0, -np.inf, 0.0 - trace.commit_step) for trace in batch]
        return RecordedOrder(np.stack([np.tile(order, (batch[0].steps, 1)) for order in orders]))
    factors = tuple(tuple(_every_step(trace, trace.factor).tolist()) for trace in batch)
    schedule = Schedule(factors[0] if isinstance(traces, Trace) else factors)
    chosen = np.stack([_planned(trace, trace.chosen) for trace in batch])
    if any(trace.strategy.get("edits") for trace in batch):
        rules = [trace.strategy | {"scaled": None} for trace in batch]
        if rules != rules[:1] * len(rules):
            raise ValueError(f"traces come from {rules}: runs of one strategy are needed where it replaces tokens")
        made: Any = strategy_from(batch[0].strategy)
        return replace(made, scaled=schedule)
    if any(trace.strategy.get("revises") for trace in batch):
        again = np.stack([_planned(trace, trace.masked_again) for trace in batch])
        return RecordedRevision(chosen=chosen, masked_again=again, scaled=schedule)
    counted = any(trace.strategy.get("counts") for trace in batch)
    return RecordedChoice(chosen=chosen, scaled=schedule) if counted else schedule


def _planned(trace: Trace, of_steps: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return what a trace holds of each step run for each step planned, False for those that were not run."""
    return np.concatenate([of_steps, np.zeros((trace.steps - trace.steps_run, trace.length), np.bool_)])


def _every_step(trace: Trace, of_steps: Floats) -> Floats:
    """Return what a trace holds of each step run for each step planned, the last again for those that were not run."""
    return of_steps[np.minimum(np.arange(trace.steps), trace.steps_run - 1)]


def _unneeded(trace: Trace) -> bool:
    return bool((trace.reward_use == NOT_NEEDED).any())


def _check_complete(traces: Sequence[Trace]) -> None:
    """Raise ValueError for a run with steps whose factor is not known."""
    for number, trace in enumerate(traces):
        check_known(trace, "a control")
        if _unneeded(trace):
            count = int((trace.reward_use == NOT_NEEDED).sum())
            raise ValueError(
                f"traces[{number}] lacks {count} factors, of steps where no reward was needed: decode again with every "
                "reward asked"
            )


def shuffled(traces: Trace | Sequence[Trace], rng: np.random.Generator) -> RewardReplay:
    """Return the shuffled-reward control of an RWS run: its normalised rewards, permuted among the steps of each row.

    The permutation is sampled uniformly with `rng`, one per row in turn; scale and eps are those of the run. A reward
    scale that differs among the traces, a trace whose strategy was not RWS, and one that lacks rewards, as none was
    needed at a step or the run was settled early, is a ValueError.

    >>> from rws_decode import Shape, decode, load_predictor, load_reward
    >>> (trace,) = decode(load_predictor("english"), "peace", RWS(8.0), Shape(3, 3, 3), reward=load_reward("era"))
    >>> control = shuffled(trace, np.random.default_rng(0))
    >>> sorted(control.rewards) == sorted(trace.reward_normalised)
    True
    """
    batch = [traces] if isinstance(traces, Trace) else list(traces)
    _check_complete(batch)
    settings = {tuple(sorted(trace.strategy.items())) for trace in batch}
    if len(settings) != 1 or batch[0].strategy["name"] != RWS.name:
        strategies = [trace.strategy for trace in batch]
        raise ValueError(f"traces come from {strategies}: rws runs of one reward_scale and eps are needed")
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
    """Return the fixed factor of equal mean of an RWS run: a temperature with the mean factor of each row.

    traces: one trace, or the traces of a batch in the order of its rows; the mean is over the steps run. ValueError
    where no reward was needed at a step, so that its factor is not known.

    >>> from rws_decode import Shape, decode, load_predictor
    >>> (trace,) = decode(load_predictor("english"), "peace", Schedule((1.0, 3.0)), Shape(2, 2, 2))
    >>> constant_of(trace)
    Temperature(scale=2.0)
    """
    _check_complete([traces] if isinstance(traces, Trace) else traces)
    if isinstance(traces, Trace):
        return Temperature(float(traces.factor.mean()))
    return Temperature(tuple(float(trace.factor.mean()) for trace in traces))
