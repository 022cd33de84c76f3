"""Rewards that add up along a text, keywords among them, and the log-weights that they give a chain's texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rws_theory.checks import finite
from rws_theory.show import figures, one_line
from rws_theory.worlds.backoff import Floats, Ints

MOST_STATES = 4096

# Weights of e^-600 and more are far from the smallest float64, also after a product with probabilities.
_SPREAD = 600.0


@dataclass(frozen=True, eq=False)
class Automaton:
    """A reward that a finite automaton adds up while it reads a text from state 0.

    following: the next state [Q, V]; reward: what the token adds [Q, V]. ValueError for other shapes, a state out of
    range or a reward that is not finite.

    >>> Automaton(np.array([[0, 1], [1, 0]]), np.array([[0.0, 0.0], [0.0, 1.0]])).score([1, 1, 0, 1])  # every other 1
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
    """Return the reward that counts how many of the phrases, rows of token ids, a text contains; each counts once.

    The states are those of a string-matching automaton (Aho and Corasick, 1975) times the sets of phrases seen.
    ValueError for no phrase, an empty one, a token out of range, or more than 4,096 states.

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
    for read, counted in waiting:  # grows while it is read
        steps, gains = {}, {}
        for word in [*words, None]:  # None: any other word
            text = () if word is None else (*read, word)[-longest:]
            ended = {i for i, phrase in enumerate(texts) if text[len(text) - len(phrase) :] == phrase} - counted
            # Only what may still begin a phrase is kept.
            ending = next(text[i:] for i in range(len(text) + 1) if any(p[: len(text) - i] == text[i:] for p in texts))
            state = (ending, counted | ended)
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


# A reward per word [V], per pair of words [V, V], or of an automaton.
AdditiveReward = ArrayLike | Automaton


@dataclass(frozen=True, eq=False)
class Tilt:
    """Log-weights beta R, in nats: `words` of what each word adds, `pairs` of a word after another [V, V] or None.

    terms: kind and beta of each reward that it is made of, in their order.
    """

    words: Automaton
    pairs: Floats | None
    terms: tuple[tuple[str, float], ...] = ()

    def __repr__(self) -> str:
        return f"Tilt({self.made_of})"

    @property
    def made_of(self) -> str:
        """The kind and beta of each reward, in words."""
        if len(self.terms) > 2:
            return f"{len(self.terms)} rewards"
        return ", ".join(f"{kind} (beta {figures(beta)})" for kind, beta in self.terms) or "nothing"

    @property
    def states(self) -> int:
        """Return the number of states of the automaton."""
        return len(self.words.reward)

    def score(self, tokens: Ints, context: Ints) -> float:
        """Return the log-weight of a text after a context, nats."""
        return score(self.words, tokens) + (0.0 if self.pairs is None else score(self.pairs, tokens, context))

    def with_reward(self, reward: AdditiveReward, beta: float) -> Tilt:
        """Return this `Tilt` with beta times one more reward."""
        finite("beta", beta)
        added, pairs = additive(reward, self.words.reward.shape[1])
        words = self.words.times(Automaton(added.following, beta * added.reward))
        if pairs is not None:
            pairs = beta * pairs + (0.0 if self.pairs is None else self.pairs)
        spread = np.ptp(words.reward) + (0.0 if pairs is None else np.ptp(pairs))
        if spread > _SPREAD:
            raise ValueError(f"beta is {beta}: beta times the spread of rewards is {spread:.4g}, at most 600 is needed")
        kind = "word rewards" if len(added.reward) == 1 else f"automaton of {len(added.reward)} states"
        kind = kind if pairs is None else "pair rewards"
        return Tilt(words, self.pairs if pairs is None else pairs, (*self.terms, (kind, float(beta))))


def no_tilt(vocabulary: int) -> Tilt:
    """Return the `Tilt` of no reward, which changes nothing."""
    return Tilt(Automaton(np.zeros((1, vocabulary), np.int64), np.zeros((1, vocabulary))), None)


def additive(reward: AdditiveReward, vocabulary: int) -> tuple[Automaton, Floats | None]:
    """Return a reward as that of an automaton and that of pairs, None without pairs; ValueError for another shape."""
    if isinstance(reward, Automaton):
        if reward.reward.shape[1] != vocabulary:
            raise ValueError(f"reward is of {reward.reward.shape[1]} words: the world has {vocabulary}")
        return reward, None
    try:
        values = np.asarray(reward, dtype=np.float64)
    except (TypeError, ValueError) as error:
        shape = f"an array [{vocabulary}] or [{vocabulary}, {vocabulary}], or an Automaton"
        raise ValueError(f"reward is a {type(reward).__name__}: {shape} is needed, such as .world_reward") from error
    if values.shape not in ((vocabulary,), (vocabulary, vocabulary)):
        raise ValueError(f"reward has shape {values.shape}: ({vocabulary},) or ({vocabulary}, {vocabulary}) is needed")
    if not np.isfinite(values).all():
        raise ValueError("reward must be finite, got nan or inf")
    nothing = no_tilt(vocabulary).words
    return (nothing, values) if values.ndim == 2 else (Automaton(nothing.following, values[None]), None)


def score(reward: AdditiveReward, tokens: Sequence[int] | Ints, context: Sequence[int] | Ints = ()) -> float:
    """Return the additive reward of a text after a context.

    >>> score([0.5, 1.0], [0, 1, 1])
    2.5
    """
    text = np.asarray(tokens, dtype=np.int64)
    if isinstance(reward, Automaton):
        return reward.score(text)
    values = np.asarray(reward, dtype=np.float64)
    if values.ndim == 1:
        return float(values[text].sum())
    joined = np.concatenate([np.asarray(context, dtype=np.int64)[-1:], text])
    return float(values[joined[:-1], joined[1:]].sum())
