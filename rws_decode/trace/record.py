"""What a trace keeps of a decode: a row per step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from rws_decode.trace.data import last_commits


class Info(NamedTuple):
    """What one step did to b rows: a row of each of their traces (`trace.Trace` describes the fields).

    step: from 0; rows: int64 [b], the prompts' numbers; candidate, value, chosen, unscaled, masked_again: [b, n], the
    last of committed tokens that the step masked again; the rest: [b]. forwards: int64 [b], those that the step took
    for each row, one and what its strategy asked for besides; calls: those of the batch.
    """

    step: int
    rows: Tensor
    candidate: Tensor
    value: Tensor
    chosen: Tensor
    unscaled: Tensor
    masked_again: Tensor
    factor: Tensor
    reward_raw: Tensor
    reward_normalised: Tensor
    reward_use: Tensor
    ties: Tensor
    saturated: Tensor
    inexact: Tensor
    near_ties: Tensor
    near_tokens: Tensor
    forwards: Tensor
    logits_dtype: str
    calls: int = 1


_COUNTS = ("ties", "saturated", "near_ties", "near_tokens", "forwards")


class Record:
    """The per-step arrays of all traces of a batch. rows: the numbers of its prompts, rising."""

    def __init__(self, rows: Sequence[int], length: int, steps: int) -> None:
        self.rows = np.asarray(rows)
        self.logits_dtype, self.calls = "", 0
        grid, column = (len(rows), steps, length), (len(rows), steps)
        self.arrays: dict[str, NDArray[Any]] = {
            "candidate": np.full(grid, -1, np.int64),
            "value": np.full(grid, np.nan),
            "chosen": np.zeros(grid, np.bool_),
            "unscaled": np.zeros(grid, np.bool_),
            "masked_again": np.zeros(grid, np.bool_),
            **{name: np.zeros(column, np.int64) for name in _COUNTS},
            **{name: np.full(column, np.nan) for name in ("factor", "reward_raw", "reward_normalised")},
            "reward_use": np.zeros(column, np.int8),
            "inexact": np.zeros(column, np.bool_),
        }

    def add(self, info: Info) -> None:
        """Keep what one step did."""
        at = np.searchsorted(self.rows, info.rows.cpu().numpy())
        self.logits_dtype, self.calls = info.logits_dtype, self.calls + info.calls
        for name, array in self.arrays.items():
            array[at, info.step] = getattr(info, name).cpu().numpy()

    def row(self, index: int, uncommitted: int = -1) -> dict[str, Any]:
        """Return a row's `steps_run`, its `forwards`, and its arrays, those of its steps that committed something.

        uncommitted: the token that stands at positions which no step committed.
        """
        chosen = self.arrays["chosen"][index]
        run = int(chosen.any(axis=1).sum())
        arrays: dict[str, Any] = {name: array[index, :run].copy() for name, array in self.arrays.items()}
        del arrays["chosen"]
        commit_step, arrays["provisional"] = last_commits(chosen[:run], arrays.pop("masked_again"))
        tokens = self.arrays["candidate"][index][commit_step, np.arange(len(commit_step))]
        tokens = np.where(commit_step < 0, uncommitted, tokens).astype(np.int64)
        forwards = int(arrays.pop("forwards").sum())
        arrays |= {"steps_run": run, "forwards": forwards, "tokens": tokens, "commit_step": commit_step}
        return arrays | {"logits_dtype": self.logits_dtype}
