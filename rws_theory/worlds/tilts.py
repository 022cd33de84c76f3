"""What a tilt by an additive reward multiplies a chain's probabilities with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rws_theory.checks import finite
from rws_theory.show import figures
from rws_theory.worlds.automaton import Automaton
from rws_theory.worlds.backoff import Floats, Ints

__all__ = ["AdditiveReward", "Tilt", "additive", "no_tilt", "score"]

# A reward per word [V], per pair of words [V, V], or of an automaton.
AdditiveReward = ArrayLike | Automaton

# Weights of e^-600 and more are far from the smallest float64, also after a product with probabilities.
_SPREAD = 600.0


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
        """What it is made of, in words.

        >>> no_tilt(2).with_reward([0.0, 1.0], 2.0).with_reward([[0.0, 1.0], [1.0, 0.0]], -0.5).made_of
        'word rewards (beta 2), pair rewards (beta -0.5)'
        """
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
        """Return this tilt and beta times a reward."""
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
    """Return the tilt that changes nothing."""
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
    """Return what an additive reward gives a text after a context.

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
