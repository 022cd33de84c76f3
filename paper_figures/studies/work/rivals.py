"""Do the work of the rivals study: decode a batch by its strategy or method, and measure each final text alike."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from paper_figures.runner.units import Unit
from paper_figures.runner.worker import Rows
from paper_figures.statistics.frontier_points import context_and_canvas
from paper_figures.studies.work.decoding import predictor_for, prompt_of, reward_for, strategy_of
from paper_figures.studies.work.evidence import answer_row
from rws_decode.decode import decode
from rws_decode.predictors import WorldPredictor
from rws_decode.rewards.world import WorldReward
from rws_decode.settings import Options, Shape
from rws_decode.steering.steer import steer
from rws_decode.trace.decoding import Decoding
from rws_decode.trace.trace import Trace
from rws_theory.worlds import Frontier, frontier


def work(units: Sequence[Unit]) -> list[Rows]:
    """Decode the units of one batch and return one row for each; `studies.rivals` describes the columns."""
    first = units[0]
    rows = []
    for unit, trace in zip(units, _decoded(units), strict=True):
        row = answer_row(unit, trace) | {"tokens_per_forward": trace.length / trace.forwards}
        rows.append([row | {"regret": _regret(unit, trace)} if first.settings.get("frontier") else row])
    return rows


def _decoded(units: Sequence[Unit]) -> Decoding:
    first = units[0]
    predictor, prompts = predictor_for(first), [prompt_of(unit) for unit in units]
    shape = Shape(first.length, first.steps, first.block)
    reward = reward_for(first, first.reward) if first.reward else None
    settings: dict[str, Any] = {
        "cfg": first.settings.get("cfg") or 0.0,
        "end_of_text": first.settings.get("end_of_text") or "none",
        "seed": [unit.seed for unit in units],
    }
    if method := first.strategy.get("method"):
        if reward is None:
            raise ValueError(f"reward is None: {method} needs a reward model")
        draws = 0.0 if method.startswith("reward-lookahead") else 1.0
        options = Options(**settings, sampling_temperature=draws)
        return steer(predictor, prompts, method, shape, reward=reward, options=options)
    return decode(predictor, prompts, strategy_of(units), shape, reward=reward, options=Options(**settings))


def _regret(unit: Unit, trace: Trace) -> float | None:
    """Return how many nats a text lies below the frontier, None where the world or the reward is not exact."""
    predictor = predictor_for(unit)
    reward = reward_for(unit, unit.reward) if unit.reward else None
    if not isinstance(predictor, WorldPredictor) or not isinstance(reward, WorldReward) or trace.log_prob is None:
        return None
    context, canvas = context_and_canvas(predictor, trace.prompt.tolist(), unit.length)
    curve = _frontier(unit.predictor, unit.reward or "", tuple(context), tuple(canvas), predictor, reward)
    return curve.regret(trace.log_prob, reward.world_reward.score(trace.completed[len(context) :]))


@lru_cache(maxsize=1024)
def _frontier(
    model: str,
    guide: str,
    context: tuple[int, ...],
    canvas: tuple[int, ...],
    predictor: WorldPredictor,
    reward: WorldReward,
) -> Frontier:
    """Return the frontier of a prompt. A process searches it once for all methods."""
    return frontier(predictor.world, reward.world_reward, list(canvas), list(context), beta=4.0)
