"""Hypothesis strategies for logits, scales, commit orders and rewards, all in this one module."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from rws_theory.worlds.joint_table import MASK, JointTable, MaskedModel
from rws_theory.worlds.markov import MarkovChain

FORBIDDEN = -np.inf


def log_uniform(least: float, greatest: float) -> st.SearchStrategy[float]:
    """Positive floats, spread evenly over the orders of magnitude; shrinks toward 1."""
    low, high = np.log10(least), np.log10(greatest)
    return st.floats(low, high).map(lambda e: float(min(max(10.0**e, least), greatest)))


def scales(least: float = 1e-3, greatest: float = 1e3) -> st.SearchStrategy[float]:
    """Scales r of the logits."""
    return log_uniform(least, greatest)


def dyadic(bound: int, denominator: int = 4) -> st.SearchStrategy[float]:
    """Multiples of 1 / denominator (a power of two) within +-bound: sums and differences are exact, ties common."""
    return st.integers(-bound * denominator, bound * denominator).map(lambda k: k / denominator)


@st.composite
def logit_vectors(
    draw: st.DrawFn, min_size: int = 1, max_size: int = 8, *, bound: float = 50.0, forbidden: bool = True
) -> NDArray[np.float64]:
    """One position's logits: generic floats or a coarse grid with ties; with `forbidden`, all but one may be -inf."""
    size = draw(st.integers(min_size, max_size))
    entry = draw(st.sampled_from([st.floats(-bound, bound), dyadic(3)]))
    values = np.array(draw(st.lists(entry, min_size=size, max_size=size)), dtype=np.float64)
    if forbidden and draw(st.booleans()):
        closed = np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)))
        closed[draw(st.integers(0, size - 1))] = False
        values[closed] = FORBIDDEN
    return values


@st.composite
def logit_arrays(draw: st.DrawFn, max_positions: int = 4, max_size: int = 6) -> NDArray[np.float64]:
    """Logits of several positions over one vocabulary, shape (positions, d)."""
    positions, size = draw(st.integers(1, max_positions)), draw(st.integers(1, max_size))
    return np.stack([draw(logit_vectors(size, size)) for _ in range(positions)])


