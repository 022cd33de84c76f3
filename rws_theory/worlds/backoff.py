"""Count n-grams and smooth them: the states and arcs of a backoff chain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Level:
    """The states that hold `length` words, and their arcs: the words that the counts list after each state.

    first: global number of the first state. suffix: the state one word shorter [S], global; at length 1 it is the root.
    kept: share of probability that goes to the suffix [S]. Arcs of state s are begin[s] to begin[s + 1]: word [E],
    ascending; share: what the counts add to the suffix's probability [E]; full: P(word | state) [E]; target: the next
    state [E], global; lower: the arc of the same word at the suffix [E].
    """

    length: int
    first: int
    suffix: Ints
    kept: Floats
    begin: Ints
    word: Ints
    share: Floats
    full: Floats
    target: Ints
    lower: Ints

    @property
    def states(self) -> slice:
        """Return the global numbers of the states."""
        return slice(self.first, self.first + self.suffix.size)

    @property
    def source(self) -> Ints:
        """Return the state of each arc, counted within the level."""
        return np.repeat(np.arange(self.suffix.size), np.diff(self.begin))


@dataclass(frozen=True, eq=False)
class Backoff:
    """A smoothed n-gram model as a Markov chain: its state is the longest suffix of the text that the counts know.

    States 0 .. V - 1 are single words, longer ones follow by length, and the last number is the root, the empty text.
    unigram: P(word | root) [V]. last: the last word of each state [S]. levels: by length, from 1.
    """

    order: int
    unigram: Floats
    levels: tuple[Level, ...]
    last: Ints

    @property
    def vocabulary(self) -> int:
        """Return the number of words."""
        return self.unigram.size

    @property
    def root(self) -> int:
        """Return the number of the state of the empty text, which is also how many other states there are."""
        return self.last.size

    @property
    def nbytes(self) -> int:
        """Return the bytes of all arrays."""
        arrays = [value for level in self.levels for value in vars(level).values() if isinstance(value, np.ndarray)]
        return sum(array.nbytes for array in (*arrays, self.unigram, self.last))

    def row(self, state: int) -> tuple[Floats, Ints]:
        """Return P(word | state) and the next state of every word, both [V]."""
        chain = []
        while state != self.root:
            level = next(level for level in reversed(self.levels) if level.first <= state)
            chain.append((level, state - level.first))
            state = int(level.suffix[state - level.first])
        probability, target = self.unigram.copy(), np.arange(self.vocabulary)
        for level, row in reversed(chain):
            arcs = slice(level.begin[row], level.begin[row + 1])
            probability *= level.kept[row]
            probability[level.word[arcs]] = level.full[arcs]
            target[level.word[arcs]] = level.target[arcs]
        return probability, target

    def follow(self, state: int, word: int) -> tuple[float, int]:
        """Return P(word | state) and the next state."""
        share = 1.0
        while state != self.root:
            level = next(level for level in reversed(self.levels) if level.first <= state)
            row = state - level.first
            begin, end = level.begin[row], level.begin[row + 1]
            arc = begin + int(np.searchsorted(level.word[begin:end], word))
            if arc < end and level.word[arc] == word:
                return share * float(level.full[arc]), int(level.target[arc])
            share *= float(level.kept[row])
            state = int(level.suffix[row])
        return share * float(self.unigram[word]), word

    def after(self, context: Sequence[int] | Ints) -> int:
        """Return the state after a text, the root after none."""
        state = self.root
        for word in np.asarray(context, dtype=np.int64)[-(self.order - 1) :] if self.order > 1 else context[-1:]:
            state = self.follow(state, int(word))[1]
        return state


@dataclass(frozen=True)
class _Grams:
    # All n-grams of one length: how often each occurs, its last word, and the grams without its first and last word.
    count: Ints
    word: Ints
    suffix: Ints
    prefix: Ints


def fit_backoff(
    sequences: Sequence[ArrayLike], order: int, vocabulary: int, discount: float, minimum: Sequence[int]
) -> Backoff:
    """Fit interpolated absolute discounting (docs/theory.md, eq. (T59)).

    minimum: least count of the n-grams of 2, 3, ..., `order` words that are listed; ascending.
    """
    grams = _count(sequences, order, vocabulary)
    count = grams[0].count
    known = np.maximum(count - discount, 0.0)
    unigram = (known + (count.sum() - known.sum()) / vocabulary) / count.sum()
    listed = [gram.count >= least for gram, least in zip(grams[1:], minimum, strict=True)]  # by length, from 2
    numbers, last = _states(grams, listed, vocabulary)
    levels: list[Level] = []
    for length in range(1, max(order, 2)):
        levels.append(_level(length, grams, listed, numbers, discount, unigram, levels, last.size))
    return Backoff(order, unigram, tuple(levels), last)


def _count(sequences: Sequence[ArrayLike], order: int, vocabulary: int) -> list[_Grams]:
    rows = [np.asarray(sequence, dtype=np.int64) for sequence in sequences]
    text = np.concatenate(rows)
    position = np.concatenate([np.arange(row.size) for row in rows])  # within its sequence
    number, none = text, np.zeros(0, dtype=np.int64)
    grams = [_Grams(np.bincount(text, minlength=vocabulary), np.arange(vocabulary), none, none)]
    for length in range(2, order + 1):
        end = np.flatnonzero(position >= length - 1)
        keys, first, inverse, count = np.unique(
            number[end - 1] * vocabulary + text[end], return_index=True, return_inverse=True, return_counts=True
        )
        grams.append(_Grams(count, keys % vocabulary, number[end[first]], keys // vocabulary))
        number = np.full(text.size, -1)
        number[end] = inverse
    return grams


def _states(grams: list[_Grams], listed: list[NDArray[np.bool_]], vocabulary: int) -> tuple[list[Ints], Ints]:
    """Return the state of each gram by length, -1 if it is none, and the last word of each state.

    All words are states, and the longer grams that a listed gram goes on.
    """
    numbers, last = [np.arange(vocabulary)], [np.arange(vocabulary)]
    total = vocabulary
    for gram, longer, known in zip(grams[1:], grams[2:], listed[1:], strict=False):
        used = np.zeros(gram.count.size, dtype=bool)
        used[longer.prefix[known]] = True
        numbers.append(np.where(used, total + np.cumsum(used) - 1, -1))
        last.append(gram.word[used])
        total += int(used.sum())
    return numbers, np.concatenate(last)


def _level(
    length: int,
    grams: list[_Grams],
    listed: list[NDArray[np.bool_]],
    numbers: list[Ints],
    discount: float,
    unigram: Floats,
    levels: list[Level],
    root: int,
) -> Level:
    state_of = numbers[length - 1]
    states = np.flatnonzero(state_of >= 0)  # as grams
    suffix = np.full(states.size, root) if length == 1 else numbers[length - 2][grams[length - 1].suffix[states]]
    first = int(state_of[states[0]]) if states.size else root
    if length >= len(grams):  # order 1: words do not matter
        none = np.zeros(0, dtype=np.int64)
        zero = np.zeros(0)
        return Level(
            1, first, suffix, np.ones(states.size), np.zeros(states.size + 1, np.int64), none, zero, zero, none, none
        )
    gram = grams[length]
    arcs = np.flatnonzero(listed[length - 1])  # sorted by prefix, then word
    source = state_of[gram.prefix[arcs]] - first
    times = np.bincount(gram.prefix, weights=gram.count, minlength=state_of.size)[states]
    known = np.bincount(source, weights=gram.count[arcs] - discount, minlength=states.size)
    some = np.maximum(times, 1)
    kept = np.where(times > 0, (times - known) / some, 1.0)
    share = (gram.count[arcs] - discount) / some[source]
    word = gram.word[arcs]
    if length == 1:
        lower, below = word, unigram[word]
    else:  # arcs of the level below stand in the order of its grams
        arc_of = np.cumsum(listed[length - 2]) - 1
        lower = arc_of[gram.suffix[arcs]]
        below = levels[-1].full[lower]
    return Level(
        length=length,
        first=first,
        suffix=suffix,
        kept=kept,
        begin=np.concatenate([[0], np.cumsum(np.bincount(source, minlength=states.size))]),
        word=word,
        share=share,
        full=share + kept[source] * below,
        target=_targets(length + 1, arcs, grams, numbers),
        lower=lower,
    )


def _targets(length: int, gram: Ints, grams: list[_Grams], numbers: list[Ints]) -> Ints:
    """Return the longest state that each gram of this length ends with."""
    target = np.full(gram.size, -1)
    while True:
        state = numbers[length - 1][gram] if length <= len(numbers) else np.full(gram.size, -1)
        target = np.where(target < 0, state, target)
        if length == 1 or (target >= 0).all():
            return target
        gram = grams[length - 1].suffix[gram]
        length -= 1
