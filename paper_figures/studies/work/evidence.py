"""Do the work of the evidence study: decode answers by their arms and measure each text alike.

An answer has these columns:

- `text`, and `tokens`, a digest of its token ids;
- `final_reward`, of the guide, raw; `log_prob`, nats, where the world is exact;
- `judge_scores`, those of the judges in their order, in their own deviations; `nll`, nats, and `causal_tokens`, of the
  causal model;
- `rules_broken`, where the world has rules; `god_tokens`, `god_steps`; `mean_factor`;
- `rewards`, the normalised ones step by step, of rws alone;
- `forwards`, `reward_calls`, of all copies; `near_ties`, `near_tokens`, sums over the steps; `seconds`.

A frontier has `points`, pairs of log p and reward, and `lines`, pairs of beta and the largest log p + beta R of all
texts.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper_figures.runner.units import Unit
from paper_figures.runner.worker import Rows, kept
from paper_figures.statistics.causal_scores import answer_scores
from paper_figures.statistics.frontier_points import context_and_canvas
from paper_figures.studies.work.decoding import (
    causal_of,
    predictor_for,
    prompt_of,
    reward_for,
    strategy_of,
)
from rws_decode.decode import decode
from rws_decode.extra.steering.steer import steer
from rws_decode.predictors import MaskPredictor, WorldPredictor
from rws_decode.rewards.base import score_checked
from rws_decode.rewards.world import WorldReward
from rws_decode.settings import Options, Shape
from rws_decode.strategies.table import strategy_from
from rws_decode.text.dialogue import Dialogue
from rws_decode.text.gaps import masks_in
from rws_decode.trace.trace import Trace
from rws_theory.worlds import frontiers


def work(units: Sequence[Unit]) -> list[Rows]:
    """Return the row of each unit of one batch."""
    if units[0].strategy["name"] == "frontier":
        return _frontiers(units)
    if units[0].strategy["name"] == "tilt-sample":
        return [[_drawn(unit)] for unit in units]
    started = time.perf_counter()
    traces = _decoded(units)
    seconds = (time.perf_counter() - started) / len(units)
    measures = _measures(units, [_asked(unit, trace) for unit, trace in zip(units, traces, strict=True)])
    return [
        [answer_row(unit, trace) | more | {"seconds": seconds}]
        for unit, trace, more in zip(units, traces, measures, strict=True)
    ]


def _frontiers(units: Sequence[Unit]) -> list[Rows]:
    """Search the best texts of all prompts at once; the first unit's world and weights are those of all."""
    predictor, guide = exact_world(units[0])
    contexts = [predictor.encode_prompt(unit.prompt) for unit in units]
    curves = frontiers(predictor.world, guide.world_reward, units[0].length, contexts, units[0].strategy["betas"])
    return [
        [{"points": [[p.log_prob, p.reward] for p in curve.points], "lines": [list(line) for line in curve.lines]}]
        for curve in curves
    ]


def _decoded(units: Sequence[Unit]) -> list[Trace]:
    first = units[0]
    predictor, reward = _predictor(first), reward_for(first, first.reward or "")
    shape, prompts = Shape(first.length, first.steps, first.block), [prompt_of(unit) for unit in units]
    options = Options(sampling_temperature=first.sampling_temperature, seed=tuple(unit.seed for unit in units))
    if method := first.settings.get("steer"):
        strategy = None if method.startswith("reward-lookahead") else strategy_from(first.strategy)
        return list(steer(predictor, prompts, method, shape, reward=reward, strategy=strategy, options=options))
    return list(decode(predictor, prompts, strategy_of(units), shape, reward=reward, options=options))


def _asked(unit: Unit, trace: Trace) -> tuple[str | Dialogue, str]:
    """Return prompt and answer as judges read them; where a prompt has gaps, its whole text is the answer."""
    if masks_in(unit.prompt):
        return "", predictor_for(unit).decode_answer(trace.completed.tolist()) or ""
    return prompt_of(unit), trace.text or ""


