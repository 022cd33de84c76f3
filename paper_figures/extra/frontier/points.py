"""Texts that methods write in an exact model, beside the Pareto front of log-probability and reward."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paper_figures.studies.work import context_and_canvas
from rws_decode.decode import decode
from rws_decode.predictors import WorldPredictor
from rws_decode.rewards.world import WorldReward
from rws_decode.settings import Options, Shape
from rws_decode.steering import is_method
from rws_decode.strategies.table import FROM_RUN, as_strategy, check_text, strategy_named
from rws_theory.worlds import Frontier, NGram
from rws_theory.worlds.joint_table import MASK

# Methods that sample p or p exp(beta R) / Z without a decode, and whether each takes a number.
DRAWS = {"sample": False, "best-of": True, "tilt-sample": True, "tilt-decode": True}


@dataclass(frozen=True)
class FrontierText:
    """A method's text: log_prob in nats, the exact reward, and how far below the Pareto front it lies in nats."""

    strategy: str
    log_prob: float
    reward: float
    regret: float
    tokens: list[int]


def check_method(name: str) -> tuple[str, float | None]:
    """Return name and number of a method of `DRAWS`, or of a control from a run; of others the whole text, checked.

    `best-of:N` samples from the model itself. ValueError for a text that names no method.

    >>> check_method("constant:8"), check_method("threshold:0.9+rws:8"), check_method("particles:8")
    (('constant', 8.0), ('threshold:0.9+rws:8', None), ('particles:8', None))
    """
    from rws_decode.extra.steering.table import check_method as check_steering

    kind, _, text = name.partition(":")
    if "+" in name or kind not in (*DRAWS, *FROM_RUN):
        (check_steering if is_method(name) else check_text)(name, "--strategies")
        return name, None
    if not DRAWS.get(kind, True) and not text:
        return kind, None
    try:
        number = float(text)
    except ValueError as error:
        raise ValueError(f"--strategies holds {name!r}: {kind}:NUMBER is needed, sample has none") from error
    if kind == "best-of" and (number < 1 or number != int(number)):
        raise ValueError(f"--strategies holds {name!r}: a whole number of draws is needed, such as best-of:8")
    return kind, number


def texts_of(
    predictor: WorldPredictor,
    prompt: str | Sequence[int],
    reward: WorldReward,
    shape: Shape,
    curve: Frontier,
    methods: Sequence[str],
    seed: int = 0,
) -> Iterator[FrontierText]:
    """Yield what each method writes after a prompt, or makes of its gaps and the words after the first one.

    The numbers of the rws controls are the scale of the rws run.
    """
    context, canvas = context_and_canvas(predictor, prompt, shape.length)
    world: NGram = predictor.world
    for name in methods:
        kind, number = check_method(name)
        tokens = _written(predictor, context, canvas, reward, shape, kind, number, np.random.default_rng(seed))
        log_prob = world.log_prob(tokens, context) - world.revealed_log_prob(canvas, context)
        score = reward.world_reward.score(tokens)
        yield FrontierText(name, log_prob, score, curve.regret(log_prob, score), [int(token) for token in tokens])


def _written(
    predictor: WorldPredictor,
    context: list[int],
    canvas: list[int],
    reward: WorldReward,
    shape: Shape,
    kind: str,
    number: float | None,
    rng: np.random.Generator,
) -> Any:
    from rws_decode.extra.steering.steer import steer
    from rws_decode.extra.steering.table import as_method

    world, score = predictor.world, reward.world_reward.score
    if kind == "sample":
        return world.sample(canvas, rng, context)
    if kind == "best-of":
        return max((world.sample(canvas, rng, context) for _ in range(int(number or 0))), key=score)
    if kind in ("tilt-sample", "tilt-decode"):
        tilt = world.tilt(reward.world_reward, number or 0.0)
        if kind == "tilt-sample":
            return tilt.sample(canvas, rng, context)
        predictor = WorldPredictor(tilt, predictor.words, name=predictor.name)
        kind, number = "default", None
    row = [*context, *(predictor.mask_id if token == MASK else token for token in canvas)]
    if is_method(kind):
        # One token a step, so that copies are samples of the model.
        whole = Shape(shape.length, shape.length, shape.block)
        options = Options(sampling_temperature=float(as_method(kind).draws), seed=int(rng.integers(2**31)))
        (trace,) = steer(predictor, [row], kind, whole, reward=reward, options=options)
        return trace.completed[len(context) :]
    run = None
    if kind in FROM_RUN:
        rws = strategy_named("rws", reward_scale=number)
        (run,) = decode(predictor, [row], rws, shape, reward=reward)
    strategy = as_strategy(kind, run=run, seed=int(rng.integers(2**31)))
    (trace,) = decode(predictor, [row], strategy, shape, reward=reward)
    return trace.completed[len(context) :]
