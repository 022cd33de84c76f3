"""What a test's p-values must be where its hypothesis is true."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def assert_super_uniform(p_values: Sequence[float]) -> None:
    """Assert P(p <= a) <= a at several levels, up to three standard errors of so many simulated p-values."""
    p = np.array(p_values)
    assert ((p > 0) & (p <= 1)).all()
    for level in (0.01, 0.05, 0.1, 0.25, 0.5):
        allowed = level + 3 * np.sqrt(level * (1 - level) / p.size)
        assert (p <= level).mean() <= allowed, f"{(p <= level).mean()} of p-values are at most {level}"
