"""The most probable text of a tilted backoff chain (Viterbi, 1967)."""

from __future__ import annotations

import numpy as np

from rws_theory.worlds.backoff import Backoff, Floats, Ints, Level
from rws_theory.worlds.tilts import Tilt

__all__ = ["best_text"]

MASK = -1
_FIRST_RANKS = 16


def best_text(chain: Backoff, tilt: Tilt, canvas: Ints, start: int) -> Ints:
    """Return the text of largest weight among those that a canvas allows, after a state."""
    following = tilt.words.following
    states = len(following)
    value = np.zeros((chain.root, states))  # of what follows, by the chain's and the automaton's state
    choices = np.empty((canvas.size, chain.root + 1, states), dtype=np.int32)
    for i in range(canvas.size - 1, -1, -1):
        before = np.empty((chain.root + 1, states))
        for own in range(states):
            ahead = value[np.arange(chain.root), following[own, chain.last]] + tilt.words.reward[own, chain.last]
            if canvas[i] != MASK:
                ahead = np.where(chain.last == canvas[i], ahead, -np.inf)
            before[:, own], choices[i, :, own] = _step(chain, ahead, tilt.pairs)
        value = before[:-1]
    text, state, own = np.empty(canvas.size, dtype=np.int64), start, 0
    for i in range(canvas.size):
        text[i] = choices[i, state, own]
        state, own = chain.follow(state, int(text[i]))[1], int(following[own, text[i]])
    return text


def _step(chain: Backoff, ahead: Floats, pairs: Floats | None) -> tuple[Floats, Ints]:
    """Return for each state, the root's last, the best word's value and the word; ahead: value of each next state."""
    value, word = np.empty(chain.root + 1), np.empty(chain.root + 1, dtype=np.int64)
    with np.errstate(divide="ignore"):
        unigram = np.log(chain.unigram) + ahead[: chain.vocabulary]
    value[-1], word[-1] = unigram.max(), unigram.argmax()
    # Of the level below: its arcs' values and words by state, and what is best beyond them.
    arcs, words, begin = unigram, np.arange(chain.vocabulary), np.array([0, unigram.size])
    beyond, beyond_word = np.array([-np.inf]), np.array([0])
    first = chain.root
    for level in chain.levels:
        suffix = level.suffix - first
        if level.length == 1 and pairs is not None:
            rest, rest_word = _rest_of_pairs(level, unigram, pairs)
        else:
            arc = _best_unlisted(level, suffix, arcs, begin)
            rest = np.where(arc < 0, -np.inf, arcs[arc])
            rest_word = np.where(rest >= beyond[suffix], words[arc], beyond_word[suffix])
            rest = np.maximum(rest, beyond[suffix])
        with np.errstate(divide="ignore"):
            beyond, beyond_word = rest + np.log(level.kept), rest_word
            arcs = np.log(level.full) + ahead[level.target]
        if pairs is not None:
            arcs = arcs + pairs[chain.last[level.first + level.source], level.word]
        words, begin, first = level.word, level.begin, level.first
        top, top_word = _best_of_each(arcs, words, begin)
        value[level.states] = np.maximum(top, beyond)
        word[level.states] = np.where(top >= beyond, top_word, beyond_word)
    return value, word


def _best_of_each(values: Floats, words: Ints, begin: Ints) -> tuple[Floats, Ints]:
    """Return the largest value of each run of arcs and its word; -inf and 0 of an empty run."""
    top, word = np.full(begin.size - 1, -np.inf), np.zeros(begin.size - 1, dtype=np.int64)
    some = np.flatnonzero(np.diff(begin))
    if some.size:
        top[some] = np.maximum.reduceat(values, begin[:-1][some])
        run = np.repeat(np.arange(begin.size - 1), np.diff(begin))
        best = np.flatnonzero(values == top[run])[::-1]  # the first of equals is written last
        word[run[best]] = words[best]
    return top, word


def _best_unlisted(level: Level, suffix: Ints, values: Floats, begin: Ints) -> Ints:
    """Return for each state the best of its suffix's arcs whose word it does not list itself, -1 if it lists all.

    The arcs of each suffix are ranked; the answer is the first rank that is missing among those of the state's words.
    """
    run = np.repeat(np.arange(begin.size - 1), np.diff(begin))
    order = np.lexsort((-values, run))
    rank = np.empty(order.size, dtype=np.int64)
    rank[order] = np.arange(order.size) - begin[run]  # runs stand one after the other
    taken, source = rank[level.lower], level.source
    size = np.diff(begin)[suffix]
    missing = np.full(suffix.size, -1)
    open_states, ranks = np.arange(suffix.size), _FIRST_RANKS
    while open_states.size:
        place = np.full(suffix.size, -1)
        place[open_states] = np.arange(open_states.size)
        seen = np.zeros((open_states.size, ranks + 1), dtype=bool)
        near = (taken < ranks) & (place[source] >= 0)
        seen[place[source[near]], taken[near]] = True
        first = seen.argmin(axis=1)  # the last column is never seen
        done = first < ranks
        missing[open_states[done]] = first[done]
        open_states, ranks = open_states[~done], 4 * ranks
    return np.where(missing < size, order[np.minimum(begin[suffix] + missing, order.size - 1)], -1)


def _rest_of_pairs(level: Level, unigram: Floats, pairs: Floats) -> tuple[Floats, Ints]:
    """Return the best unlisted word after each single word, where each pair adds something of its own."""
    rows = pairs + unigram
    rows[level.source, level.word] = -np.inf
    word = rows.argmax(axis=1)
    return rows[np.arange(len(rows)), word], word

