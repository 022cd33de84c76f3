"""What a decode's steps did: a row of each trace per step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rws_decode.canvas.layout import Canvas
from rws_decode.trace.data import LAYOUT, last_commits, last_tokens


class Info(NamedTuple):
    """What one step did to b rows: a row of each of their traces (`trace.Trace` describes the fields).

    step: from 0; rows: int64 [b], the prompts' numbers; candidate, value, chosen, unscaled, masked_again, edited:
    [b, n], the last two of tokens that the step masked again or replaced; the rest: [b]. forwards: int64 [b], those
    that the step took for each row, one and what its strategy asked for besides; computed_columns: as in
    `completion.Done`; calls: those of the batch.
    """

    step: int
    rows: Tensor
    candidate: Tensor
    value: Tensor
    chosen: Tensor
    unscaled: Tensor
    masked_again: Tensor
    edited: Tensor
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
    computed_columns: Tensor
    logits_dtype: str
    calls: int = 1


# What is kept of a step: the arrays of a trace that steps fill in, and what others of its fields follow from.
_KEPT = {name: kind for name, kind in LAYOUT.items() if "R" in kind[1] and name != "provisional"}
_KEPT |= {"chosen": ("bool", "Rn"), "masked_again": ("bool", "Rn")}
_KEPT |= dict.fromkeys(("forwards", "computed_columns"), ("int64", "R"))


class Record:
    """What the steps of a batch did. rows: the numbers of its prompts, rising; canvas: before the first step.

    arrays: of all its traces, by step; calls: forwards of the batch; unfinished: the prompts whose masks were left when
    a callback ended it.
    """

    def __init__(self, rows: Sequence[int], canvas: Canvas, steps: int) -> None:
        self.rows, self.unfinished = np.asarray(rows), list[int]()
        self.offsets, self.width, length = canvas.answer[:, 0].tolist(), canvas.ids.shape[1], canvas.answer.shape[1]
        self.logits_dtype, self.calls, self._new = "", 0, list[Info]()
        self._arrays: dict[str, NDArray[Any]] = {}
        for name, (dtype, axes) in _KEPT.items():
            unknown = -1 if name == "candidate" else np.nan if dtype == "float64" else 0
            self._arrays[name] = np.full((len(rows), steps, length)[: 1 + len(axes)], unknown, dtype)

    def add(self, info: Info) -> None:
        """Keep what one step did."""
        self.logits_dtype, self.calls = info.logits_dtype, self.calls + info.calls
        self._new.append(info)

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays; the steps added since they were last asked for are put into them together."""
        if self._new:
            new, self._new = self._new, []
            at = np.searchsorted(self.rows, torch.cat([info.rows for info in new]).cpu().numpy())
            step = np.repeat([info.step for info in new], [len(info.rows) for info in new])
            for name, array in self._arrays.items():
                array[at, step] = torch.cat([getattr(info, name) for info in new]).cpu().numpy()
        return self._arrays

    def row(self, index: int, uncommitted: int) -> dict[str, Any]:
        """Return a row's place, costs and arrays, those of its `steps_run` steps that committed something.

        uncommitted: the token that stands at positions which no step committed.
        """
        chosen = self.arrays["chosen"][index]
        run = int(chosen.any(axis=1).sum())
        arrays: dict[str, Any] = {name: array[index, :run].copy() for name, array in self.arrays.items()}
        del arrays["chosen"]
        commit_step, arrays["provisional"] = last_commits(chosen[:run], arrays.pop("masked_again"))
        tokens = last_tokens(arrays["candidate"], commit_step, arrays["edited"])
        tokens = np.where(commit_step < 0, uncommitted, tokens).astype(np.int64)
        arrays |= {"steps_run": run, "tokens": tokens, "commit_step": commit_step}
        arrays["forwards"] = int(arrays["forwards"].sum())
        arrays["computed_columns"] = int(arrays["computed_columns"].sum()) or None
        return arrays | {"logits_dtype": self.logits_dtype, "width": self.width, "offset": self.offsets[index]}
