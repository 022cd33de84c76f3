"""Say how far each method is from the best that a reward allows: reward at equal log p, and log p at equal reward."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from paper_figures.statistics.intervals import Interval
from paper_figures.statistics.means import mean_interval
from paper_figures.studies.design.evidence_arms import WORLDS, Arm
from paper_figures.studies.summaries.evidence import arm_title
from paper_figures.studies.summaries.evidence_measures import arms_of, deviation_of

if TYPE_CHECKING:
    import pandas

__all__ = ["Distance", "best_lines", "distance_of", "missing_reward"]

_SHOWN = ("default", "rws", "lookahead", "tilt-decode", "particles", "best-of")
_SLACK = 1e-9  # nats


class Distance(NamedTuple):
    """How far texts lie from the best, as means with 95 % intervals over prompts.

    - `log_prob`: nats that a text of at least the same reward can have more, at most: the regret.
    - `least` and `most`, in the guide's deviations: a text with at least the same log p has `least` more reward, and
      none has more than `most`.
    """

    log_prob: Interval
    least: Interval
    most: Interval


def missing_reward(
    log_prob: float, reward: float, points: NDArray[np.float64], lines: NDArray[np.float64]
) -> tuple[float, float]:
    """Return (least, most): how much more reward a text of at least this log p can have.

    `points` are texts on the frontier, (log p, reward); `lines` are (beta, the largest log p + beta reward of all
    texts). The best text of `points` that is no less likely gives `least`. No text with log p >= L has a reward above
    (value - L) / beta, for any beta > 0, and the smallest of these gives `most`. So least <= most.

    >>> points, lines = np.array([[0.0, 0.0], [-1.0, 2.0]]), np.array([[0.0, 0.0], [0.5, 0.0], [4.0, 7.0]])
    >>> missing_reward(-0.5, 0.0, points, lines)
    (0.0, 1.0)
    """
    likely = points[points[:, 0] >= log_prob - _SLACK]
    least = max(0.0, float(likely[:, 1].max()) - reward) if len(likely) else 0.0
    beta, value = lines[lines[:, 0] > 0].T
    most = float(((value - log_prob) / beta).min()) - reward
    return least, max(least, most)


def distance_of(answers: pandas.DataFrame, frontiers: pandas.DataFrame, world: str) -> Distance | None:
    """Return how far an arm's texts are from the best; None where a prompt has no frontier."""
    curves = {row["prompt"]: row for row in frontiers[frontiers["world"] == world].to_dict("records")}
    regret = answers["regret"].to_numpy(dtype=float)
    if not set(answers["prompt"]) <= curves.keys() or not np.isfinite(regret).all():
        return None
    deviation, gaps = deviation_of(WORLDS[world].reward), []
    for prompt, log_prob, reward in zip(*(answers[name] for name in ("prompt", "log_prob", "reward")), strict=True):
        points, lines = (np.asarray([list(pair) for pair in curves[prompt][name]]) for name in ("points", "lines"))
        gaps.append(missing_reward(log_prob, reward, points, lines))
    least, most = np.array(gaps).T / deviation
    draws = np.random.default_rng(0)
    return Distance(*(mean_interval(values, draws, resamples=1999) for values in (regret, least, most)))


def best_lines(arms: Mapping[Arm, pandas.DataFrame], frontiers: pandas.DataFrame, world: str) -> list[str]:
    """Return a sentence for RWS at each s_R and for each method that it is compared with, and one for the whole."""
    if not WORLDS[world].exact:
        return []
    told, regrets = [], {}
    order = {method: index for index, method in enumerate(_SHOWN)}
    kept = [arm for arm in arms if arm.method in order and not arm.one_by_one]
    for arm in sorted(kept, key=lambda arm: (arm.sampling_temperature, order[arm.method], arm.number or 0)):
        distance = distance_of(arms[arm], frontiers, world)
        if distance is None:
            continue
        title = arm_title(arm.method, arm.number, arm.sampling_temperature > 0)
        regrets[title] = distance.log_prob.mean
        told.append(
            f"{title}: log p at equal reward is {_span(distance.log_prob, 1)} nats below the best. At equal log p, a "
            f"text has {_span(distance.least, 2)} deviations more reward, and none more than {_span(distance.most, 2)}."
        )
    if not told:
        return []
    nearest = min(regrets, key=lambda title: regrets[title])
    first = f"In {WORLDS[world].model}, {nearest} is nearest to the frontier: {regrets[nearest]:.1f} nats an answer."
    return [first, *told]


def _span(interval: Interval, digits: int) -> str:
    mean, low, high = (f"{round(end, digits) + 0.0:.{digits}f}" for end in interval)
    return f"{mean} [{low}, {high}]"
