"""How much a factor of the logits can decide: at which share of steps another one unmasks other positions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rws_decode.predictors.base import MaskPredictor
from rws_decode.replay.step_logits import step_logits
from rws_decode.trace.trace import Trace
from rws_theory.selection import SelectionPath, selection_path

__all__ = ["measure_leverage"]


def measure_leverage(
    predictor: MaskPredictor, traces: Sequence[Trace], factors: Sequence[float] | None = None
) -> dict[str, float]:
    """Return the shares of steps at which a factor unmasks other positions than the mean factor of its run would.

    "observed": the step's own factor does; "attainable": some factor from the least to the greatest of `factors` does,
    found from the crossings in that range (`rws_theory.selection_path`). At all other steps no reward that leads to
    these factors changes anything, so that "attainable" bounds what it can do. As many positions count as the step
    committed, ranked by their best tokens; steps that unmask all that is left never differ.

    traces: greedy runs of a strategy that scales, without kept keys; their logits are computed again, one forward for
    each step. factors: those that rewards can lead to, all of the traces' own if None. ValueError for traces of another
    predictor (`step_logits`).

    >>> from rws_decode import Shape, decode, load_predictor, load_reward
    >>> english = load_predictor("english")
    >>> runs = decode(english, english.prompts[:2], "rws:8", Shape(8, 4, 8), reward=load_reward("era"))
    >>> measure_leverage(english, runs)
    {'attainable': 0.0, 'observed': 0.0}
    """
    given = np.concatenate([trace.factor for trace in traces]) if factors is None else np.asarray(factors, np.float64)
    observed = attainable = steps = 0
    for trace in traces:
        low, high = min(given.min(), *trace.factor), max(given.max(), *trace.factor)
        mean = min(max(float(np.mean(trace.factor)), low), high)  # a mean of equal numbers can be a digit off
        for step in range(trace.steps_run):
            recomputed = step_logits(trace, predictor, step)
            path = selection_path(recomputed.logits, int(recomputed.chosen.sum()), low, high)
            usual, own = (_selected(path, factor) for factor in (mean, recomputed.factor))
            observed += usual != own
            attainable += len({piece.selected for piece in path.pieces}) > 1
        steps += trace.steps_run
    return {"attainable": attainable / steps, "observed": observed / steps}


def _selected(path: SelectionPath, factor: float) -> tuple[int, ...]:
    return next(piece.selected for piece in path.pieces if factor <= piece.upper)
