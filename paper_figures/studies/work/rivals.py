"""Do the work of the rivals study: decode a batch by its strategy or method, and measure each final text alike."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from paper_figures.runner.units import Unit
from paper_figures.runner.worker import Rows
from paper_figures.statistics.frontier_points import context_and_canvas
from paper_figures.statistics.perplexity import perplexity
from paper_figures.studies.work.decoding import causal_of, predictor_for, prompt_of, reward_for, strategy_of
from paper_figures.studies.work.evidence import answer_row
from rws_decode.decode import decode
from rws_decode.extra.steering.steer import drawing, steer
from rws_decode.predictors import WorldPredictor
from rws_decode.rewards.world import WorldReward
from rws_decode.settings import Options, Shape
from rws_decode.text.words import Words, split_words
from rws_decode.trace.decoding import Decoding
from rws_decode.trace.trace import Trace
from rws_theory.worlds import Frontier, frontier

HELD_OUT = "held-out"


def work(units: Sequence[Unit]) -> list[Rows]:
    """Decode the units of one batch and return one row for each; `studies.rivals` describes the columns."""
    first = units[0]
    if first.strategy["name"] == HELD_OUT:
        return _perplexities(units, [[_held_out(unit)] for unit in units])
    rows = []
    for unit, trace in zip(units, _decoded(units), strict=True):
        row = answer_row(unit, trace) | {"tokens_per_forward": trace.tokens_per_forward}
        rows.append([row | {"regret": _regret(unit, trace)} if first.settings.get("frontier") else row])
    return rows if first.causal is None else _perplexities(units, rows)


def _perplexities(units: Sequence[Unit], rows: list[Rows]) -> list[Rows]:
    """Return rows with the negative log-likelihood per token of their texts, nats: the causal model's and the world's.

    It is of the text after its prompt, without an end; None for an empty text, and for one that is not the world's.
    """
    first, texts = units[0], [str(row["text"]) for (row,) in rows]
    causal = causal_of(first.causal or "", first.settings.get("reward_device") or first.device)
    scores = perplexity(causal, texts, prompts=[prompt_of(unit) for unit in units]).scores
    for (row,), score in zip(rows, scores, strict=True):
        row |= {"nll": score.nll, "causal_tokens": score.tokens, "world_nll": None}
        row["log_perplexity"] = score.nll / score.tokens if score.tokens else None
        if row["log_prob"] is not None:
            row["world_nll"] = -row["log_prob"] / first.length
    return rows


def _held_out(unit: Unit) -> dict[str, Any]:
    """Return the row of a held-out text, written as the world writes; log_prob None where it has unknown words."""
    predictor, words = predictor_for(unit), split_words(unit.settings["held_out"])
    known = Words(list(dict.fromkeys(words)))
    row: dict[str, Any] = {"text": known.text(known.ids(unit.settings["held_out"])), "log_prob": None}
    if isinstance(predictor, WorldPredictor) and not predictor.words.unknown(row["text"]):
        context, _ = context_and_canvas(predictor, unit.prompt, unit.length)
        row["log_prob"] = predictor.world.log_prob(predictor.words.ids(row["text"]), context)
    return row


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
        options = drawing(method, Options(**settings))
        return steer(predictor, prompts, method, shape, reward=reward, options=options)
    return decode(predictor, prompts, strategy_of(units), shape, reward=reward, options=Options(**settings))


def _regret(unit: Unit, trace: Trace) -> float | None:
    """Return how many nats a text lies below the frontier, None where the world or the reward is not exact."""
    predictor = predictor_for(unit)
    reward = reward_for(unit, unit.reward) if unit.reward else None
    if not isinstance(predictor, WorldPredictor) or not isinstance(reward, WorldReward) or trace.log_prob is None:
        return None
    context, canvas = context_and_canvas(predictor, trace.prompt.tolist(), unit.length)
    curve = _frontier(predictor, reward, tuple(context), tuple(canvas))
    return curve.regret(trace.log_prob, reward.world_reward.score(trace.completed[len(context) :]))


@lru_cache(maxsize=1024)
def _frontier(
    predictor: WorldPredictor, reward: WorldReward, context: tuple[int, ...], canvas: tuple[int, ...]
) -> Frontier:
    """Return the frontier of a prompt. A process searches it once for all methods."""
    return frontier(predictor.world, reward.world_reward, list(canvas), list(context), beta=4.0)
