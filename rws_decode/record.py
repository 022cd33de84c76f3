"""The arrays of a batch's traces while it is decoded."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

__all__ = ["Record"]


class Record:
    """The per-step arrays of all traces of a batch, as `trace.Trace` describes them."""

    def __init__(self, rows: int, length: int, steps: int) -> None:
        grid, column = (rows, steps, length), (rows, steps)
        whole, real, flag = np.int64, np.float64, np.bool_
        self.arrays: dict[str, NDArray[Any]] = {
            **{name: np.zeros(grid, whole) for name in ("canvas", "candidate")},
            **{name: np.zeros(grid, real) for name in ("value",)},
            **{name: np.zeros(grid, flag) for name in ("eligible", "chosen")},
            **{name: np.zeros(column, whole) for name in ("ties", "saturated", "near_ties", "near_tokens")},
            **{name: np.zeros(column, real) for name in ("factor", "reward_raw", "reward_normalised")},
            **{name: np.zeros(column, flag) for name in ("reward_asked", "inexact")},
            "reward_use": np.zeros(column, np.int8),
        }

    def add(self, step: int, rows: ArrayLike, **values: Any) -> None:
        """Store the values of some rows, [len(rows), ...] each, at a step."""
        for name, value in values.items():
            self.arrays[name][rows, step] = value.cpu().numpy() if isinstance(value, Tensor) else value

    def row(self, index: int, end_id: int | None) -> dict[str, Any]:
        arrays: dict[str, Any] = {name: array[index].copy() for name, array in self.arrays.items()}
        arrays["reward_asked"] = np.isin(arrays["reward_use"], (1, 2))
        committed = arrays["chosen"].any(axis=0)
        commit_step = np.where(committed, arrays["chosen"].argmax(axis=0), -1)
        tokens = arrays["candidate"][commit_step, np.arange(len(commit_step))]
        tokens = np.where(committed, tokens, -1 if end_id is None else end_id)
        steps_run = int(commit_step.max()) + 1
        return arrays | {"tokens": tokens, "commit_step": commit_step.astype(np.int64), "steps_run": steps_run}
