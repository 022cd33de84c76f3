"""The Pareto front of an exact model and a reward: the largest log-probability of a text of given reward."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from rws_theory.checks import finite, whole
from rws_theory.show import figures, shortened, table_html
from rws_theory.worlds.backoff import Ints
from rws_theory.worlds.ngram import NGram
from rws_theory.worlds.tilts import AdditiveReward, score

__all__ = ["Frontier", "FrontierPoint", "frontier", "frontiers"]

_SLACK = 1e-9  # relative: values that are closer are one


@dataclass(frozen=True, eq=False)
class FrontierPoint:
    """A text of largest log p + beta R, at the smallest such beta that was found.

    log_prob: nats, given the revealed words of a canvas; reward: its own R; tokens: int64 [n].
    """

    beta: float
    log_prob: float
    reward: float
    tokens: Ints

    def __repr__(self) -> str:
        numbers = f"beta {figures(self.beta)}, log p {figures(self.log_prob)}, reward {figures(self.reward)}"
        return f"FrontierPoint({numbers}, tokens {shortened(self.tokens.tolist(), 8)})"


@dataclass(frozen=True, eq=False)
class Frontier:
    """Texts by rising beta, each the best of its beta; complete: but for ties, no other text is best at any beta.

    Whether or not it is complete, no text of any method lies above :meth:`bound`. lines: every beta that was tried, and
    the largest log p + beta R of all texts there.
    """

    points: tuple[FrontierPoint, ...]
    lines: tuple[tuple[float, float], ...]
    complete: bool

    def __repr__(self) -> str:
        return f"Frontier({self._words})"

    def _repr_html_(self) -> str:
        rows = [(p.beta, p.reward, p.log_prob, shortened(p.tokens.tolist(), 16)) for p in self.points]
        return table_html(("beta from", "reward", "log p, nats", "tokens"), rows, f"Frontier: {self._words}")

    @property
    def _words(self) -> str:
        low, high = self.points[0], self.points[-1]
        texts = f"{len(self.points)} text{'s' if len(self.points) > 1 else ''}"
        spans = (f"{figures(a)} to {figures(b)}" for a, b in ((low.reward, high.reward), (low.log_prob, high.log_prob)))
        return "{}, reward {}, log p {}, {}".format(texts, *spans, "complete" if self.complete else "not complete")

    def bound(self, reward: float) -> float:
        """Return a log-probability that no text with at least this reward exceeds: min over beta of F(beta) - beta R.

        F(beta) is the largest log p + beta R. It is attained at the points; between them it is the straight line, which
        the best texts of those rewards need not reach. Where the Pareto front is complete, it is the hull of all texts.
        """
        return min(value - beta * reward for beta, value in self.lines)

    def regret(self, log_prob: float, reward: float) -> float:
        """Return the distance of a text below the front, nats: 0 at its points, and never negative but for rounding."""
        return self.bound(reward) - log_prob


def frontier(
    world: NGram,
    reward: AdditiveReward,
    n: int | Sequence[int] | Ints,
    context: Sequence[int] | Ints = (),
    *,
    beta: float = 4.0,
    searches: int = 64,
) -> Frontier:
    """Find the texts that are best for some weight of the reward from 0 to `beta`.

    Between two texts the next weight to try is the one at which both are equally good (Eisner and Severance 1976).
    Either a better text turns up there, or there is none between them. n: a length, or a canvas with -1 where masked;
    log p is then that given its revealed tokens. searches: the largest number of them; where it runs out, `complete` is
    False. ValueError unless beta > 0 and searches >= 2, and for a length that `NGram.best` refuses.

    >>> world = NGram.fit([[0, 0, 0, 1, 0, 0]], order=2, vocabulary=2)
    >>> curve = frontier(world, [0.0, 1.0], 3, beta=4.0)
    >>> [(point.tokens.tolist(), point.reward) for point in curve.points], curve.complete
    ([([0, 0, 0], 0.0), ([1, 0, 0], 1.0), ([1, 1, 1], 3.0)], True)
    """
    finite("beta", beta, above=0)
    whole("searches", searches, 2)
    fixed = cache(lambda: world.revealed_log_prob(n, context))  # asked once a search has found the length possible

    def best(weight: float) -> FrontierPoint:
        tokens = world.tilt(reward, weight).best(n, context)
        log_prob = world.log_prob(tokens, context) - fixed()
        return FrontierPoint(weight, log_prob, score(reward, tokens, context), tokens)

    first, last = best(0.0), best(beta)
    lines = [(0.0, first.log_prob), (beta, last.log_prob + beta * last.reward)]
    points, waiting, complete = [first], [(first, last)], True
    while waiting:
        low, high = waiting.pop()
        if high.reward - low.reward <= _SLACK * (1 + abs(high.reward)):
            continue  # no text between them has a reward of its own
        weight = (low.log_prob - high.log_prob) / (high.reward - low.reward)
        value = low.log_prob + weight * low.reward
        if len(lines) == searches:
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


def frontiers(
    world: NGram,
    reward: AdditiveReward,
    n: int,
    contexts: Sequence[Sequence[int] | Ints],
    betas: Sequence[float],
) -> list[Frontier]:
    """Find the texts of n tokens that are best at each weight of the reward, after each context.

    A weight is searched once for all contexts. `complete` is False: between two weights another text may be best.
    ValueError unless the weights are finite, at least 0, and rise.
    """
    weights = np.asarray(betas, dtype=float)
    if weights.size == 0 or not np.isfinite(weights).all() or weights[0] < 0 or (np.diff(weights) <= 0).any():
        raise ValueError(f"betas is {list(betas)}: rising weights from 0 on are needed, such as [0.0, 0.5, 1.0]")
    points: list[list[FrontierPoint]] = [[] for _ in contexts]
    lines: list[list[tuple[float, float]]] = [[] for _ in contexts]
    for weight in weights.tolist():
        texts = world.tilt(reward, weight).bests(n, contexts)
        for index, (context, tokens) in enumerate(zip(contexts, texts, strict=True)):
            point = FrontierPoint(weight, world.log_prob(tokens, context), score(reward, tokens, context), tokens)
            lines[index].append((weight, point.log_prob + weight * point.reward))
            if not points[index] or point.reward > points[index][-1].reward:
                points[index].append(point)
    return [Frontier(tuple(p), tuple(q), False) for p, q in zip(points, lines, strict=True)]
