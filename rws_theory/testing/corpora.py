"""Hypothesis strategies of n-gram worlds: the texts that they are fitted to, and rewards of texts."""

from __future__ import annotations

from typing import Literal

import numpy as np
from hypothesis import strategies as st

from rws_theory.worlds.automaton import keywords
from rws_theory.worlds.ngram import NGram
from rws_theory.worlds.tilts import AdditiveReward

__all__ = ["additive_rewards", "corpora", "ngram_worlds"]


@st.composite
def corpora(draw: st.DrawFn, max_vocabulary: int = 4) -> tuple[list[list[int]], int]:
    """Up to 4 sequences of up to 12 ids each, and the vocabulary that the ids are below.

    >>> from hypothesis import find
    >>> find(corpora(), lambda corpus: corpus[1] == 2 and len(corpus[0]) == 2)
    ([[0], [0]], 2)
    """
    vocabulary = draw(st.integers(1, max_vocabulary))
    sequence = st.lists(st.integers(0, vocabulary - 1), min_size=1, max_size=12)
    return draw(st.lists(sequence, min_size=1, max_size=4)), vocabulary


@st.composite
def ngram_worlds(draw: st.DrawFn, max_vocabulary: int = 4) -> NGram:
    """N-gram worlds of order 1 to 4, fitted to `corpora`.

    >>> from hypothesis import given, settings
    >>> @settings(derandomize=True, deadline=None, max_examples=20)
    ... @given(ngram_worlds())
    ... def no_text_is_more_probable_than_the_best(world):
    ...     drawn = world.sample(4, np.random.default_rng(0))
    ...     assert world.log_prob(drawn) <= world.log_prob(world.best(4)) + 1e-12
    >>> no_text_is_more_probable_than_the_best()
    """
    sequences, vocabulary = draw(corpora(max_vocabulary))
    return NGram.fit(sequences, draw(st.integers(1, 4)), vocabulary=vocabulary, minimum=draw(st.integers(1, 2)))


@st.composite
def additive_rewards(
    draw: st.DrawFn, vocabulary: int, kind: Literal["words", "pairs", "keywords"] | None = None
) -> AdditiveReward:
    """Rewards that add up along a text: of each word [V], of each word after another [V, V], or of keywords.

    kind: one of these alone.

    >>> from hypothesis import find
    >>> find(additive_rewards(3, "pairs"), lambda reward: True).shape
    (3, 3)
    """
    kind = draw(st.sampled_from(["words", "pairs", "keywords"])) if kind is None else kind
    if kind == "keywords":
        phrase = st.lists(st.integers(0, vocabulary - 1), min_size=1, max_size=2)
        return keywords(draw(st.lists(phrase, min_size=1, max_size=2)), vocabulary)
    shape = (vocabulary,) if kind == "words" else (vocabulary, vocabulary)
    return np.random.default_rng(draw(st.integers(0, 2**32))).normal(size=shape)
