"""Compute pass@k of HumanEval: the chance that one of k answers to a problem passes."""

from __future__ import annotations

import math

from rws_theory.checks import whole


def pass_at_k(samples: int, passed: int, k: int) -> float:
    """Return 1 - C(n - c, k) / C(n, k): unbiased for the chance that one of k samples passes (Chen et al. 2021, eq. 1).

    Of n = `samples`, c = `passed` passed, with 0 <= c <= n and 1 <= k <= n. The result is exact,
    rounded once. ValueError is raised otherwise.

    >>> pass_at_k(4, 1, 2)
    0.5
    """
    whole("k", k, 1, samples)
    whole("passed", passed, 0, samples)
    total = math.comb(samples, k)
    return (total - math.comb(samples - passed, k)) / total
