"""Particle Gibbs (Dang et al. 2025, arXiv 2507.08390): particles again and again, each time beside the last answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from rws_decode.steering.copies import Copies
from rws_decode.steering.ensemble import Ensemble, Path
from rws_decode.steering.particles import check_ess_threshold, weigh_along
from rws_decode.steering.protocol import Choice
from rws_decode.steering.weights import draw
from rws_decode.strategies.numbers import number
from rws_theory.checks import finite, whole

__all__ = ["ParticleGibbs"]


@dataclass(frozen=True)
class ParticleGibbs(Copies):
    r"""Repeat conditional sequential Monte Carlo: copy 0 follows the path of the last answer, the others are free.

    Each sweep is a step of a Markov chain over whole paths whose law, for any number of copies from 2 on, has the tilt
    p exp(beta R) / Z of the base sampler as its limit (Andrieu, Doucet and Holenstein 2010). Weights and values are
    those of `particles.Particles`; ancestors are drawn independently. The first sweep has no path to follow.

    n: copies, at least 2; sweeps: at least 1; beta: per unit of the raw reward, finite; ess_threshold: from 0 to 1, the
    share of effective copies below which a step resamples. ValueError for others.
    """

    sweeps: int = number("times that all copies are decoded", metavar="N", default=4)
    beta: float = number("weight of the raw reward", metavar="B", default=1.0)
    ess_threshold: float = number("share of effective copies below which a step resamples", metavar="U", default=0.5)
    name = "particle-gibbs"

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("n", self.n, 2, example="ParticleGibbs(8)")
        whole("sweeps", self.sweeps, example="ParticleGibbs(8, sweeps=4)")
        finite("beta", self.beta)
        check_ess_threshold(self.ess_threshold)

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
        """Decode all copies to their end, copy 0 along the path of each prompt, and draw one for each prompt."""

        def ancestors(log_weights: NDArray[np.float64], prompt: int) -> NDArray[np.int64]:
            drawn = ensemble.rngs[prompt].choice(self.n, self.n, p=softmax(log_weights))
            return np.concatenate([[0], drawn[1:]]) if paths else drawn

        def follow() -> None:
            for prompt, path in enumerate(paths):
                ensemble.follow(prompt * self.n, path)

        weights, _ = weigh_along(ensemble, self.beta, self.ess_threshold, ancestors, follow)
        return np.array([draw(row, rng) for row, rng in zip(weights, ensemble.rngs, strict=True)])
