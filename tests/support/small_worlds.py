"""Small n-gram worlds that are written down from their definition and enumerated."""

import itertools
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from rws_theory import testing
from rws_theory.worlds import MASK, Automaton, NGram

Floats = NDArray[np.float64]
DISCOUNT = 0.75


def by_definition(
    sequences: list[list[int]], order: int, vocabulary: int, minimum: int, history: list[int], word: int
) -> float:
    """Return P(word | history) of interpolated absolute discounting, by recursion over ever shorter histories."""
    if order == 1 or not history:
        counts = Counter(token for sequence in sequences for token in sequence)
        total = sum(counts.values())
        kept = sum(max(count - DISCOUNT, 0.0) for count in counts.values())
        return (max(counts[word] - DISCOUNT, 0.0) + (total - kept) / vocabulary) / total
    recent = tuple(history[-(order - 1) :])
    after: Counter[int] = Counter()
    for sequence in sequences:
        for i in range(len(sequence) - len(recent)):
            if tuple(sequence[i : i + len(recent)]) == recent:
                after[sequence[i + len(recent)]] += 1
    total = sum(after.values())
    listed = {token: count for token, count in after.items() if count >= minimum}
    shorter = by_definition(sequences, len(recent), vocabulary, minimum, list(recent[1:]), word)
    if not total:
        return shorter
    kept = 1.0 - sum(count - DISCOUNT for count in listed.values()) / total
    return max(listed.get(word, DISCOUNT) - DISCOUNT, 0.0) / total + kept * shorter


@dataclass
class Case:
    """A small world, a context, all texts of one length with their log-probabilities, rewards of each kind."""

    sequences: list[list[int]]
    order: int
    vocabulary: int
    minimum: int
    context: list[int]
    length: int
    canvas: list[int]
    rewards: tuple[Any, ...]

    @property
    def world(self) -> NGram:
        return NGram.fit(self.sequences, self.order, vocabulary=self.vocabulary, minimum=self.minimum)

    @property
    def texts(self) -> NDArray[np.int64]:
        return np.array(list(itertools.product(range(self.vocabulary), repeat=self.length)))

    @property
    def log_p(self) -> Floats:
        model = self.sequences, self.order, self.vocabulary, self.minimum
        probability = cache(lambda *words: by_definition(*model, list(words[:-1]), words[-1]))

        def log_prob(text: list[int]) -> float:
            read = [*self.context, *text]
            ends = range(len(self.context) + 1, len(read) + 1)
            return float(sum(np.log(probability(*read[max(0, end - self.order) : end])) for end in ends))

        return np.array([log_prob(text) for text in self.texts.tolist()])

    def score(self, reward: Floats | Automaton, text: NDArray[np.int64]) -> float:
        if isinstance(reward, Automaton):
            return reward.score(text)
        if reward.ndim == 1:
            return float(reward[text].sum())
        joined = [*self.context[-1:], *text]
        return float(sum(reward[first, second] for first, second in itertools.pairwise(joined)))

    def scores(self, reward: Floats | Automaton) -> Floats:
        return np.array([self.score(reward, text) for text in self.texts])

    @property
    def allowed(self) -> NDArray[np.bool_]:
        canvas = np.array(self.canvas)
        return ((self.texts == canvas) | (canvas == MASK)).all(axis=1)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    sequences, vocabulary = draw(testing.corpora())
    length = draw(st.integers(1, 4))
    return Case(
        sequences=sequences,
        order=draw(st.integers(1, 4)),
        vocabulary=vocabulary,
        minimum=draw(st.integers(1, 2)),
        context=draw(st.lists(st.integers(0, vocabulary - 1), max_size=4)),
        length=length,
        canvas=draw(testing.canvases(vocabulary, length)),
        rewards=tuple(draw(testing.additive_rewards(vocabulary, kind)) for kind in ("words", "pairs", "keywords")),
    )


@st.composite
def tilted(draw: st.DrawFn) -> tuple[Case, NGram, Floats]:
    """A case, a tilt by up to three rewards, and the log-weight of each text."""
    case = draw(cases())
    world, log_weight = case.world, case.log_p
    for reward in draw(st.lists(st.sampled_from(case.rewards), max_size=3)):
        beta = draw(st.floats(-3, 3))
        world, log_weight = world.tilt(reward, beta), log_weight + beta * case.scores(reward)
    return case, world, log_weight
