"""The observer that turns the steps of a decode into rows of its traces."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rws_decode.canvas.end_of_text import Ends
from rws_decode.canvas.layout import Canvas
from rws_decode.settings import Options
from rws_decode.step.completion import Choice
from rws_decode.step.diagnose import Diagnosis, diagnosis, joined, kind, slim
from rws_decode.step.step import Decoder, Done, State
from rws_decode.trace.data import LAYOUT, NOT_NEEDED, TOKENS_LACK, last_commits, last_tokens

_OPTIONS, _ENDS = Options(), Ends()
_MEMORY = 2**24  # bytes of logits that wait, at most, until their steps are diagnosed together


def rows_of(done: Done, diagnosed: Diagnosis | None) -> dict[str, Tensor]:
    """Return what a step, or several joined ones, adds to traces, by the arrays' names: NaN and -1 if not known.

    Where no reward was needed, none of the values that one would lead to is known.
    """
    choice, unknown = done.choice, torch.full(done.factor.shape, torch.nan, dtype=torch.float64)
    use = torch.zeros(done.factor.shape, dtype=torch.int8) if done.reward is None else done.reward.use
    unneeded = use == NOT_NEEDED
    rewards = (unknown, unknown) if done.reward is None else (done.reward.raw, done.reward.normalised)
    rows = {name: getattr(done, name) for name in ("masked_again", "edited", "forwards", "computed_columns")}
    rows |= {"candidate": choice.candidate, "chosen": choice.chosen, "factor": done.known_factor}
    rows |= {"reward_raw": rewards[0], "reward_normalised": rewards[1], "reward_use": use}
    if diagnosed is not None:
        there = unneeded.to(choice.chosen.device)
        rows |= diagnosed._asdict()
        rows["value"] = diagnosed.value.masked_fill(there[:, None], torch.nan)
        rows["saturated"] = diagnosed.saturated.masked_fill(there, -1)
        rows["near_ties"] = torch.maximum(diagnosed.near_ties, done.near.to(there.device))
    return rows


# What is kept of a step: the arrays of a trace that steps fill in, and what others of its fields follow from.
_KEPT = {name: kind for name, kind in LAYOUT.items() if "R" in kind[1] and name != "provisional"}
_KEPT |= {"chosen": ("bool", "Rn"), "masked_again": ("bool", "Rn")}
_KEPT |= dict.fromkeys(("forwards", "computed_columns"), ("int64", "R"))


class Record:
    """What the steps of a batch did: an observer of `step.run`.

    rows: the numbers of its prompts, rising; canvas: before the first step; options, ends: of the decode, which say how
    full the record is. arrays: of all its traces, by step; calls: forwards of the batch; unfinished: the prompts whose
    masks were left when a callback ended it.
    """

    def __init__(
        self, rows: Sequence[int], canvas: Canvas, steps: int, options: Options = _OPTIONS, ends: Ends = _ENDS
    ) -> None:
        self.rows, self.unfinished = np.asarray(rows), list[int]()
        self.offsets, self.width, length = canvas.answer[:, 0].tolist(), canvas.ids.shape[1], canvas.answer.shape[1]
        self.logits_dtype, self.calls, self._new, self._waiting = "", 0, list[Done](), 0.0
        self._options, self._ends, self._full = options, ends, options.record == "full"
        self._arrays: dict[str, NDArray[Any]] = {}
        for name, (dtype, axes) in _KEPT.items():
            if self._full or name not in Diagnosis._fields:
                unknown = -1 if name == "candidate" else np.nan if dtype == "float64" else 0
                self._arrays[name] = np.full((len(rows), steps, length)[: 1 + len(axes)], unknown, dtype)

    @classmethod
    def of(cls, decoder: Decoder, state: State) -> Record:
        """Return the empty record of a batch in its first state."""
        return cls(state.rows.tolist(), state.canvas, len(decoder.plan), decoder.options, decoder.ends)

    def __call__(self, state: State, done: Done) -> None:
        """Keep what a step did, without the logits that nothing reads again; many steps are diagnosed together."""
        self.logits_dtype, self.calls = str(done.dtype).removeprefix("torch."), self.calls + done.calls
        if isinstance(done.choice, Choice):
            done, size = slim(done, self._options if self._full else None)
            self._waiting += size
        self._new.append(done)
        if self._waiting > _MEMORY:
            self._write()

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays; the steps since they were last asked for are put into them together."""
        self._write()
        return self._arrays

    def _write(self) -> None:
        new, self._new, self._waiting = self._new, [], 0
        for _, steps in groupby(new, kind):
            steps = list(steps)
            places = np.searchsorted(self.rows, torch.cat([done.rows for done in steps]).cpu().numpy())
            step = np.repeat([done.step for done in steps], [len(done.rows) for done in steps])
            done = joined(steps)
            diagnosed = getattr(done.choice, "diagnosis", None)  # of a step on a device
            if self._full and isinstance(done.choice, Choice):
                diagnosed = diagnosis(self._options, self._ends, done)
            for name, values in rows_of(done, diagnosed).items():
                self._arrays[name][places, step] = values.cpu().numpy()

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
        if not self._full:
            unknown = {"value": np.full(chosen[:run].shape, np.nan), "unscaled": np.zeros_like(chosen[:run])}
            arrays |= dict.fromkeys(TOKENS_LACK) | unknown
        return arrays | {"logits_dtype": self.logits_dtype, "width": self.width, "offset": self.offsets[index]}
