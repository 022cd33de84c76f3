"""Pass probabilities along a backoff chain: one sparse product a position, backward or forward."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from rws_theory.worlds.backoff import Backoff, Floats

__all__ = ["Passes", "passes_of"]


@dataclass(frozen=True, eq=False)
class Passes:
    """The chain's transitions M(s, t) = P(word of t | s) F(last word of s, word of t), as an operator.

    The rows of a state are those of its suffix, times `kept`, but for its own arcs. Where such an arc leads to a longer
    state than the suffix's, what the suffix gives to the shorter one is taken away again (docs/theory.md, eq. (T58)):
    `add` and `take` hold both. first: F is not applied to the word after the root, which has no word before it.
    """

    chain: Backoff
    add: csr_matrix  # [S, S]
    take: csr_matrix  # [S, S]
    add_t: csr_matrix
    take_t: csr_matrix
    down: tuple[csr_matrix, ...]  # by level: [all states, states of the level], kept at (suffix, state)
    pair: Floats | None  # P(word | root) F(last, word) [V, V]
    positive: bool

    def back(self, value: Floats) -> Floats:
        """Return sum_t M(s, t) value(t) for all states and the root: [S, K] to [S + 1, K]."""
        chain = self.chain
        made, taken = self.add @ value, self.take @ value
        result = np.empty((chain.root + 1, value.shape[1]))
        result[chain.root] = chain.unigram @ value[: chain.vocabulary]
        for level in chain.levels:
            below = result[level.suffix] if level.length > 1 or self.pair is None else self.pair @ value[: len(self.pair)]
            rest = below - taken[level.states]
            if self.positive:
                np.maximum(rest, 0.0, out=rest)  # a sum of probabilities, but for rounding
            result[level.states] = made[level.states] + level.kept[:, None] * rest
        return result

    def forward(self, mass: Floats) -> Floats:
        """Return sum_s mass(s) M(s, t) for all states t: [S + 1, K], the root's last, to [S, K]."""
        chain = self.chain
        total = mass.copy()
        kept = np.zeros((chain.root, mass.shape[1]))
        words = None
        for level, down in zip(reversed(chain.levels), reversed(self.down), strict=True):
            own = total[level.states]
            kept[level.states] = level.kept[:, None] * own
            if level.length == 1 and self.pair is not None:
                words = self.pair.T @ kept[level.states]
            else:
                total += down @ own
        result = self.add_t @ total[:-1] - self.take_t @ kept
        result[: chain.vocabulary] += chain.unigram[:, None] * total[-1]
        if words is not None:
            result[: chain.vocabulary] += words
        if self.positive:
            np.maximum(result, 0.0, out=result)
        return result


def passes_of(chain: Backoff, factor: Floats | None = None) -> Passes:
    """Return the operator of a chain; factor: F(word, next word) [V, V], None for 1."""
    size, top = chain.root, len(chain.levels)
    add: list[tuple[Floats, Floats, Floats]] = []
    take: list[tuple[Floats, Floats, Floats]] = []
    down = []
    below = None
    for level in chain.levels:
        source = level.source
        low_target = level.word if below is None else below.target[level.lower]
        low = chain.unigram[level.word] if below is None else below.full[level.lower]
        longer = level.target != low_target
        value = np.where(longer, level.full, level.share)
        times = 1.0 if factor is None else factor[chain.last[level.first + source], level.word]
        add.append((value * times, level.first + source, level.target))
        if level.length < top:
            gone = (low * times)[longer], (level.first + source)[longer], low_target[longer]
            take.append(gone)
        states = np.arange(level.suffix.size)
        down.append(csr_matrix((level.kept, (level.suffix, states)), shape=(size + 1, states.size)))
        below = level
    adds, takes = _matrix(add, size), _matrix(take, size)
    pair = None if factor is None else chain.unigram * factor
    positive = factor is None or bool((factor >= 0).all())
    return Passes(chain, adds, takes, adds.T.tocsr(), takes.T.tocsr(), tuple(down), pair, positive)


def _matrix(parts: list[tuple[Floats, Floats, Floats]], size: int) -> csr_matrix:
    value, row, column = (np.concatenate([part[i] for part in parts] or [np.zeros(0)]) for i in range(3))
    return csr_matrix((value, (row.astype(np.int64), column.astype(np.int64))), shape=(size, size))