def exact_world(unit: Unit) -> tuple[WorldPredictor, WorldReward]:
    """Return a unit's world and its reward; ValueError where they are not exact."""
    predictor, guide = predictor_for(unit), reward_for(unit, unit.reward or "")
    if not isinstance(predictor, WorldPredictor) or not isinstance(guide, WorldReward):
        raise ValueError(f"predictor is {unit.predictor}: an exact world is needed, such as english with era")
    return predictor, guide


def _predictor(unit: Unit) -> MaskPredictor:
    """Return a unit's predictor, that of the tilted world where it names a weight."""
    if (beta := unit.settings.get("tilt")) is None:
        return predictor_for(unit)
    predictor, guide = exact_world(unit)

    def tilted() -> WorldPredictor:
        return WorldPredictor(predictor.world.tilt(guide.world_reward, beta), predictor.words, name=predictor.name)

    return kept("tilted", (unit.predictor, unit.reward, beta), tilted)


def _drawn(unit: Unit) -> dict[str, Any]:
    """Return the row of a draw of the exact tilt, which takes no forward."""
    started = time.perf_counter()
    predictor, guide = exact_world(unit)
    context, canvas = context_and_canvas(predictor, unit.prompt, unit.length)
    tilt = predictor.world.tilt(guide.world_reward, unit.settings["tilt"])
    tokens = np.asarray(tilt.sample(canvas, np.random.default_rng(unit.seed), context), dtype=np.int64)
    return {
        "text": predictor.decode_answer(tokens.tolist()),
        "tokens": digest_of(tokens),
        "final_reward": guide.world_reward.score(tokens),
        "log_prob": predictor.world.log_prob(tokens, context),
        "forwards": 0,
        "reward_calls": 0,
        "near_ties": 0,
        "near_tokens": 0,
        "judge_scores": [],
        "seconds": time.perf_counter() - started,
    }


def digest_of(tokens: NDArray[np.int64]) -> str:
    """Return a short digest of token ids."""
    return hashlib.sha256(tokens.astype("<i8").tobytes()).hexdigest()[:16]


def answer_row(unit: Unit, trace: Trace) -> dict[str, Any]:
    """Return what a trace says of a unit's answer, as the module describes it."""
    log_prob = trace.log_prob
    if unit.settings.get("tilt") is not None:
        log_prob = exact_world(unit)[0].world.log_prob(trace.tokens.tolist(), trace.prompt.tolist())
    return {
        "text": trace.text,
        "tokens": digest_of(trace.tokens),
        "final_reward": None if trace.final_reward is None else trace.final_reward["raw"],
        "log_prob": log_prob,
        "rules_broken": None if trace.rules_broken is None else len(trace.rules_broken),
        "god_tokens": trace.god_tokens,
        "god_steps": trace.god_steps,
        "mean_factor": float(np.mean(trace.factor)),
        "rewards": trace.reward_normalised.tolist() if unit.strategy["name"] == "rws" else None,
        "forwards": trace.forwards,
        "reward_calls": trace.reward_calls,
        "near_ties": int(trace.near_ties.sum()),
        "near_tokens": int(trace.near_tokens.sum()),
    }


def _measures(units: Sequence[Unit], asked: Sequence[tuple[str | Dialogue, str]]) -> list[dict[str, Any]]:
    """Return what judges and the causal model say of prompts and answers; equal pairs are scored once."""
    first = units[0]
    distinct = list(dict.fromkeys(asked))
    prompts, answers = [prompt for prompt, _ in distinct], [text for _, text in distinct]
    scores: dict[Any, dict[str, Any]] = {pair: {"judge_scores": []} for pair in distinct}
    for name in first.judges:
        model = reward_for(first, name)
        for pair, score in zip(distinct, score_checked(model, prompts, answers), strict=True):
            scores[pair]["judge_scores"].append((score - model.mean) / model.std)
    if first.causal is not None:
        causal = causal_of(first.causal, first.device)
        for pair, score in zip(distinct, answer_scores(causal, [str(p) for p in prompts], answers), strict=True):
            scores[pair] |= {"nll": score.nll, "causal_tokens": score.tokens}
    return [scores[pair] for pair in asked]
