"""Particles (FK steering, Singhal et al. 2025, arXiv 2501.06848): copies that are weighed and resampled on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rws_decode.steering.copies import Copies
from rws_decode.steering.ensemble import Ensemble
from rws_decode.steering.protocol import Choice
from rws_decode.steering.weights import EVEN, draw, effective_size, log_mean, systematic
from rws_decode.strategies.numbers import number
from rws_theory.checks import finite

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_ALONG = "Particles(8, beta=1.0, ess_threshold=0.5)"


@dataclass(frozen=True)
class Particles(Copies):
    r"""Sequential Monte Carlo with N copies: each step weighs them by the growth of their value, and resamples.

    The weight of a step is exp(beta (V_t - V_{t-1})), the paper's difference potential; V is the raw reward of the
    greedy completion, the same text that RWS scores in Step 2. The weights of a path multiply to exp(beta R) of its
    text, up to a constant, so that the law of the answer tends to the tilt p exp(beta R) / Z as N grows, p being the
    law of one copy alone. This holds for any V. Copies are resampled (systematically) where the effective sample
    size is below `ess_threshold` times N: 0 never, which is soft best of N; 1 at every step with unequal weights. The
    answer is drawn by the last weights.

    n: N, at least 1; beta: per unit of the raw reward, finite; ess_threshold: from 0 to 1. ValueError for others.
    """

    beta: float = number("weight of the raw reward", metavar="B", default=1.0)
    ess_threshold: float = number("share of effective copies below which a step resamples", metavar="U", default=0.5)
    name = "particles"

    def __post_init__(self) -> None:
        super().__post_init__()
        finite("beta", self.beta)
        check_ess_threshold(self.ess_threshold)

    def run(self, ensemble: Ensemble) -> Choice:
        """Decode to the end, weighing; draw the answer. The estimate of Z has no bias."""

        def ancestors(log_weights: Floats, prompt: int) -> Ints:
            return systematic(log_weights, ensemble.rngs[prompt])

        weights, log_partition = weigh_along(ensemble, self.beta, self.ess_threshold, ancestors)
        copy = np.array([draw(row, rng) for row, rng in zip(weights, ensemble.rngs, strict=True)])
        return Choice(copy, log_partition)


def weigh_along(
    ensemble: Ensemble,
    beta: float,
    ess_threshold: float,
    ancestors: Callable[[Floats, int], Ints],
    stepped: Callable[[], None] = lambda: None,
) -> tuple[Floats, Floats]:
    """Decode all copies to their end; return their last log-weights [P, K], and estimates of ln Z [P].

    ancestors: of a prompt's log-weights [K] and its number, which copy each goes on from. stepped: called after each
    step, before values are asked for.
    """
    values = beta * ensemble.values()
    weights, log_partition = np.zeros_like(values), values[:, 0].copy()
    while ensemble.unfinished:
        ensemble.step()
        stepped()
        before, values = values, beta * ensemble.values()
        weights += values - before
        if not ensemble.unfinished:
            break
        rows = effective_size(weights) < ess_threshold * ensemble.copies * EVEN
        if rows.any():
            log_partition[rows] += log_mean(weights[rows])
            index = np.tile(np.arange(ensemble.copies), (len(weights), 1))
            for prompt in np.flatnonzero(rows):
                index[prompt] = ancestors(weights[prompt], int(prompt))
            ensemble.resample(index)
            values = np.take_along_axis(values, index, axis=1)
            weights[rows] = 0.0
    return weights, log_partition + log_mean(weights)


def check_ess_threshold(ess_threshold: float) -> None:
    """Raise ValueError unless the share of the copies is from 0 to 1."""
    if not (isinstance(ess_threshold, int | float) and 0 <= ess_threshold <= 1):
        needed = f"a share of the copies, from 0 to 1, is needed, as in {_ALONG}"
        raise ValueError(f"ess_threshold is {ess_threshold!r}: {needed}")
