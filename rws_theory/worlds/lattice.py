"""Forward-backward on a tilted backoff chain, for several canvases at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from rws_theory.worlds.backoff import Backoff, Floats, Ints
from rws_theory.worlds.backoff_passes import Passes, passes_of
from rws_theory.worlds.tilts import Tilt

MASK = -1


@dataclass(frozen=True, eq=False)
class Lattice:
    """A chain, the weights that tilt it, and the operators of both.

    A message is [S, K, Q]: states of the chain, canvases, states of the tilt's automaton. weight: of the word that each
    state ends with, [S, Q], at most 1; to: the automaton's next state [S, Q]. `word_shift` and `pair_shift` are the
    logs of what was divided out of a weight of a word and of a pair.
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
            ahead = self._by_word(mass) if free else None  # where nothing follows that says anything
            for column, k in enumerate(active):
                if tokens[column] != MASK:
                    rows[k][i, tokens[column]] = 1.0
                elif ahead is not None and i not in backs[k]:
                    rows[k][i] = _normalised(ahead[:, column])
                else:
                    rows[k][i] = _normalised(self._by_word((mass[:, column] * backs[k][i])[:, None])[:, 0])
        return rows

    def backward(self, canvases: Sequence[Ints]) -> list[dict[int, Floats]]:
        """Return for each canvas by position i, up to constants: what follows from a state after i, [S, Q].

        Positions where it is 1 for all states are left out.
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
            here = float((arrived * after).sum())
            total += float((arrived * after * of_word).sum()) / here
            if pairs is not None:  # nothing is moved from the root, as the first word has none before it
                moved = pairs.forward(mass.reshape(len(mass), -1)).reshape(arrived.shape)
                total += float((moved * after).sum()) / here
            mass, root = self._emit(arrived, np.array([token])), None
            mass /= mass.sum()
        return total

    def _last_evidence(self, canvas: Ints) -> int:
        """Return the last position that says anything about those before it, -1 if none does."""
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
        flat = mass[:, :, 0] if self.automaton_states == 1 else mass.sum(axis=2)
        # A vector's product is much faster than that of a matrix of one column, and sums in the same order.
        return self.by_word @ flat if flat.shape[1] > 1 else (self.by_word @ flat[:, 0])[:, None]

    def _weighed(self, value: Floats, tokens: Ints) -> Floats:
        """Return by the automaton's state *before* a word what the word weighs and what follows, given the tokens."""
        if self.automaton_states > 1:
            value = np.take_along_axis(value, self.to[:, None], axis=2)
        if not self.plain:
            value = value * self.weight[:, None]
        elif (tokens != MASK).any():
            value = value.copy()
        self._keep(value, tokens)
        return value

    def _emit(self, mass: Floats, tokens: Ints) -> Floats:
        """Return mass by the automaton's state *after* a word, weighed, given the tokens; `mass` is used up."""
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
        """Keep of each column whose token is revealed only the states that end with it, in place; scale what is left.

        The largest becomes 1, so that a long text of revealed words does not leave float64.
        """
        for column in np.flatnonzero(tokens != MASK):
            ends = self._ends(int(tokens[column]))
            kept = message[ends, column]
            message[:, column] = 0.0
            message[ends, column] = kept / kept.max()

    def _ends(self, word: int) -> Ints:
        begin, end = self.by_word.indptr[word : word + 2]
        return np.asarray(self.by_word.indices[begin:end], dtype=np.int64)


def _normalised(weights: Floats) -> Floats:
    weights = np.ascontiguousarray(weights)  # sums in one order, however it was stored
    return weights / weights.sum()


def lattice_of(chain: Backoff, tilt: Tilt, passes: Passes | None = None) -> Lattice:
    """Return the lattice of a chain and a tilt; passes: those of the chain alone, if they are there."""
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
