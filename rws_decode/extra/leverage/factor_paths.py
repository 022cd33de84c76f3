"""Simulate the variation of the factor of RWS within a run, from an assumption on the rewards of drafts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rws_theory import reward_factor
from rws_theory.checks import finite, whole
from rws_theory.printed import printed_in


@dataclass(frozen=True, eq=False)
class FactorPaths:
    """Simulated factors of runs, float64 [runs, steps], and the normalised rewards that they follow from.

    start, noise: as in `factor_paths`.
    """

    start: float
    noise: float
    reward: NDArray[np.float64]
    factor: NDArray[np.float64]

    @property
    def variation(self) -> float:
        """Return the coefficient of variation of the factor within a run, the median over runs."""
        return float(np.median(self.factor.std(axis=1) / self.factor.mean(axis=1)))

    @property
    def band(self) -> tuple[float, float]:
        """Return the least and the greatest factor of a run, each the median over runs."""
        return float(np.median(self.factor.min(axis=1))), float(np.median(self.factor.max(axis=1)))

    @property
    def scheduled(self) -> float:
        """Return the share of the variance within runs of the mean factor of each step, which needs no reward."""
        within = self.factor - self.factor.mean(axis=1, keepdims=True)
        return float(within.mean(axis=0).var() / within.var()) if within.any() else 0.0

    def as_json(self) -> dict[str, Any]:
        """Return what `--json` prints of it."""
        shares = {"variation": self.variation, "band": self.band, "scheduled": self.scheduled}
        return {"start": self.start, "noise": self.noise} | shares

    def __repr__(self) -> str:
        low, high = self.band
        varies = f"the factor varies by {100 * self.variation:.1f} %, from {low:.2f} to {high:.2f}"
        return f"first draft at {self.start:+g} SD: {varies}; a schedule has {100 * self.scheduled:.0f} % of this"


def factor_paths(
    start: float, *, noise: float = 0.5, reward_scale: float = 8.0, runs: int = 1000, steps: int = 128, seed: int = 0
) -> FactorPaths:
    """Simulate the factors of RWS in runs whose drafts begin poor and end as the texts that normalise the reward.

    With u = t / (steps - 1) from 0 to 1, the normalised reward of step t is

        z_t = (1 - u) start + u end + noise w_t,

    `end` standard normal, one for each run, as final texts have mean 0 and SD 1 where the statistics are theirs; w_t
    standard normal, one for each step. These are assumptions: no draft of LLaDA was scored. start: of the first draft,
    in SD of the reward. noise: by how many SD a draft lies off its line. The shares do not depend on reward_scale.
    steps: the paper's 128. ValueError for numbers that are not finite, and for less than 2 runs or steps.

    >>> factor_paths(-2)
    first draft at -2 SD: the factor varies by 25.7 %, from 1.86 to 6.62; a schedule has 50 % of this
    """
    finite("start", start)
    finite("noise", noise, least=0)
    whole("runs", runs, 2)
    whole("steps", steps, 2)
    rng = np.random.default_rng(seed)
    end, wander = rng.standard_normal((runs, 1)), rng.standard_normal((runs, steps))
    u = np.linspace(0, 1, steps)
    reward = (1 - u) * start + u * end + noise * wander
    return FactorPaths(start, noise, reward, reward_factor(reward, reward_scale))


def first_drafts(start: float) -> dict[str, float]:
    """Return the raw reward of a first draft, by the mean and SD that the paper prints of each reward model (Table 7).

    >>> first_drafts(-2)["Skywork"]
    -27.31
    """
    return {
        row["model"]: round(row["mean"] + start * row["std"], 2)
        for row in printed_in("table7_reward_statistics")["rows"]
    }
