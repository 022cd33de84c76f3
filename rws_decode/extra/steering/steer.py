"""`steer`: decode several copies with a reward, choose one, and count the cost."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rws_decode.decode import run_batches
from rws_decode.extra.steering.ensemble import Ensemble
from rws_decode.extra.steering.protocol import SteeringMethod
from rws_decode.extra.steering.table import as_method, check_base, with_base
from rws_decode.job import Job, Prompts, check_arguments, check_places, prepare, reward_settings
from rws_decode.predictors.base import MaskPredictor
from rws_decode.rewards.base import RewardModel, reward_call
from rws_decode.settings import Options, Savings, Shape
from rws_decode.step.cached_reward import Scorer
from rws_decode.step.completion import TokenSampler
from rws_decode.step.record import Record
from rws_decode.step.step import Decoder
from rws_decode.strategies.protocol import MARKS, Strategy, describe, gives_order
from rws_decode.strategies.table import as_strategy
from rws_decode.trace.decoding import Decoding
from rws_decode.trace.labels import strategy_label
from rws_theory.show import clipped, quoted, shortened


class Cost(NamedTuple):
    """The cost of answers: canvases run through the predictor, texts scored, reward gradients, and seconds."""

    forwards: int
    reward_calls: int
    gradients: int
    seconds: float


@dataclass(frozen=True, repr=False)
class Steering(Decoding):
    """The outcome of `steer`: a sequence of one Trace per prompt, with what all of them cost.

    A trace is that of the answer's own path; its `forwards` and `reward_calls` are those of all copies, a reward
    gradient counting as a call. cost: of all prompts; `forwards` counts each canvas. log_partition: float64 [P],
    estimates of ln E[exp(beta R)] in nats over texts of the base sampler, NaN where the method has none.
    """

    cost: Cost
    log_partition: NDArray[np.float64]

    def __repr__(self) -> str:
        labels = sorted({strategy_label(trace.strategy) for trace in self.traces})
        rewards = [trace.final_reward["raw"] for trace in self.traces if trace.final_reward is not None]
        mean = f", mean reward {np.mean(rewards):.3g}" if rewards else ""
        size = f"{len(self.traces)} prompts, {self.cost.forwards} forwards, {self.cost.reward_calls} reward calls"
        return clipped(f"Steering({shortened(labels, 3)}: {size}{mean})")


def steer(
    predictor: MaskPredictor,
    prompts: Prompts | None = None,
    method: SteeringMethod | str = "best-of:8",
    shape: Shape | None = None,
    *,
    canvas: Prompts | Sequence[int] | None = None,
    reward: RewardModel | Callable[..., float] | None = None,
    strategy: Strategy | str | None = None,
    options: Options | None = None,
    memory: int = Savings().memory,
    **numbers: Any,
) -> Steering:
    """Decode an answer to each prompt by a method that uses the reward in another way than RWS.

    method: an object such as `Particles(8, beta=2.0)`, or a text, "particles:8" with beta=2.0, or "particles:8+beta:2"
    (`table.METHODS`); "best-of:8+rws:8" is the best of 8 samples by rws. A value is the raw reward of the greedy
    completion, the text that RWS scores in Step 2. canvas: texts or ids with gaps, in place of prompts, as in `decode`.

    strategy: which positions each copy commits, "random-order" if not given; methods that sample nothing choose
    themselves, and "best-order" takes one that samples its order. The random numbers of a strategy given by name follow
    from the prompt and its seed: prompts have different orders, the copies of one prompt share an order. options: as
    for `decode`; if not given, methods that sample do so at temperature 1. In an exact model, one token a step in an
    order that does not depend on the tokens samples the model's distribution; an order by confidence does not. memory:
    bytes that the logits of a batch may take; batches divide prompts, not copies.

    Guarantee: a prompt's answer follows from its prompt and its seed, not from its batch; copy 0 samples the tokens of
    a plain decode with that seed and order. Canvases that copies share cost one forward.

    ValueError at temperature 0, where all copies would be the same, for strategies that count themselves, mask again or
    look ahead, and as in `decode`.

    >>> from rws_decode import load_predictor, load_reward
    >>> run = steer(load_predictor("english"), "peace", "best-of:4", Shape(4, 4, 4), reward=load_reward("era"))
    >>> run[0].forwards, run.cost.reward_calls
    (11, 4)
    """
    check_places(numbers)
    Savings(memory=memory)  # refuses less than a byte
    description, (method, named) = method, with_base(method, **numbers)
    if isinstance(method, type) or not isinstance(method, SteeringMethod):
        raise ValueError(f"method is {quoted(method)}: a name such as 'best-of:8' is needed, or an object BestOf(8)")
    if named is not None and strategy is not None:
        raise ValueError(f"strategy is {quoted(strategy)}: method {quoted(description)} names {named}, leave one out")
    strategy = strategy or named
    if reward is None:
        call = reward_call(getattr(predictor, "name", ""))
        raise ValueError(f"reward is None: a reward model is needed, such as {call}, or a function")
    temperature = 1.0 if method.draws else 0.0
    options = Options(sampling_temperature=temperature) if options is None else options
    check_arguments(predictor, options, shape)
    _check(method, strategy, options)
    base = ("random-order" if method.draws or method.orders else "default") if strategy is None else strategy
    job = prepare(predictor, prompts, base, shape, reward, options, canvas=canvas, copies=method.copies)
    check_base(job.strategy)
    assert job.reward is not None
    scorer = Scorer(predictor, job.reward, job.prompts, cache=False)
    began = time.perf_counter()
    partitions, gradients = np.full(len(job.prompts), np.nan), np.zeros(len(job.prompts), np.int64)
    settings = {"reward_model": job.reward.name, "reward_settings": reward_settings(job.reward)}
    seeds = TokenSampler(options.sampling_temperature, options.seed, len(job.prompts)).seeds

    def run(rows: Sequence[int]) -> Record:
        ensemble = _ensemble(job, options, scorer, {row: seeds[row] for row in rows}, method, base)
        choice = method.run(ensemble)
        if choice.log_partition is not None:
            partitions[rows] = choice.log_partition
        gradients[rows] = ensemble.gradients
        slots = choice.copy + ensemble.copies * np.arange(len(rows))
        for row, slot in zip(rows, slots, strict=True):
            seeds[row] = ensemble.decoder.sampler.seeds[slot]
        strategy = ensemble.decoder.strategy  # the method's own where it chooses positions itself
        parts = fields(method) if is_dataclass(method) else ()
        numbers = {part.name: getattr(method, part.name) for part in parts if part.name not in MARKS}
        # JSON has no infinity.
        numbers = {name: str(value) if value == math.inf else value for name, value in numbers.items()}
        settings["strategy"] = {"name": method.name} | numbers | {"base": describe(strategy)}
        settings["ranking"] = "order" if gives_order(strategy) else job.settings["ranking"]
        return ensemble.record_of(slots)

    runs = run_batches(run, job.batches(options, memory, method.copies), job, scorer, settings, seeds, None)
    calls, climbed = sum(trace.reward_calls for trace in runs), gradients.tolist()
    cost = Cost(runs.forwards, calls, sum(climbed), time.perf_counter() - began)
    traces = [replace(trace, reward_calls=trace.reward_calls + n) for trace, n in zip(runs, climbed, strict=True)]
    return Steering(tuple(traces), runs.forwards, cost, partitions)


def drawing(method: str, options: Options) -> Options:
    """Return the options, with a sampling temperature of 1 in place of 0 if the method samples.

    >>> [drawing(method, Options()).sampling_temperature for method in ("best-of:4", "reward-lookahead:4")]
    [1.0, 0.0]
    """
    draws = as_method(method).draws and options.sampling_temperature == 0
    return replace(options, sampling_temperature=1.0) if draws else options


def _check(method: SteeringMethod, strategy: Strategy | str | None, options: Options) -> None:
    """Raise ValueError for options under which copies would all be alike, or which the method does not use."""
    temperature = options.sampling_temperature
    if options.drawing != "completion":
        raise ValueError(f"drawing is {options.drawing!r}: {method.name} weighs whole completions, use 'completion'")
    if method.draws and temperature == 0:
        raise ValueError(
            f"sampling_temperature is {temperature!r}: the copies of {method.name} would all be alike, give "
            "Options(sampling_temperature=1.0)"
        )
    if not method.draws and temperature > 0:
        raise ValueError(f"sampling_temperature is {temperature!r}: {method.name} draws nothing, leave it out")
    if method.orders and strategy is not None and as_strategy(strategy, seed=0) == as_strategy(strategy, seed=1):
        raise ValueError(
            f"strategy is {quoted(strategy)}: the copies of {method.name} would all be alike, give one that draws its "
            "order, such as 'random-order'"
        )
    if not (method.draws or method.orders) and strategy is not None:
        raise ValueError(f"strategy is {quoted(strategy)}: {method.name} chooses positions itself, leave it out")


def _mixed(seed: int, *numbers: int) -> int:
    """Return a seed made of a seed and further numbers."""
    return int(np.random.SeedSequence([seed, *numbers]).generate_state(1)[0])


def _ensemble(
    job: Job, options: Options, scorer: Scorer, seeds: dict[int, int], method: SteeringMethod, base: Strategy | str
) -> Ensemble:
    """Return the copies of some prompts. All random numbers of a prompt follow from its seed, which copy 0 has."""
    rows, copies = list(seeds), method.copies
    own = tuple(_mixed(seeds[row], copy) if copy else seeds[row] for row in rows for copy in range(copies))
    # Otherwise copies share an order, as weights compare paths of one distribution, and slots exchange paths. Prompts
    # have different orders, so that a mean over prompts is not that of one order.
    shared = tuple(_mixed(seeds[row], *job.prompts[row].ids) for row in rows for _ in range(copies))
    strategy = as_strategy(base, seed=own if method.orders else shared)
    decoder = Decoder(
        predictor=job.predictor,
        strategy=strategy,
        plan=job.shape.plan,
        options=options,
        ends=job.ends,
        sampler=TokenSampler(options.sampling_temperature, own, len(own), options.top_p, options.top_k),
        scorer=scorer if strategy.needs_reward else None,
        count=len(own),
    )
    # Copies are chosen by a stream of random numbers of their own.
    rngs = [np.random.default_rng([seeds[row], 0, 1]) for row in rows]
    return Ensemble(decoder, [job.prompts[row].ids for row in rows], copies, scorer, rows, rngs)
