"""Hypothesis strategies of numbers and of commit orders: scales, rewards, floats of every size, steps."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray


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


def rewards(bound: float = 1e308) -> st.SearchStrategy[float]:
    """Normalised rewards: mostly of ordinary size, sometimes huge."""
    return st.one_of(st.floats(-8, 8), st.floats(-60, 60), st.floats(-bound, bound))


def reward_scales() -> st.SearchStrategy[float]:
    """Reward scales s_R: the paper's grid and everything around it."""
    return st.one_of(st.sampled_from([0.01, 0.1, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0]), log_uniform(1e-6, 1e6))


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
def commit_steps(draw: st.DrawFn, max_positions: int = 10) -> NDArray[np.int64]:
    """Step, from 0, at which each of n positions is committed, int64 [n]: any order, 1 to 3 tokens per step."""
    counts = draw(st.lists(st.integers(1, 3), min_size=1, max_size=max_positions))[:max_positions]
    steps = np.repeat(np.arange(len(counts)), counts)[:max_positions]
    return np.array(draw(st.permutations(list(steps))), dtype=np.int64)
