"""Forward-backward on a tilted backoff chain, for several canvases at once: one sparse product a position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from rws_theory.worlds.backoff import Backoff, Floats, Ints
from rws_theory.worlds.tilts import Tilt

MASK = -1


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


@dataclass(frozen=True, eq=False)
class Lattice:
    """A chain, the weights exp(beta R) of its words and pairs, and the operators of both.

    A message is [S, K, Q]: states of the chain, canvases, states of the automaton. weight: of the word that each
    state ends with, [S, Q], at most 1; to: the automaton's next state [S, Q]. `word_shift` and `pair_shift` are the
    logs of the factors divided out of the weights of words and of pairs.
    """

    chain: Backoff
    passes: Passes
    weight: Floats
    to: Ints
    plain: bool  # all weights are 1
    word_shift: float
    pair_shift: float
    by_word: csr_matrix  # [V, S]: sums over the states that end with a word

    @property
    def automaton_states(self) -> int:
        """Return Q."""
        return self.weight.shape[1]

    def posteriors(self, canvases: Sequence[Ints], starts: Sequence[int]) -> list[Floats]:
        """Return P(word at each position | revealed), [n, V], of canvases that follow the given states."""
        if not canvases:
            return []
        lengths = np.array([canvas.size for canvas in canvases])
        backs = self.backward(canvases)
        rows = [np.zeros((canvas.size, self.chain.vocabulary)) for canvas in canvases]
        active = list(range(len(canvases)))
        mass, root = self._start(starts)
        for i in range(lengths.max()):
            if (lengths[active] <= i).any():
                mass, active = mass[:, lengths[active] > i], [k for k in active if lengths[k] > i]
            tokens = np.array([canvases[k][i] for k in active])
            mass, root = self._emit(self._forward(mass, root), tokens), None
            if not self.plain:
                mass /= mass.max(axis=(0, 2), keepdims=True)
            free = [column for column, k in enumerate(active) if tokens[column] == MASK and i not in backs[k]]
            ahead = self._by_word(mass) if free else None  # of positions without later evidence
            for column, k in enumerate(active):
                if tokens[column] != MASK:
                    rows[k][i, tokens[column]] = 1.0
                elif ahead is not None and i not in backs[k]:
                    rows[k][i] = _normalised(ahead[:, column])
                else:
                    rows[k][i] = _normalised(self._by_word((mass[:, column] * backs[k][i])[:, None])[:, 0])
        return rows

    def backward(self, canvases: Sequence[Ints]) -> list[dict[int, Floats]]:
        """Return for each canvas and position i the message from the text after i, [S, Q], up to constants.

        Positions whose message is 1 for all states are left out.
        """
        last = np.array([self._last_evidence(canvas) for canvas in canvases])  # beyond it all is 1
        backs: list[dict[int, Floats]] = [{} for _ in canvases]
        value = np.ones((self.chain.root, 0, self.automaton_states))
        active = np.zeros(0, dtype=np.int64)
        for i in range(int(last.max()), 0, -1):
            new = np.flatnonzero(last == i)
            value = np.concatenate([value, np.ones((len(value), new.size, value.shape[2]))], axis=1)
            active = np.concatenate([active, new])
            weighed = self._weighed(value, np.array([canvases[k][i] for k in active]))
            value = self.passes.back(weighed.reshape(len(weighed), -1))[:-1].reshape(value.shape)
            if not self.plain:
                value /= value.max(axis=(0, 2), keepdims=True)
            for column, k in enumerate(active):
                backs[k][i - 1] = value[:, column]
        return backs

    def log_total(self, canvas: Ints, start: int) -> float:
        """Return the log of the weights of all texts that a canvas allows, after a state."""
        mass, root = self._start([start])
        total = canvas.size * self.word_shift + (canvas.size - (start == self.chain.root)) * self.pair_shift
        for token in canvas:
            mass, root = self._forward(mass, root), None
            if token != MASK:
                total += float(np.log(mass[self._ends(int(token)), 0].max()))  # what `_emit` divides out
            mass = self._emit(mass, np.array([token]))
            some = float(mass.sum())
            total += float(np.log(some))
            mass /= some
        return total

    def mean(self, canvas: Ints, start: int, reward: Floats, pairs: Passes | None) -> float:
        """Return the mean of sum_i reward(automaton's state before i, word i) + pairs(word i - 1, word i).

        reward: [V, Q]. pairs: operator of the chain whose factor is that of the lattice times the reward of a pair.
        """
        backs = self.backward([canvas])[0]
        mass, root = self._start([start])
        total = 0.0
        of_word = reward[self.chain.last][:, None]  # [S, 1, Q]
        for i, token in enumerate(canvas):
            future = backs[i][:, None] if i in backs else np.ones((self.chain.root, 1, self.automaton_states))
            after = self._weighed(future, np.array([token]))
            arrived = self._forward(mass, root)
            mass_here = float((arrived * after).sum())
            total += float((arrived * after * of_word).sum()) / mass_here
            if pairs is not None:  # nothing is moved from the root, as the first word has none before it
                moved = pairs.forward(mass.reshape(len(mass), -1)).reshape(arrived.shape)
                total += float((moved * after).sum()) / mass_here
            mass, root = self._emit(arrived, np.array([token])), None
            mass /= mass.sum()
        return total

    def _last_evidence(self, canvas: Ints) -> int:
        """Return the last position that is evidence about those before it, -1 if there is none."""
        if not self.plain:
            return canvas.size - 1
        revealed = np.flatnonzero(canvas != MASK)
        return int(revealed[-1]) if revealed.size else -1

    def _start(self, starts: Sequence[int]) -> tuple[Floats, Floats]:
        """Return the mass of the states [S, K, Q] and of the root [K Q]."""
        mass = np.zeros((self.chain.root + 1, len(starts), self.automaton_states))
        mass[starts, np.arange(len(starts)), 0] = 1.0
        return mass[:-1], mass[-1].ravel()

    def _forward(self, mass: Floats, root: Floats | None) -> Floats:
        return self.passes.forward(mass.reshape(len(mass), -1), root).reshape(mass.shape)

    def _by_word(self, mass: Floats) -> Floats:
        """Return the mass of the states that end with each word, [V, K]."""
        return _product(self.by_word, mass[:, :, 0] if self.automaton_states == 1 else mass.sum(axis=2))

    def _weighed(self, value: Floats, tokens: Ints) -> Floats:
        """Return a word's weight times the message after it, by the automaton's state *before* it, given the tokens."""
        if self.automaton_states > 1:
            value = np.take_along_axis(value, self.to[:, None], axis=2)
        if not self.plain:
            value = value * self.weight[:, None]
        elif (tokens != MASK).any():
            value = value.copy()
        self._keep(value, tokens)
        return value

    def _emit(self, mass: Floats, tokens: Ints) -> Floats:
        """Return the weighted mass by the automaton's state *after* a word, given the tokens; `mass` is overwritten."""
        self._keep(mass, tokens)
        if self.plain:
            return mass
        mass *= self.weight[:, None]
        if self.automaton_states == 1:
            return mass
        moved, states = np.zeros_like(mass), np.arange(len(mass))
        for before in range(self.automaton_states):
            moved[states, :, self.to[:, before]] += mass[:, :, before]
        return moved

    def _keep(self, message: Floats, tokens: Ints) -> None:
        """Set to 0, in columns of a revealed token, the states that end with another one, in place, and rescale.

        The largest becomes 1, so that a long text of revealed words does not leave float64.
        """
        for column in np.flatnonzero(tokens != MASK):
            ends = self._ends(int(tokens[column]))
            revealed = message[ends, column]
            message[:, column] = 0.0
            message[ends, column] = revealed / revealed.max()

    def _ends(self, word: int) -> Ints:
        begin, end = self.by_word.indptr[word : word + 2]
        return np.asarray(self.by_word.indices[begin:end], dtype=np.int64)


def _normalised(weights: Floats) -> Floats:
    weights = np.ascontiguousarray(weights)  # sums in one order, however it was stored
    return weights / weights.sum()


def lattice_of(chain: Backoff, tilt: Tilt, passes: Passes | None = None) -> Lattice:
    """Return the lattice of a chain and its `Tilt`; passes: those of the chain alone, if they are known."""
    words = tilt.words
    word_shift = float(words.reward.max())
    pair_shift = 0.0 if tilt.pairs is None else float(tilt.pairs.max())
    if tilt.pairs is not None:
        passes = passes_of(chain, np.exp(tilt.pairs - pair_shift))
    states = np.arange(chain.root)
    return Lattice(
        chain=chain,
        passes=passes_of(chain) if passes is None else passes,
        weight=np.exp(words.reward - word_shift).T[chain.last],
        to=words.following.T[chain.last],
        plain=tilt.pairs is None and np.ptp(words.reward) == 0 and len(words.reward) == 1,
        word_shift=word_shift,
        pair_shift=pair_shift,
        by_word=csr_matrix((np.ones(chain.root), (chain.last, states)), shape=(chain.vocabulary, chain.root)),
    )
