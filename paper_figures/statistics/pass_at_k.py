"""Compute pass@k of HumanEval: the chance that one of k answers to a problem passes."""

from __future__ import annotations

import math

__all__ = ["pass_at_k"]


def pass_at_k(samples: int, passed: int, k: int) -> float:
    """Return 1 - C(n - c, k) / C(n, k): unbiased for the chance that one of k draws passes (Chen et al. 2021, eq. 1).

    n = `samples` were drawn, of which c = `passed` passed, with 0 <= c <= n and 1 <= k <= n. The result is exact,
    rounded once. ValueError is raised otherwise.

    >>> pass_at_k(4, 1, 2)
    0.5
    """
    if not 1 <= k <= samples:
        raise ValueError(f"k is {k}: it must be 1 to samples, which is {samples}")
    if not 0 <= passed <= samples:
        raise ValueError(f"passed is {passed}: it must be 0 to samples, which is {samples}")
    total = math.comb(samples, k)
    return (total - math.comb(samples - passed, k)) / total