@st.composite
def logit_pairs(
    draw: st.DrawFn, min_size: int = 2, max_size: int = 8, *, forbidden: bool = True
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two positions over one vocabulary: independent, sharing some logits, or equal up to order and (exact) shift."""
    a = draw(logit_vectors(min_size, max_size, forbidden=forbidden))
    kind = draw(st.sampled_from(["independent", "sharing", "equal"]))
    if kind == "equal":
        a = np.round(a * 4) / 4
        return a, np.array(draw(st.permutations(list(a)))) + draw(dyadic(8))
    b = draw(logit_vectors(a.size, a.size, forbidden=forbidden))
    if kind == "sharing":
        kept = np.array(draw(st.lists(st.booleans(), min_size=a.size, max_size=a.size)))
        b = np.where(kept, a, b)
        if not np.isfinite(b).any():
            b = a.copy()
    return a, b


@st.composite
def integer_gap_pairs(draw: st.DrawFn, max_count: int = 6, max_gap: int = 12) -> tuple[list[int], list[int]]:
    """Gap multisets of two positions as integers: g is then a polynomial in exp(-r) with integer coefficients.

    Half of the pairs have sums of gaps within 2 of each other, which is where curves cross.
    """
    size = draw(st.integers(1, max_count))
    gaps = st.lists(st.integers(0, max_gap), min_size=size, max_size=size).map(sorted)
    u, v = draw(gaps), draw(gaps)
    if draw(st.booleans()):
        short = sum(u) - sum(v) + draw(st.integers(-2, 2))
        v[-1] = max(0, v[-1] + short)
        v.sort()
    return u, v


def from_gaps(gaps: list[int] | list[float] | tuple[float, ...], top: float = 0.0) -> NDArray[np.float64]:
    """Logits with maximum `top` and the given gaps."""
    return np.array([top, *(top - u for u in gaps)], dtype=np.float64)


@st.composite
def saturated_pairs(draw: st.DrawFn) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Two positions and a scale at which both softmax maxima are 1.0 in float64, with different smallest gaps."""
    r = float(draw(st.sampled_from([1, 2, 4, 8, 16, 32])))
    size = draw(st.integers(1, 6))
    grid = st.integers(int(44 / r * 16), int(44 / r * 16) + 400).map(lambda k: k / 16)
    u, v = (draw(st.lists(grid, min_size=size, max_size=size)) for _ in range(2))
    if min(u) == min(v):
        v[v.index(min(v))] += draw(st.sampled_from([-1, 1])) / 16
        if min(u) == min(v):
            v = [x + 1 / 16 for x in v]
    return from_gaps(u, draw(dyadic(8))), from_gaps(v, draw(dyadic(8))), r


@st.composite
def commit_steps(draw: st.DrawFn, max_positions: int = 10) -> NDArray[np.int64]:
    """Step, from 0, at which each of n positions is committed: any order, any positive number of tokens per step."""
    counts = draw(st.lists(st.integers(1, 3), min_size=1, max_size=max_positions))[:max_positions]
    steps = np.repeat(np.arange(len(counts)), counts)[:max_positions]
    return np.array(draw(st.permutations(list(steps))), dtype=np.int64)


def rewards(bound: float = 1e308) -> st.SearchStrategy[float]:
    """Normalised rewards: mostly of ordinary size, sometimes huge."""
    return st.one_of(st.floats(-8, 8), st.floats(-60, 60), st.floats(-bound, bound))


def reward_scales() -> st.SearchStrategy[float]:
    """Reward scales s_R: the paper's grid and everything around it."""
    return st.one_of(st.sampled_from([0.01, 0.1, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0]), log_uniform(1e-6, 1e6))


def epsilons() -> st.SearchStrategy[float]:
    """The constant eps under the square root: the paper's 1e-5, and others."""
    return st.one_of(st.just(1e-5), log_uniform(1e-12, 1.0))


def exact(values: NDArray[np.float64]) -> list[Fraction]:
    """The finite entries as exact rationals."""
    return [Fraction(float(x)) for x in values if np.isfinite(x)]


@st.composite
def selection_cases(
    draw: st.DrawFn, max_positions: int = 6, max_size: int = 6
) -> tuple[NDArray[np.float64], int, float, float]:
    """Logits of shape (positions, d), how many positions to select, and a range of scales (sometimes one scale).

    Rows are independent, or equal to an earlier one up to order and (exact) shift, or one float step beside it.
    """
    positions, size = draw(st.integers(1, max_positions)), draw(st.integers(1, max_size))
    rows: list[NDArray[np.float64]] = []
    for _ in range(positions):
        kind = draw(st.sampled_from(["new", "new", "same", "beside"])) if rows else "new"
        if kind == "new":
            rows.append(draw(logit_vectors(size, size, bound=draw(st.sampled_from([2.0, 8.0])))))
            continue
        row = np.array(draw(st.permutations(list(rows[draw(st.integers(0, len(rows) - 1))]))))
        if kind == "same":
            exactly = np.array_equal(row * 4, np.round(row * 4))
            rows.append(row + draw(dyadic(2)) if exactly else row)
        else:
            at = draw(st.integers(0, size - 1))
            row[at] = np.nextafter(row[at], 0.0) if np.isfinite(row[at]) else row[at]
            rows.append(row)
    ends = sorted([draw(scales(0.01, 32.0)), draw(scales(0.01, 32.0))])
    if draw(st.integers(0, 7)) == 0:
        ends[1] = ends[0]
    return np.stack(rows), draw(st.integers(0, positions)), ends[0], ends[1]


@st.composite
def tilted_inputs(
    draw: st.DrawFn, bound: float = 5.0, reward_bound: float = 5.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log-probabilities (unnormalised, some -inf) and rewards, some equal."""
    size = draw(st.integers(1, 6))
    log_p = np.array(draw(st.lists(st.floats(-bound, bound), min_size=size, max_size=size)))
    closed = np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    closed[draw(st.integers(0, size - 1))] = False
    entry = st.one_of(st.integers(-3, 3).map(float), st.floats(-reward_bound, reward_bound, allow_subnormal=False))
    reward = np.array(draw(st.lists(entry, min_size=size, max_size=size)))
    return np.where(closed, -np.inf, log_p), reward


def random_table(seed: int, length: int, words: int, *, holes: float = 0.0) -> JointTable:
    """A seeded joint table, a share `holes` of whose sequences is impossible."""
    rng = np.random.default_rng(seed)
    log_p = 2 * rng.standard_normal((words,) * length)
    log_p[rng.random(log_p.shape) < holes] = -np.inf
    log_p.flat[0] = 0.0
    return JointTable(log_p)


def random_chain(seed: int, words: int, *, holes: float = 0.0) -> MarkovChain:
    """A seeded Markov chain, a share `holes` of whose transitions is impossible; word 0 can always follow."""
    rng = np.random.default_rng(seed)
    initial, steps = 2 * rng.standard_normal(words), 2 * rng.standard_normal((words, words))
    steps[rng.random(steps.shape) < holes] = -np.inf
    initial[rng.random(words) < holes] = -np.inf
    initial[0] = steps[:, 0] = 0.0
    return MarkovChain(initial, steps)


@st.composite
def models_with_canvas(draw: st.DrawFn) -> tuple[MaskedModel, MaskedModel, list[int]]:
    """A model, the same as a joint table, and a canvas."""
    length, words = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    seed, holes = draw(st.integers(0, 10**6)), draw(st.sampled_from([0.0, 0.4]))
    canvas = draw(st.lists(st.integers(MASK, words - 1), min_size=length, max_size=length))
    if draw(st.booleans()):
        chain = random_chain(seed, words, holes=holes)
        return chain, chain.table(length), canvas
    table = random_table(seed, length, words, holes=holes)
    return table, table, canvas


def wide_scales(least: float = 1e-300, greatest: float = 1e300) -> st.SearchStrategy[float]:
    """Positive floats: mostly of ordinary size, sometimes anywhere between the two."""
    middle = log_uniform(max(least, 1e-6), min(greatest, 1e6))
    return middle | middle | log_uniform(max(least, 1e-300), min(greatest, 1e300)) | st.sampled_from([least, greatest])


def wide_numbers(bound: float = 1e308) -> st.SearchStrategy[float]:
    """Signed floats: ordinary, on a grid, next to one another, huge, tiny, subnormal and zero."""
    signs = st.sampled_from([1.0, -1.0])
    sizes = log_uniform(1e-6, 1e6) | log_uniform(1e-300, bound)
    special = [0.0, -0.0, 1.0, float(np.nextafter(1.0, 2.0)), 5e-324, -5e-324, 2.0**-1022, bound, -bound]
    return st.floats(-50, 50) | dyadic(3) | st.builds(float.__mul__, sizes, signs) | st.sampled_from(special)


@st.composite
def wide_logits(draw: st.DrawFn, min_size: int = 1, max_size: int = 8) -> NDArray[np.float64]:
    """One position's logits, of any size up to 1e306; copies, neighbours of other entries and -inf among them."""
    size = draw(st.integers(min_size, max_size))
    values = np.array(draw(st.lists(wide_numbers(1e306), min_size=size, max_size=size)), dtype=np.float64)
    for i in range(1, size):
        kind = draw(st.sampled_from(["own", "own", "copy", "beside", "closed"]))
        other = values[draw(st.integers(0, i - 1))]
        if kind == "copy":
            values[i] = other
        elif kind == "beside":
            values[i] = np.nextafter(other, draw(st.sampled_from([-1.0, 1.0])) * np.inf) if other > FORBIDDEN else other
        elif kind == "closed":
            values[i] = FORBIDDEN
    return np.array(draw(st.permutations(list(values))))


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
    log_p[np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size))) & (np.arange(size) > 0)] = FORBIDDEN
    r = draw(st.just(0.0) | st.floats(-4, 4) | log_uniform(1e-6, 1e6) | log_uniform(1e-300, 1e90))
    return log_p, reward, r * draw(st.sampled_from([1.0, -1.0]))


@st.composite
def _wide_log_weights(draw: st.DrawFn, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Log-weights of ordinary or extreme spread, some -inf, each row along the last axis with one possible entry."""
    count = int(np.prod(shape))
    values = np.array(draw(st.lists(st.floats(-5, 5) | dyadic(3), min_size=count, max_size=count))).reshape(shape)
    values = values * draw(st.sampled_from([1.0, 1.0, 30.0, 1e3, 1e-9])) + draw(st.sampled_from([0.0, 0.0, -1e3, 1e6]))
    if draw(st.booleans()):
        closed = np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count))).reshape(shape)
        closed[..., draw(st.integers(0, shape[-1] - 1))] = False
        values[closed] = FORBIDDEN
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
    canvas = draw(st.lists(st.integers(MASK, words - 1), min_size=length, max_size=length))
    return draw(_wide_log_weights((words,))), draw(_wide_log_weights((words, words))), canvas
