"""Crossings that a page found against those that are proved."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rws_theory import crossings

LOW, HIGH = 2**-4, 2**6  # the factors that the playground shows


def missed_crossings(logits: NDArray[np.float64], found: Sequence[Sequence[float]], rtol: float) -> int:
    """Check the first row's crossings with the others; return how many pairs lack twins within a step of the grid."""
    missed = 0
    for other, mine in zip(logits[1:], found, strict=True):
        proved = crossings(logits[0], other)
        assert proved.complete
        roots = np.array([root for root in proved.roots if LOW <= root <= HIGH])
        if len(roots) == len(mine):
            np.testing.assert_allclose(mine, roots, rtol=rtol)
        else:
            assert (len(roots) - len(mine)) % 2 == 0
            assert np.diff(np.log2(roots if len(roots) > len(mine) else mine)).min() < 1 / 8
            missed += 1
    return missed
