"""Which positions of a step stand at its cut: those level with the last one committed, and those nearest to it."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from rws_decode.canvas.end_of_text import Ends
from rws_decode.trace.trace import Trace


def tied_and_near(trace: Trace, step: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the tied positions of a step, those level with the last committed among them, and the near-tied ones.

    A trace counts both, and keeps the values. Tied are the positions whose value, and whose turn under the end-of-text
    policy, are those of the last one committed. Which ones are near-tied it does not say: they are given as the
    nearest to the cut, as many as it counts beside the tied ones.
    """
    value, chosen = trace.value[step], trace.chosen[step]
    late = Ends(trace.end_of_text, trace.end_ids).waits(torch.tensor(trace.candidate[step])).numpy()
    known = trace.eligible[step] & ~np.isnan(value)
    none = np.array([], dtype=np.int64)
    if not (known & chosen).any():
        return none, none
    group = late == late[known & chosen].any()
    last = value[known & chosen & group].min()
    level = np.flatnonzero(known & group & (value == last))
    tied = level if trace.ties[step] else none
    apart = np.where(known & group & np.isfinite(value), np.abs(value - last), np.inf)
    nearest = np.argsort(apart, kind="stable")[: int(trace.near_ties[step])]
    return tied, np.sort(nearest[~np.isin(nearest, tied) & np.isfinite(apart[nearest])])
