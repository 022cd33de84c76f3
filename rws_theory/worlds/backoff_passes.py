"""Pass probabilities along a backoff chain: one sparse product a position, backward or forward."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from rws_theory.worlds.backoff import Backoff, Floats


@dataclass(frozen=True, eq=False)
class Passes:
    """The chain's transitions M(s, t) = P(word of t | s) F(last word of s, word of t), as an operator.

    The row of a state is that of its suffix times `kept`, plus `arcs`. An arc adds its share, or, where it leads to a
    longer state than the suffix's, all of its probability there less what the suffix gives to the shorter state
    (docs/theory.md, eq. (T60)).
    """

    chain: Backoff
    arcs: csr_matrix  # [S, S]
    arcs_t: csr_matrix
    down: tuple[csr_matrix, ...]  # from each level to that below, from 1 to the root: kept at (suffix, state)
    unigram: csr_matrix  # [1, V]
    pair: Floats | None  # P(word | root) F(last, word) [V, V]

    @property
    def nbytes(self) -> int:
        """Return the bytes of the operator's arrays."""
        matrices = (self.arcs, self.arcs_t, self.unigram, *self.down)
        sparse = sum(each.data.nbytes + each.indices.nbytes + each.indptr.nbytes for each in matrices)
        return sparse + (0 if self.pair is None else self.pair.nbytes)

    def back(self, value: Floats) -> Floats:
        """Return sum_t M(s, t) value(t) for all states and the root: [S, K] to [S + 1, K]."""
        chain = self.chain
        words = value[: chain.vocabulary]
        result = np.empty((chain.root + 1, value.shape[1]))
        result[:-1] = _product(self.arcs, value)
        result[-1] = _product(self.unigram, words)[0]
        below = result[-1] if self.pair is None else _by_column(self.pair, words)
        for level in chain.levels:
            if level.length > 1:
                below = result[level.suffix]
            result[level.states] += level.kept[:, None] * below
        return result

    def forward(self, mass: Floats, root: Floats | None = None) -> Floats:
        """Return sum_s mass(s) M(s, t) for all states t, [S, K]; root: mass of the root [K], None for none."""
        chain = self.chain
        lowest = chain.levels[0]
        total = mass
        if len(chain.levels) > 1:
            total = mass.copy()
            for below, level, down in zip(chain.levels[-2::-1], chain.levels[:0:-1], self.down[:0:-1], strict=True):
                total[below.states] += _product(down, total[level.states])
        words = total[lowest.states]
        result = _product(self.arcs_t, total)
        rest = np.zeros(mass.shape[1])
        if self.pair is None:
            rest = _product(self.down[0], words)[0]
        else:
            result[: chain.vocabulary] += _by_column(self.pair.T, lowest.kept[:, None] * words)
        if root is not None:
            rest = rest + root
        result[: chain.vocabulary] += chain.unigram[:, None] * rest
        return result


def passes_of(chain: Backoff, factor: Floats | None = None) -> Passes:
    """Return the operator of a chain; factor: F(word, next word) [V, V], None for 1."""
    values, rows, columns = [np.zeros(0)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    down = [csr_matrix(chain.levels[0].kept)]
    below = None
    for level in chain.levels:
        source = level.first + level.source
        low_target = level.word if below is None else below.target[level.lower]
        low = chain.unigram[level.word] if below is None else below.full[level.lower]
        longer = level.target != low_target
        times = np.ones(source.size) if factor is None else factor[chain.last[source], level.word]
        gone = times * low * level.kept[level.source]
        values += [np.where(longer, level.full, level.share) * times, -gone[longer]]
        rows += [source, source[longer]]
        columns += [level.target, low_target[longer]]
        if below is not None:
            where = level.suffix - below.first, np.arange(level.suffix.size)
            down.append(csr_matrix((level.kept, where), shape=(below.suffix.size, level.suffix.size)))
        below = level
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    arcs = csr_matrix(entries, shape=(chain.root, chain.root))
    pair = None if factor is None else chain.unigram * factor
    return Passes(chain, arcs, arcs.T.tocsr(), tuple(down), csr_matrix(chain.unigram), pair)


# Both sum in one order however many columns there are, so that a batch gives the bits of its rows.
def _product(matrix: csr_matrix, value: Floats) -> Floats:
    # A vector's product is much faster than that of a matrix of one column.
    return (matrix @ value[:, 0])[:, None] if value.shape[1] == 1 else matrix @ value


def _by_column(matrix: Floats, value: Floats) -> Floats:
    return np.stack([matrix @ np.ascontiguousarray(column) for column in value.T], axis=1)
