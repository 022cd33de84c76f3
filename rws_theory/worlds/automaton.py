"""Rewards that depend on the words seen so far, as finite automata; keywords among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rws_theory.show import one_line
from rws_theory.worlds.backoff import Floats, Ints

__all__ = ["Automaton", "keywords"]

MOST_STATES = 4096


@dataclass(frozen=True, eq=False)
class Automaton:
    """A reward that a finite automaton adds up while it reads a text from state 0.

    following: the next state [Q, V]; reward: what the word adds [Q, V]. ValueError for other shapes, a state out of
    range or a reward that is not finite.

    >>> every_other_one = Automaton(np.array([[0, 1], [1, 0]]), np.array([[0.0, 0.0], [0.0, 1.0]]))
    >>> every_other_one.score([1, 1, 0, 1])
    1.0
    """

    following: Ints
    reward: Floats

    __repr__ = one_line

    def __post_init__(self) -> None:
        following, reward = np.asarray(self.following), np.asarray(self.reward, dtype=np.float64)
        if following.ndim != 2 or following.dtype.kind not in "iu" or following.shape != reward.shape:
            shapes = f"{following.shape} and {reward.shape}"
            raise ValueError(f"following and reward must have one shape (states, vocabulary), got {shapes}")
        if following.size and not 0 <= following.min() <= following.max() < len(following):
            wrong = following[(following < 0) | (following >= len(following))][0]
            raise ValueError(f"following names state {wrong}: states are 0 to {len(following) - 1}")
        if not np.isfinite(reward).all():
            raise ValueError("reward must be finite, got nan or inf")
        object.__setattr__(self, "following", following.astype(np.int64))
        object.__setattr__(self, "reward", reward)

    def score(self, tokens: Sequence[int] | Ints) -> float:
        """Return the reward of a text; ValueError for a word that the automaton does not read."""
        vocabulary = self.reward.shape[1]
        if wrong := [int(token) for token in tokens if not 0 <= token < vocabulary]:
            raise ValueError(f"tokens hold {wrong[0]}: words are 0 to {vocabulary - 1}")
        state, total = 0, 0.0
        for token in tokens:
            total += float(self.reward[state, token])
            state = int(self.following[state, token])
        return total

    def times(self, other: Automaton) -> Automaton:
        """Return the automaton whose reward is the sum of both."""
        states = len(self.following) * len(other.following)
        following = self.following[:, None] * len(other.following) + other.following[None]
        reward = self.reward[:, None] + other.reward[None]
        return Automaton(following.reshape(states, -1), reward.reshape(states, -1))


def keywords(phrases: Sequence[Sequence[int]], vocabulary: int) -> Automaton:
    """Return the reward that counts how many of the phrases, each a row of word ids, a text contains.

    Each phrase counts once. The states are those of a string-matching automaton (Aho and Corasick, 1975) times the sets
    of phrases seen, as far as a text can reach them. ValueError for no phrase, an empty one, a word out of range, or
    more than 4,096 states.

    >>> keywords([[2], [0, 1]], vocabulary=3).score([0, 1, 2, 0, 1])
    2.0
    """
    if not all(isinstance(phrase, (list, tuple, np.ndarray)) for phrase in phrases):
        raise ValueError(f"phrases are {phrases}: rows of word ids are needed, such as [[5], [2, 7]]")
    texts = [tuple(int(word) for word in phrase) for phrase in phrases]
    if not texts or not all(texts):
        raise ValueError(f"phrases are {texts}: at least one is needed, each of at least one word")
    for text in texts:
        if not all(0 <= word < vocabulary for word in text):
            raise ValueError(f"phrases hold {list(text)}: words are 0 to {vocabulary - 1}")
    words = sorted({word for text in texts for word in text})
    longest = max(map(len, texts))
    start: tuple[tuple[int, ...], frozenset[int]] = ((), frozenset())
    numbers, following, reward = {start: 0}, [], []
    waiting = [start]
    for read, seen in waiting:  # grows while it is read
        steps, gains = {}, {}
        for word in [*words, None]:  # None: any other word
            text = () if word is None else (*read, word)[-longest:]
            ended = {i for i, phrase in enumerate(texts) if text[len(text) - len(phrase) :] == phrase} - seen
            # Only what may still begin a phrase is kept.
            kept = next(text[i:] for i in range(len(text) + 1) if any(p[: len(text) - i] == text[i:] for p in texts))
            state = (kept, seen | ended)
            if state not in numbers:
                if len(numbers) == MOST_STATES:
                    raise ValueError(f"phrases need more than {MOST_STATES} states: name fewer of them")
                numbers[state] = len(numbers)
                waiting.append(state)
            steps[word], gains[word] = numbers[state], float(len(ended))
        row, gain = np.full(vocabulary, steps[None]), np.full(vocabulary, gains[None])
        for word in words:
            row[word], gain[word] = steps[word], gains[word]
        following.append(row)
        reward.append(gain)
    return Automaton(np.array(following), np.array(reward))
