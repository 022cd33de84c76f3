"""The mean frontier of log p and reward over prompts, and the mean regret of each arm."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from paper_figures.exhibits.evidence import arms_of, interval_of
from paper_figures.recorded import Recorded
from paper_figures.statistics.intervals import Interval
from paper_figures.studies.design.evidence_arms import WORLDS, Arm

# Nats per unit of the raw reward: 0 is the most probable text, and 4 the largest weight that the study searched.
BETAS = np.concatenate([[0.0], np.geomspace(0.003, 4.0, 60)])


def points_of(evidence: Recorded, world: str) -> dict[str, NDArray[np.float64]]:
    """Return the frontier's texts after each prompt: log p in nats and the raw reward, shape (texts, 2)."""
    rows = evidence.frontiers[evidence.frontiers["world"] == world]
    return {
        str(prompt): np.array([list(point) for point in points], dtype=float)
        for prompt, points in zip(rows["prompt"], rows["points"], strict=True)
    }


def mean_frontier(evidence: Recorded, world: str) -> NDArray[np.float64]:
    """Return the mean over prompts of (log p per word, reward in deviations) of the best text at each of `BETAS`.

    At each beta it is the text of largest log p + beta reward after each prompt. Shape (betas, 2); (0, 2) without
    frontiers.
    """
    from rws_decode.rewards import load_reward

    points = points_of(evidence, world)
    if not points:
        return np.empty((0, 2))
    best = np.stack(
        [texts[(texts[:, 0] + BETAS[:, None] * texts[:, 1]).argmax(axis=1)] for texts in points.values()]
    ).mean(axis=0)
    guide = load_reward(WORLDS[world].reward)
    return np.column_stack([best[:, 0] / WORLDS[world].length, (best[:, 1] - guide.mean) / guide.std])


def regrets_of(evidence: Recorded, world: str, only: Collection[Arm] | None = None) -> dict[Arm, Interval]:
    """Return the mean regret of each arm in nats with its interval, the least first; `only` of these if given."""
    arms = arms_of(evidence, world)
    regrets = {arm: interval_of(arms[arm], "regret") for arm in arms if only is None or arm in only}
    return dict(sorted(((a, i) for a, i in regrets.items() if i is not None), key=lambda item: item[1].mean))
