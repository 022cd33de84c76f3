"""The arrays of a batch's traces while it is decoded."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

__all__ = ["Record"]


class Record:
    """The per-step arrays of all traces of a batch."""

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
        }

    def add(self, step: int, **values: Any) -> None:
        for name, value in values.items():
            self.arrays[name][:, step] = value.cpu().numpy() if isinstance(value, Tensor) else value

    def row(self, index: int) -> dict[str, Any]:
        arrays: dict[str, Any] = {name: array[index].copy() for name, array in self.arrays.items()}
        commit_step = arrays["chosen"].argmax(axis=0)
        tokens = arrays["candidate"][commit_step, np.arange(len(commit_step))]
        return arrays | {"tokens": tokens, "commit_step": commit_step.astype(np.int64)}
