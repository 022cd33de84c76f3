"""Hypothesis strategies of commit orders."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

__all__ = ["commit_steps"]


@st.composite
def commit_steps(draw: st.DrawFn, max_positions: int = 10) -> NDArray[np.int64]:
    """Step, from 0, at which each of n positions is committed, int64 [n]: any order, 1 to 3 tokens per step.

    >>> from hypothesis import given, settings
    >>> from rws_theory import footrule_max, generation_order_deviation
    >>> @settings(derandomize=True, deadline=None)
    ... @given(commit_steps())
    ... def right_to_left_is_the_largest(steps):
    ...     assert generation_order_deviation(steps) <= footrule_max(steps.size)
    >>> right_to_left_is_the_largest()
    """
    counts = draw(st.lists(st.integers(1, 3), min_size=1, max_size=max_positions))[:max_positions]
    steps = np.repeat(np.arange(len(counts)), counts)[:max_positions]
    return np.array(draw(st.permutations(list(steps))), dtype=np.int64)
