"""How much a factor of the logits can decide: at which share of steps another one unmasks other positions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from rws_decode.predictors.base import MaskPredictor
from rws_decode.replay.step_logits import StepLogits, step_logits
from rws_decode.trace.trace import Trace

_BETWEEN = 15  # factors that are tried from the least to the greatest


def leverage(predictor: MaskPredictor, traces: Sequence[Trace], factors: Sequence[float]) -> dict[str, float]:
    """Return the shares of steps at which a factor unmasks other positions than the mean factor of the run would.

    traces: runs of a strategy that scales; their logits are computed again, one forward for each step. factors: those
    that rewards led to, whose range is tried at 15 numbers. "observed": by the step's own factor; "attainable": by any.
    Steps that unmask all that is left in their block are among the steps, and never differ.
    """
    tried = np.geomspace(min(factors), max(factors), _BETWEEN)
    observed = attainable = steps = 0
    for trace in traces:
        mean = float(np.mean(trace.factor))
        for step in range(trace.steps_run):
            seen = step_logits(trace, predictor, step)
            usual = _chosen(seen, mean)
            own = not np.array_equal(usual, _chosen(seen, seen.factor))
            observed += own
            attainable += own or any(not np.array_equal(usual, _chosen(seen, factor)) for factor in tried)
            steps += 1
    return {"attainable": attainable / steps, "observed": observed / steps}


def _chosen(seen: StepLogits, factor: float) -> NDArray[np.bool_]:
    """Return which positions are the most confident at a factor, as many as the step committed; leftmost of equals."""
    scaled = factor * seen.logits
    rows = np.arange(len(scaled))
    own = scaled[rows, seen.candidate].copy()
    scaled[rows, seen.candidate] = -np.inf
    with np.errstate(divide="ignore"):
        log_odds = own - np.asarray(logsumexp(scaled, axis=1))
    chosen = np.zeros(len(rows), np.bool_)
    chosen[np.argsort(-log_odds, kind="stable")[: int(seen.chosen.sum())]] = True
    return chosen
