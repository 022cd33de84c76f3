"""The information curve of an exact model, and the best numbers of tokens a step in random order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.special import comb, entr

from rws_theory.checks import whole
from rws_theory.worlds.joint_table import MASK, Floats, Ints, JointTable
from rws_theory.worlds.markov import MarkovChain
from rws_theory.worlds.ngram import NGram

__all__ = ["ExactWorld", "InformationCurve", "StepSchedule", "best_schedule", "information_curve"]

ExactWorld = JointTable | MarkovChain | NGram
Contexts = Sequence[Sequence[int] | Ints]

_NO_CONTEXT: Contexts = ((),)
_TEXTS = 2**16  # that are enumerated, at most
_LONGEST = 1024  # words; more have numbers of subsets beyond float64


@dataclass(frozen=True)
class StepSchedule:
    """A schedule: how many tokens each step commits, and its divergence in random order.

    divergence: nats, the KL of eq. (T92); error: its standard error, 0 where the curve is exact.
    """

    counts: tuple[int, ...]
    divergence: float
    error: float

    def __repr__(self) -> str:
        error = f" (standard error {self.error:.3f})" if self.error else ""
        return f"StepSchedule({self.counts}, KL(p || q) {self.divergence:z.3f} nats{error})"


@dataclass(frozen=True, eq=False)
class InformationCurve:
    """The mean conditional entropy of a token given i other tokens, for i = 0 .. n - 1, in nats.

    entropy: float64 [n], h_i, the mean of H(X_j | X_S) over all sets S of i positions and all j outside. draws: float64
    [contexts, texts, n], unbiased estimates whose mean `entropy` is; None where the curve is exact.
    """

    entropy: Floats
    draws: Floats | None = None

    def __repr__(self) -> str:
        size = "exact" if self.draws is None else f"{self.draws.shape[0]} contexts, {self.draws.shape[1]} texts each"
        return f"InformationCurve({self.entropy.size} words, {self.profile[-1]:.3f} nats, {size})"

    @property
    def profile(self) -> Floats:
        """The entropy profile, float64 [n + 1]: the mean entropy of i random tokens, that of all tokens at the end."""
        return np.append(0.0, np.cumsum(self.entropy))

    @property
    def error(self) -> Floats:
        """The standard error of `entropy`, float64 [n]; the contexts are fixed, the texts sampled."""
        return np.array([self._error(row) for row in np.eye(self.entropy.size)])

    def schedule(self, counts: Sequence[int]) -> StepSchedule:
        r"""Return the divergence of a schedule: KL(p || q) in nats, the mean over orders and contexts.

        Step t commits k_t tokens, each sampled by itself, at positions of a random order. With m_t tokens before it,
        the divergence is sum_t k_t h_(m_t) - sum_i h_i (docs/theory.md, eq. (T92); Chen, Cong and Li, arXiv
        2511.04647). ValueError unless the counts are positive and sum to the length.
        """
        for number, count in enumerate(counts):
            whole(f"counts[{number}]", count)
        if sum(counts) != self.entropy.size:
            raise ValueError(f"counts are {tuple(counts)}: they sum to {sum(counts)}, {self.entropy.size} is needed")
        weights = np.full(self.entropy.size, -1.0)
        weights[np.cumsum([0, *counts[:-1]])] += counts
        return StepSchedule(tuple(map(int, counts)), float(self.entropy @ weights), self._error(weights))

    def best_schedule(self, steps: int) -> StepSchedule:
        """Return the schedule of that many steps with the least divergence; of equals, one whose first steps are small.

        By dynamic programming over the tokens that are left. With a sampled curve the choice is fitted to the samples,
        so its own estimate is low: measure it on others. ValueError unless 1 <= steps <= n.
        """
        n = self.entropy.size
        whole("steps", steps, 1, n)
        written = np.arange(n)[:, None]
        several = np.arange(n + 1) - written  # words of a step, [from, to]
        cost = np.where(several > 0, several * self.entropy[:, None], np.inf)
        least, following = np.append(np.full(n, np.inf), 0.0), []
        for _ in range(steps):
            total = cost + least
            following.append(total.argmin(axis=1))
            least = np.append(total.min(axis=1), np.inf)
        places = [0]
        for to in reversed(following):
            places.append(int(to[places[-1]]))
        return self.schedule(np.diff(places).tolist())

    def _error(self, weights: Floats) -> float:
        if self.draws is None:
            return 0.0
        contexts, texts, _ = self.draws.shape
        return float(np.sqrt((self.draws @ weights).var(axis=1, ddof=1).sum() / texts) / contexts)


def information_curve(
    world: ExactWorld,
    length: int,
    *,
    contexts: Contexts = _NO_CONTEXT,
    draws: int = 0,
    rng: np.random.Generator | None = None,
) -> InformationCurve:
    """Return the information curve of an exact model, its mean over contexts.

    Exact for a joint table, a Markov chain of any length, an n-gram model of order 1 or 2 without a reward, and others
    of at most 65,536 texts. For a larger n-gram model, `draws` texts for each context, each revealed in a random order,
    give an unbiased estimate. ValueError for a larger model without draws, draws or contexts where they say nothing,
    and another length than the table's.

    >>> information_curve(JointTable(np.log([[3.0, 1.0], [1.0, 3.0]])), 2).entropy.round(3).tolist()
    [0.693, 0.562]
    """
    whole("length", length, 1, _LONGEST)
    if not len(contexts):
        raise ValueError("contexts are []: one is needed at least, such as [()]")
    if isinstance(world, NGram):
        if draws == 0:
            return _mean([_exact(world, length, context) for context in contexts])
        whole("draws", draws, 2)
        if rng is None:
            raise ValueError("rng is None: draws need one, such as rng=np.random.default_rng(0)")
        curves = np.array([[_drawn(world, length, context, rng) for _ in range(draws)] for context in contexts])
        return InformationCurve(curves.mean(axis=(0, 1)), curves)
    if draws or any(len(context) for context in contexts):
        raise ValueError(f"draws is {draws}, contexts are {contexts}: they are of n-gram worlds, leave them out")
    if isinstance(world, MarkovChain):
        return _mean([_of_chain(np.exp(world.log_initial), np.exp(world.log_transitions), length)])
    if not isinstance(world, JointTable):
        raise ValueError(
            f"world is {world!r:.80}: a JointTable, a MarkovChain or an NGram is needed, such as predictor.world"
        )
    if length != world.length:
        raise ValueError(f"length is {length}: the table has {world.length}")
    return _mean([_of_table(np.exp(world.log_p))])


def best_schedule(
    world: ExactWorld,
    length: int,
    steps: int,
    *,
    contexts: Contexts = _NO_CONTEXT,
    draws: int = 0,
    rng: np.random.Generator | None = None,
) -> StepSchedule:
    """Return how many tokens each of so many steps should commit, in random order, to be nearest the model.

    `InformationCurve.best_schedule` of :func:`information_curve`, whose arguments these are.

    >>> best_schedule(MarkovChain(np.log([0.5, 0.5]), np.log([[0.9, 0.1], [0.1, 0.9]])), 8, 3)
    StepSchedule((2, 2, 4), KL(p || q) 0.429 nats)
    """
    return information_curve(world, length, contexts=contexts, draws=draws, rng=rng).best_schedule(steps)


def _mean(profiles: Sequence[Floats]) -> InformationCurve:
    return InformationCurve(np.diff(np.mean(profiles, axis=0)))


def _exact(world: NGram, length: int, context: Sequence[int] | Ints) -> Floats:
    """Return the entropy profile of an n-gram model after a context: as a chain of tokens, or text by text."""
    if world.chain.order <= 2 and not world.tilted:
        words = np.stack([world.chain.row(word)[0] for word in range(world.vocabulary)])
        return _of_chain(np.exp(world.conditionals([MASK], context))[0], words, length)
    if world.vocabulary**length > _TEXTS:
        raise ValueError(
            f"draws is 0: {world.vocabulary}^{length} texts are too many to be enumerated, "
            "draw some, such as draws=15, rng=np.random.default_rng(0)"
        )
    log_p = [world.log_prob(text, context) for text in product(range(world.vocabulary), repeat=length)]
    return _of_table(np.exp(log_p).reshape((world.vocabulary,) * length))


def _of_table(p: Floats) -> Floats:
    """Return the mean entropy of i of the n positions, float64 [n + 1], from the probability of each text."""
    total = np.zeros(p.ndim + 1)

    def visit(marginal: Floats, first: int) -> None:  # each subset once: axes are summed out from left to right
        total[marginal.ndim] += entr(marginal).sum()
        for axis in range(first, marginal.ndim):
            visit(marginal.sum(axis=axis), axis)

    visit(p, 0)
    return total / comb(p.ndim, np.arange(p.ndim + 1))


def _of_chain(initial: Floats, words: Floats, n: int) -> Floats:
    """Return the mean entropy of i of n positions, float64 [n + 1], of a Markov chain.

    The entropy of a set is that of its first word, and of each next one given the one before it (eq. (T94)).
    """
    marginals = [initial]
    for _ in range(n - 1):
        marginals.append(marginals[-1] @ words)
    i, total, power = np.arange(1, n + 1), np.zeros(n), words
    for first, marginal in enumerate(marginals):
        total += entr(marginal).sum() * comb(n - 1 - first, i - 1)
    for gap in range(1, n):  # two words of the set with none between them
        total += np.sum(marginals[: n - gap], axis=0) @ entr(power).sum(axis=1) * comb(n - 1 - gap, i - 2)
        power = power @ words
    return np.append(0.0, total / comb(n, i))


def _drawn(world: NGram, length: int, context: Sequence[int] | Ints, rng: np.random.Generator) -> Floats:
    """Return an unbiased estimate of the curve: one text, revealed in one random order, float64 [length]."""
    text, rank = world.sample(length, rng, context), rng.permutation(length)
    masked = rank >= np.arange(length)[:, None]
    rows = world.conditionals_batch(list(np.where(masked, MASK, text)), [context] * length)
    entropy = np.array([entr(np.exp(row)).sum(axis=1) for row in rows])
    return (entropy * masked).sum(axis=1) / masked.sum(axis=1)
