"""Copies that are weighted and resampled during the decode: particles (FK steering), and particle Gibbs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from rws_decode.extra.steering.ensemble import Ensemble, Path
from rws_decode.extra.steering.protocol import Choice, Copies
from rws_decode.strategies.numbers import number

__all__ = ["ParticleGibbs", "Particles"]

EVEN = 1 - 1e-12  # from this share of N on, an effective size below N is rounding: the weights count as equal

_share = partial(
    number,
    "share of effective copies below which a step resamples",
    metavar="U",
    default=0.5,
    least=0,
    most=1,
    example="0.5",
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Particles(Copies):
    r"""Sequential Monte Carlo with N copies: each step weights them by the growth of their value, and resamples.

    The weight of a step is exp(beta (V_t - V_{t-1})), the paper's difference potential; V is the raw reward of the
    greedy completion, the same text that RWS scores in Step 2. The weights of a path multiply to exp(beta R) of its
    text, up to a constant, so that the answer's distribution tends to p exp(beta R) / Z as N grows, p being that of one
    copy alone. This holds for any V. Copies are resampled (systematically) if the effective sample size is below
    `ess_threshold` times N: 0 never, which is soft best of N; 1 at every step with unequal weights. The answer is
    sampled by the last weights.
    """

    beta: float = number("weight of the raw reward", metavar="B", default=1.0)
    ess_threshold: float = _share()
    name = "particles"
    about = "N copies, weighed and resampled on the way (FK steering)"

    def run(self, ensemble: Ensemble) -> Choice:
        """Decode to the end with weights; sample the answer. The estimate of Z has no bias."""

        def ancestors(log_weights: Floats, prompt: int) -> Ints:
            return systematic(log_weights, ensemble.rngs[prompt])

        step = partial(self.step, ensemble)
        weights, log_partition = weigh_along(ensemble, self.beta, self.ess_threshold, ancestors, step)
        return Choice(sampled(weights, ensemble.rngs), log_partition)

    def step(self, ensemble: Ensemble) -> Floats:
        """Run one step of all copies; return ln p / q of the tokens that each committed: 0, as p is sampled from."""
        ensemble.step()
        return np.zeros((len(ensemble.rngs), self.n))


def weigh_along(
    ensemble: Ensemble,
    beta: float,
    ess_threshold: float,
    ancestors: Callable[[Floats, int], Ints],
    step: Callable[[], Floats],
) -> tuple[Floats, Floats]:
    """Decode all copies to their end; return their last log-weights [P, K], and estimates of ln Z [P].

    ancestors: of a prompt's log-weights [K] and its number, which copy each goes on from. step: runs one step of all
    copies, and returns its further terms of their log-weights, besides the values, [P, K].
    """
    values = beta * ensemble.values()
    weights, log_partition = np.zeros_like(values), values[:, 0].copy()
    while ensemble.unfinished:
        ratio = step()
        before, values = values, beta * ensemble.values()
        weights += values - before + ratio
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


@dataclass(frozen=True)
class ParticleGibbs(Copies):
    r"""Repeat conditional sequential Monte Carlo: copy 0 follows the path of the last answer, the others are free.

    Each sweep is a step of a Markov chain over whole paths. With 2 copies or more its distribution converges to the
    base sampler's reward-tilted distribution p exp(beta R) / Z (Andrieu, Doucet and Holenstein 2010). Weights and
    values are those of `particles.Particles`; ancestors are sampled independently. The first sweep follows no path.
    """

    n: int = number("copies", metavar="N", usual=8, least=2, example="ParticleGibbs(8)")
    sweeps: int = number(
        "times that all copies are decoded", metavar="N", default=4, least=1, example="ParticleGibbs(8, sweeps=4)"
    )
    beta: float = number("weight of the raw reward", metavar="B", default=1.0)
    ess_threshold: float = _share()
    name = "particle-gibbs"
    about = "particles again and again; one copy repeats the last answer"

    def forwards(self, steps: int) -> int:
        """Return the most forwards of a prompt, those of all sweeps."""
        return self.sweeps * super().forwards(steps)

    def run(self, ensemble: Ensemble) -> Choice:
        """Run the sweeps; the answer is that of the last."""
        copy = self._sweep(ensemble, [])
        for _ in range(self.sweeps - 1):
            paths = [ensemble.path(prompt * self.n + int(slot)) for prompt, slot in enumerate(copy)]
            ensemble.restart()
            copy = self._sweep(ensemble, paths)
        return Choice(copy)

    def _sweep(self, ensemble: Ensemble, paths: list[Path]) -> NDArray[np.int64]:
        """Decode all copies to their end, copy 0 along the path of each prompt, and sample one copy of each prompt."""

        def ancestors(log_weights: NDArray[np.float64], prompt: int) -> NDArray[np.int64]:
            copies = ensemble.rngs[prompt].choice(self.n, self.n, p=softmax(log_weights))
            return np.concatenate([[0], copies[1:]]) if paths else copies

        def step() -> Floats:
            ensemble.step()
            for prompt, path in enumerate(paths):
                ensemble.follow(prompt * self.n, path)
            return np.zeros((len(ensemble.rngs), self.n))

        weights, _ = weigh_along(ensemble, self.beta, self.ess_threshold, ancestors, step)
        return sampled(weights, ensemble.rngs)


def log_mean(log_weights: Floats) -> Floats:
    """Return the logarithm of the mean weight of each row. log_weights: [P, K]."""
    return np.asarray(logsumexp(log_weights, axis=-1) - np.log(log_weights.shape[-1]))


def effective_size(log_weights: Floats) -> Floats:
    """Return the effective number of copies of each row, 1 / sum of squared shares, 1 to K. log_weights: [P, K]."""
    return np.asarray(1.0 / np.square(softmax(log_weights, axis=-1)).sum(axis=-1))


def sampled(log_weights: Floats, rngs: Sequence[np.random.Generator]) -> Ints:
    """Return the number of a copy of each prompt, sampled by weight. log_weights: [P, K], no row all -inf."""
    rows = zip(softmax(log_weights, axis=-1), rngs, strict=True)
    return np.array([rng.choice(log_weights.shape[-1], p=shares) for shares, rng in rows])


def systematic(log_weights: Floats, rng: np.random.Generator) -> Ints:
    """Return K ancestors by systematic resampling, rising: copy j is taken floor or ceil of K times its share.

    One uniform number places K points at equal distances on the cumulative shares (Carpenter, Clifford and Fearnhead
    1999). log_weights: [K].

    >>> systematic(np.log([0.5, 0.25, 0.25, 1e-9]), np.random.default_rng(0)).tolist()
    [0, 0, 1, 2]
    """
    copies = len(log_weights)
    ends = np.cumsum(softmax(log_weights))
    points = (rng.random() + np.arange(copies)) / copies
    return np.minimum(np.searchsorted(ends, points, side="right"), copies - 1).astype(np.int64)


def tilting(values: Floats, beta: float) -> Floats:
    """Return the log-weights beta R; for an infinite beta 0 where R is largest, -inf elsewhere. values: [..., K].

    >>> tilting(np.array([1.0, 3.0]), 2.0).tolist(), tilting(np.array([1.0, 3.0]), np.inf).tolist()
    ([2.0, 6.0], [-inf, 0.0])
    """
    if np.isfinite(beta):
        return beta * values
    return np.where(values == values.max(axis=-1, keepdims=True), 0.0, -np.inf)
