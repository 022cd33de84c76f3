"""Hypothesis strategies of small exact models, with canvases and rewards, and of distributions with rewards."""

from __future__ import annotations

from typing import Literal

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from rws_theory.testing.numbers import dyadic, log_uniform
from rws_theory.worlds.joint_table import MASK, JointTable, MaskedModel
from rws_theory.worlds.markov import MarkovChain
from rws_theory.worlds.tilts import AdditiveReward, keywords


def canvases(words: int, length: int) -> st.SearchStrategy[list[int]]:
    """Canvases of so many positions: tokens below `words`, -1 where masked."""
    return st.lists(st.integers(MASK, words - 1), min_size=length, max_size=length)


def random_table(seed: int, length: int, words: int, *, holes: float = 0.0) -> JointTable:
    """Return a seeded joint table, a share `holes` of whose sequences is impossible."""
    rng = np.random.default_rng(seed)
    log_p = 2 * rng.standard_normal((words,) * length)
    log_p[rng.random(log_p.shape) < holes] = -np.inf
    log_p.flat[0] = 0.0
    return JointTable(log_p)


def random_chain(seed: int, words: int, *, holes: float = 0.0) -> MarkovChain:
    """Return a seeded Markov chain, a share `holes` of whose steps is impossible; token 0 can always follow."""
    rng = np.random.default_rng(seed)
    initial, steps = 2 * rng.standard_normal(words), 2 * rng.standard_normal((words, words))
    steps[rng.random(steps.shape) < holes] = -np.inf
    initial[rng.random(words) < holes] = -np.inf
    initial[0] = steps[:, 0] = 0.0
    return MarkovChain(initial, steps)


@st.composite
def models_with_canvas(draw: st.DrawFn) -> tuple[MaskedModel, MaskedModel, list[int]]:
    """A joint table or a Markov chain of up to 4 positions and 3 tokens, the same as a joint table, and a canvas.

    The canvas may have probability 0, as a prompt may.
    """
    length, words = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    seed, holes = draw(st.integers(0, 10**6)), draw(st.sampled_from([0.0, 0.4]))
    canvas = draw(canvases(words, length))
    if draw(st.booleans()):
        chain = random_chain(seed, words, holes=holes)
        return chain, chain.table(length), canvas
    table = random_table(seed, length, words, holes=holes)
    return table, table, canvas


@st.composite
def _wide_log_weights(draw: st.DrawFn, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Log-weights of ordinary or extreme spread, some -inf, each row along the last axis with one possible entry."""
    count = int(np.prod(shape))
    values = np.array(draw(st.lists(st.floats(-5, 5) | dyadic(3), min_size=count, max_size=count))).reshape(shape)
    values = values * draw(st.sampled_from([1.0, 1.0, 30.0, 1e3, 1e-9])) + draw(st.sampled_from([0.0, 0.0, -1e3, 1e6]))
    if draw(st.booleans()):
        closed = np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count))).reshape(shape)
        closed[..., draw(st.integers(0, shape[-1] - 1))] = False
        values[closed] = -np.inf
    return values


@st.composite
def wide_tables(draw: st.DrawFn) -> tuple[NDArray[np.float64], list[int]]:
    """Log-weights of a joint table, and a canvas of tokens of one of its possible sequences."""
    length, words = draw(st.sampled_from([(1, 3), (2, 2), (2, 3), (3, 2)]))
    log_p = draw(_wide_log_weights((words,) * length))
    tokens = [int(axis[0]) for axis in np.nonzero(np.isfinite(log_p))]
    shown = draw(st.lists(st.booleans(), min_size=length, max_size=length))
    return log_p, [token if keep else MASK for token, keep in zip(tokens, shown, strict=True)]


@st.composite
def wide_chains(draw: st.DrawFn) -> tuple[NDArray[np.float64], NDArray[np.float64], list[int]]:
    """Log-weights of a chain's first token and of its steps, and a canvas, possible or not."""
    words, length = draw(st.integers(1, 3)), draw(st.integers(1, 6))
    canvas = draw(canvases(words, length))
    return draw(_wide_log_weights((words,))), draw(_wide_log_weights((words, words))), canvas


@st.composite
def corpora(draw: st.DrawFn, max_vocabulary: int = 4) -> tuple[list[list[int]], int]:
    """Up to 4 sequences of up to 12 ids each, and the vocabulary that the ids are below."""
    vocabulary = draw(st.integers(1, max_vocabulary))
    sequence = st.lists(st.integers(0, vocabulary - 1), min_size=1, max_size=12)
    return draw(st.lists(sequence, min_size=1, max_size=4)), vocabulary


@st.composite
def additive_rewards(
    draw: st.DrawFn, vocabulary: int, kind: Literal["words", "pairs", "keywords"] | None = None
) -> AdditiveReward:
    """Rewards that add up along a text: of each token [V], of each token after another [V, V], or of keywords.

    kind: one of these alone.
    """
    kind = draw(st.sampled_from(["words", "pairs", "keywords"])) if kind is None else kind
    if kind == "keywords":
        phrase = st.lists(st.integers(0, vocabulary - 1), min_size=1, max_size=2)
        return keywords(draw(st.lists(phrase, min_size=1, max_size=2)), vocabulary)
    shape = (vocabulary,) if kind == "words" else (vocabulary, vocabulary)
    return np.random.default_rng(draw(st.integers(0, 2**32))).normal(size=shape)


@st.composite
def tilted_inputs(
    draw: st.DrawFn, bound: float = 5.0, reward_bound: float = 5.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log-probabilities of up to six states, unnormalised, some -inf, and their rewards, some equal; float64 [n]."""
    size = draw(st.integers(1, 6))
    log_p = np.array(draw(st.lists(st.floats(-bound, bound), min_size=size, max_size=size)))
    closed = np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    closed[draw(st.integers(0, size - 1))] = False
    entry = st.one_of(st.integers(-3, 3).map(float), st.floats(-reward_bound, reward_bound, allow_subnormal=False))
    reward = np.array(draw(st.lists(entry, min_size=size, max_size=size)))
    return np.where(closed, -np.inf, log_p), reward


@st.composite
def wide_tilts(draw: st.DrawFn) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Log-probabilities, rewards and a factor of either sign, each tiny, ordinary or huge, and large constants added.

    r R stays below 1e200.
    """
    size = draw(st.integers(1, 5))
    log_p, reward = (
        np.array(draw(st.lists(st.floats(-5, 5) | st.integers(-3, 3).map(float), min_size=size, max_size=size)))
        * draw(st.sampled_from([1.0, 1.0, 30.0, 1e-6, 1e6, 1e-150, scale]))
        + draw(st.sampled_from([0.0, 0.0, 1.0, -1e6, shift]))
        for scale, shift in ((1e150, 1e150), (1e60, 1e100))
    )
    log_p[np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size))) & (np.arange(size) > 0)] = -np.inf
    r = draw(st.just(0.0) | st.floats(-4, 4) | log_uniform(1e-6, 1e6) | log_uniform(1e-300, 1e90))
    return log_p, reward, r * draw(st.sampled_from([1.0, -1.0]))
