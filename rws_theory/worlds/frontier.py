"""The frontier of a world and a reward: the best log-probability that a text of each reward can have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rws_theory.worlds.backoff import Ints
from rws_theory.worlds.ngram import NGram
from rws_theory.worlds.tilts import AdditiveReward, score

__all__ = ["Frontier", "FrontierPoint", "frontier"]

_SLACK = 1e-9  # relative: values that are closer are one


@dataclass(frozen=True, eq=False)
class FrontierPoint:
    """A text that no text beats in log p + beta R: `beta` is the least at which this is so, or was found so.

    log_prob: nats; reward: its own R; tokens: int64 [n].
    """

    beta: float
    log_prob: float
    reward: float
    tokens: Ints


@dataclass(frozen=True, eq=False)
class Frontier:
    """Texts by rising beta, each the best of its beta; complete: no other text is best at any beta of the range.

    Whether or not it is complete, no text of any method lies above :meth:`bound`.
    """

    points: tuple[FrontierPoint, ...]
    lines: tuple[tuple[float, float], ...]  # beta, and the largest log p + beta R of all texts
    complete: bool

    def bound(self, reward: float) -> float:
        """Return a log-probability that no text with at least this reward exceeds: min over beta of F(beta) - beta R.

        F(beta) is the largest log p + beta R. Where the frontier is complete, this is the concave hull of all texts.
        """
        return min(value - beta * reward for beta, value in self.lines)

    def regret(self, log_prob: float, reward: float) -> float:
        """Return how far a text lies below the frontier, nats; 0 up to rounding on it, never less."""
        return self.bound(reward) - log_prob


def frontier(
    world: NGram,
    reward: AdditiveReward,
    n: int | Sequence[int] | Ints,
    context: Sequence[int] | Ints = (),
    *,
    beta: float = 4.0,
    texts: int = 64,
) -> Frontier:
    """Find the texts that are best for some weight of the reward from 0 to `beta`.

    Between two texts the next weight to try is the one at which both are equally good (Eisner and Severance 1976).
    Either a better text turns up there, or there is none between them. n: a length, or a canvas with -1 where masked.
    texts: most searches; what they leave open makes the frontier not complete. ValueError unless beta > 0 and texts >=
    2.

    >>> world = NGram.fit([[0, 0, 0, 1, 0, 0]], order=2, vocabulary=2)
    >>> curve = frontier(world, [0.0, 1.0], 3, beta=4.0)
    >>> [(point.tokens.tolist(), point.reward) for point in curve.points], curve.complete
    ([([0, 0, 0], 0.0), ([1, 0, 0], 1.0), ([1, 1, 1], 3.0)], True)
    """
    if not (np.isfinite(beta) and beta > 0):
        raise ValueError(f"beta is {beta}: a positive number is needed, the largest weight of the reward")
    if texts < 2:
        raise ValueError(f"texts is {texts}: at least 2 searches are needed, for weight 0 and for beta")

    def best(weight: float) -> FrontierPoint:
        tokens = world.tilt(reward, weight).best(n, context)
        return FrontierPoint(weight, world.log_prob(tokens, context), score(reward, tokens, context), tokens)

    first, last = best(0.0), best(beta)
    lines = [(0.0, first.log_prob), (beta, last.log_prob + beta * last.reward)]
    points, waiting, complete = [first], [(first, last)], True
    while waiting:
        low, high = waiting.pop()
        if high.reward - low.reward <= _SLACK * (1 + abs(high.reward)):
            continue  # no text between them has a reward of its own
        weight = (low.log_prob - high.log_prob) / (high.reward - low.reward)
        value = low.log_prob + weight * low.reward
        if len(lines) == texts:
            complete = False
        else:
            between = best(weight)
            top = between.log_prob + weight * between.reward
            lines.append((weight, max(top, value)))
            if top > value + _SLACK * (1 + abs(value)):
                waiting += [(between, high), (low, between)]  # the lower one is settled first
                continue
        points.append(FrontierPoint(weight, high.log_prob, high.reward, high.tokens))
    return Frontier(tuple(points), tuple(sorted(lines)), complete)
