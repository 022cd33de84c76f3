"""The most probable text of a tilted backoff chain (Viterbi, 1967)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rws_theory.worlds.backoff import Backoff, Floats, Ints, Level
from rws_theory.worlds.tilts import Tilt

__all__ = ["BestTexts", "best_texts"]

MASK = -1
_FIRST_RANKS = 16
# A search takes minutes for so many words of the shipped model, and a gigabyte for so many choices.
_WORDS, _CHOICES = 2**12, 2**28


@dataclass(frozen=True, eq=False)
class _Arcs:
    """Runs of arcs, one run a state: logs of probability, words, where each run begins, and the run of each arc."""

    log_full: Floats
    log_kept: Floats
    word: Ints
    begin: Ints
    run: Ints

    def best(self, value: Floats) -> tuple[Floats, Ints]:
        """Return the largest value of each run and its word; -inf and 0 of an empty run."""
        top, word = np.full(self.begin.size - 1, -np.inf), np.zeros(self.begin.size - 1, dtype=np.int64)
        some = np.flatnonzero(np.diff(self.begin))
        if some.size:
            top[some] = np.maximum.reduceat(value, self.begin[:-1][some])
            arcs = np.flatnonzero(value == top[self.run])[::-1]  # the first of equals is written last
            word[self.run[arcs]] = self.word[arcs]
        return top, word


@dataclass(frozen=True, eq=False)
class BestTexts:
    """The best word at each position of a canvas for every state before it; `after` reads the best text from it.

    choices: int32 [n, states of the chain, states of the reward's automaton].
    """

    chain: Backoff
    tilt: Tilt
    choices: NDArray[np.int32]

    def after(self, start: int) -> Ints:
        """Return the text of largest weight, int64 [n], after a state of the chain."""
        following = self.tilt.words.following
        text, state, reader = np.empty(len(self.choices), dtype=np.int64), start, 0
        for i, choice in enumerate(self.choices):
            text[i] = choice[state, reader]
            state, reader = self.chain.follow(state, int(text[i]))[1], int(following[reader, text[i]])
        return text


def best_texts(chain: Backoff, tilt: Tilt, canvas: Ints) -> BestTexts:
    """Return the texts of largest weight among those that a canvas allows, one for each state before it.

    ValueError for a canvas that is too long to search: see `_WORDS` and `_CHOICES`.
    """
    following, rewards = tilt.words.following, tilt.words.reward
    states = len(following)
    most = min(_WORDS, _CHOICES // ((chain.root + 1) * states))
    if canvas.size > most:
        raise ValueError(f"n is {canvas.size}: the best text of at most {most} words can be searched for here")
    words, each = np.arange(chain.vocabulary), np.arange(chain.root)
    with np.errstate(divide="ignore"):  # of the root, which lists all words, and of each level
        root = np.zeros(1), words, np.array([0, words.size]), np.zeros(words.size, np.int64)
        arcs = [_Arcs(np.log(chain.unigram), *root)]
        for level in chain.levels:
            arcs.append(_Arcs(np.log(level.full), np.log(level.kept), level.word, level.begin, level.source))
    value = np.zeros((chain.root, states))  # of what follows, by the chain's and the automaton's state
    choices = np.empty((canvas.size, chain.root + 1, states), dtype=np.int32)
    for i in range(canvas.size - 1, -1, -1):
        before = np.empty((chain.root + 1, states))
        for reader in range(states):
            ahead = value[each, following[reader, chain.last]] + rewards[reader, chain.last]
            if canvas[i] != MASK:
                ahead = np.where(chain.last == canvas[i], ahead, -np.inf)
            before[:, reader], choices[i, :, reader] = _step(chain, arcs, ahead, tilt.pairs)
        value = before[:-1]
    return BestTexts(chain, tilt, choices)


def _step(chain: Backoff, arcs: list[_Arcs], ahead: Floats, pairs: Floats | None) -> tuple[Floats, Ints]:
    """Return for each state, the root's last, the best word's value and the word; ahead: value of each next state."""
    value, word = np.empty(chain.root + 1), np.empty(chain.root + 1, dtype=np.int64)
    below, listed = arcs[0], arcs[0].log_full + ahead[: chain.vocabulary]
    value[-1:], word[-1:] = below.best(listed)
    beyond, beyond_word = np.array([-np.inf]), np.zeros(1, np.int64)  # the best beyond the arcs of the level below
    first = chain.root
    for level, runs in zip(chain.levels, arcs[1:], strict=True):
        suffix = level.suffix - first
        if level.length == 1 and pairs is not None:
            rest, rest_word = _rest_of_pairs(level, listed, pairs)
        elif 1 < level.length == len(chain.levels):  # a listed word leads where it leads from the suffix, more probably
            rest, rest_word = value[level.suffix], word[level.suffix]
        else:
            arc = _best_unlisted(level, suffix, listed, below)
            rest = np.where(arc < 0, -np.inf, listed[arc])
            rest_word = np.where(rest >= beyond[suffix], below.word[arc], beyond_word[suffix])
            rest = np.maximum(rest, beyond[suffix])
        beyond, beyond_word = rest + runs.log_kept, rest_word
        listed = runs.log_full + ahead[level.target]
        if pairs is not None:
            listed += pairs[chain.last[level.first + runs.run], level.word]
        top, top_word = runs.best(listed)
        value[level.states] = np.maximum(top, beyond)
        word[level.states] = np.where(top >= beyond, top_word, beyond_word)
        below, first = runs, level.first
    return value, word


def _best_unlisted(level: Level, suffix: Ints, value: Floats, below: _Arcs) -> Ints:
    """Return for each state the best of its suffix's arcs whose word it does not list itself, -1 if it lists all.

    The arcs of each suffix are ranked; the answer has the first rank that is missing among those of the state's words.
    """
    order = np.lexsort((-value, below.run)) if below.begin.size > 2 else np.argsort(-value, kind="stable")
    rank = np.empty(order.size, dtype=np.int64)
    rank[order] = np.arange(order.size) - below.begin[below.run]  # runs stand one after the other
    ranked, source = rank[level.lower], level.source
    missing = np.full(suffix.size, -1)
    unsettled, ranks = np.arange(suffix.size), _FIRST_RANKS
    while unsettled.size:
        row_of = np.full(suffix.size, -1)
        row_of[unsettled] = np.arange(unsettled.size)
        near = (ranked < ranks) & (row_of[source] >= 0)
        listed = np.zeros((unsettled.size, ranks + 1), dtype=bool)  # nothing in the last column
        listed[row_of[source[near]], ranked[near]] = True
        first = listed.argmin(axis=1)
        missing[unsettled[first < ranks]] = first[first < ranks]
        unsettled, ranks = unsettled[first == ranks], 4 * ranks
    size = np.diff(below.begin)[suffix]
    return np.where(missing < size, order[np.minimum(below.begin[suffix] + missing, order.size - 1)], -1)


def _rest_of_pairs(level: Level, unigram: Floats, pairs: Floats) -> tuple[Floats, Ints]:
    """Return the best unlisted word after each single word, where each pair adds something of its own."""
    rows = pairs + unigram
    rows[level.source, level.word] = -np.inf
    word = rows.argmax(axis=1)
    return rows[np.arange(len(rows)), word], word
