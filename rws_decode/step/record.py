"""What the steps of a decode did, kept as rows of its traces; and what rounding, or factor 1, would have changed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, groupby
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rws_decode.canvas.end_of_text import Ends
from rws_decode.canvas.layout import Canvas
from rws_decode.settings import Options
from rws_decode.step import rounding
from rws_decode.step.completion import Choice, Scheduled
from rws_decode.step.select import cut, dtype_of, rank, select_deferring, select_top
from rws_decode.step.step import Decoder, Done, State
from rws_decode.trace.data import LAYOUT, NOT_NEEDED, TOKENS_LACK, last_commits, last_tokens

_OPTIONS, _ENDS = Options(), Ends()
_MEMORY = 2**24  # bytes of logits that wait, at most, until their steps are diagnosed together


class Diagnosis(NamedTuple):
    """What a full record says of a step beside its commits: value and unscaled, [b, n], the rest [b], as in a trace."""

    value: Tensor
    unscaled: Tensor
    ties: Tensor
    saturated: Tensor
    inexact: Tensor
    near_ties: Tensor
    near_tokens: Tensor


def diagnosis(options: Options, ends: Ends, done: Done) -> Diagnosis:
    """Return what the trace says of a step, or of several joined ones; it changes nothing."""
    choice = done.choice
    completion, scale, (exact, _, k, deferred), value, chosen, ties, sensitivity = choice
    eligible, odds, ordered = completion.block, options.ranking == "log-odds", sensitivity is not None
    dtype = dtype_of(options.precision, done.dtype)
    # What the scale, or the strategy's own order, changes: confidence at factor 1 would commit these.
    unscaled, plain = chosen, choice.ranked
    if scaled := _scaled(done):
        plain = rank(completion, torch.ones_like(scale), options, ends)
    if scaled or ordered:
        unscaled = cut(completion, plain, plain.value, options, ends).chosen
    inexact = torch.zeros_like(ties, dtype=torch.bool)
    if not ordered and not _exact(options, done):
        best = select_deferring(select_top, completion.grid(exact), eligible, deferred, k)
        inexact = (best.chosen != chosen).any(dim=1)
    # What logits that are off by their error would change.
    error = completion.error
    low, high = ends_of_values = rounding.value_range(exact, completion.published, error, scale, options.ranking, dtype)
    if sensitivity is not None:
        reach = sensitivity * error * scale
        low, high = value - reach, value + reach
    near = rounding.near_ties(completion.grid(low), completion.grid(high), eligible, chosen, deferred)
    near = near.clamp(min=completion.commits.uncertain(*ends_of_values, odds, scale, error))
    saturated = rounding.saturated(exact, dtype) if ordered or odds else value == 1
    # Count the near-equal candidates that can change this step's result: those that are committed, and those that
    # move other positions. A reward reads every candidate, a drawn or deferred one changes the ranking, and a look
    # fills some in.
    moving = options.sampling_temperature > 0 or ends.defers or completion.view.look is not None
    unsure = completion.unsure
    if done.reward is None:
        unsure = unsure & (eligible if moving else chosen)
    certain = completion.grid(saturated).sum(dim=1)
    return Diagnosis(completion.grid(value), unscaled, ties, certain, inexact, near, unsure.sum(dim=1))


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
            done, size = _slim(done, self._options if self._full else None)
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
        for _, steps in groupby(new, _kind):
            steps = list(steps)
            at = np.searchsorted(self.rows, torch.cat([done.rows for done in steps]).cpu().numpy())
            step = np.repeat([done.step for done in steps], [len(done.rows) for done in steps])
            done = joined(steps)
            for name, values in rows_of(done, self._diagnosed(done)).items():
                self._arrays[name][at, step] = values.cpu().numpy()

    def _diagnosed(self, done: Done) -> Diagnosis | None:
        if not self._full:
            return None
        return diagnosis(self._options, self._ends, done) if isinstance(done.choice, Choice) else done.choice.diagnosis

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


def _slim(done: Done, options: Options | None) -> tuple[Done, float]:
    """Return a step without the logits that its diagnosis does not read, and the bytes of those that it does.

    options: None where it is not diagnosed. A strategy that counts is asked again, by step: it waits for no other.
    """
    completion = done.choice.completion
    if options is not None and not isinstance(completion.commits, Scheduled):
        return done, torch.inf
    nothing: Any = None
    seen, published, size = completion.seen, nothing, 0
    off = None if options is None else seen.error
    if options is not None and (_scaled(done) or not _exact(options, done)):
        published, size = completion.published, seen.logits.numel() * seen.logits.element_size()
    seen, view = seen._replace(logits=nothing, published=nothing, off=off), completion.view._replace(logits=nothing)
    completion = completion._replace(seen=seen, view=view, published=published)
    return done._replace(choice=done.choice._replace(completion=completion)), size


def _scaled(done: Done) -> bool:
    return any(factor != 1 for factor in done.factor.tolist())


def _exact(options: Options, done: Done) -> bool:
    """Return whether positions are ranked by exact log-odds."""
    return options.ranking == "log-odds" and dtype_of(options.precision, done.dtype) == torch.float64


def _kind(done: Done) -> tuple[bool, ...]:
    """Return what steps that are joined have in common."""
    if not isinstance(done.choice, Choice):
        return (done.reward is None,)
    completion, deferred = done.choice.completion, done.choice.ranked.deferred
    absent = (done.reward, completion.deferred, deferred, completion.published)
    return (*(each is None for each in absent), done.choice.sensitivity is None)


def joined(steps: Sequence[Done]) -> Done:
    """Return steps of one kind as one step of all their rows: for small tensors it takes as long to diagnose."""
    whole = steps[0] if len(steps) == 1 else _cat(steps)
    if len(steps) == 1 or not isinstance(whole.choice, Choice):
        return whole
    parts = [step.choice.completion for step in steps]
    begins = list(accumulate([len(step.rows) for step in steps[:-1]], initial=0))
    row = torch.cat([part.row + begin for part, begin in zip(parts, begins, strict=True)])
    seen = torch.cat([part.seen.row + begin for part, begin in zip(parts, begins, strict=True)])
    k = torch.cat([torch.as_tensor(step.choice.ranked.k, device=row.device).expand(len(step.rows)) for step in steps])
    completion = whole.choice.completion
    completion = completion._replace(row=row, seen=completion.seen._replace(row=seen), commits=Scheduled(k))
    ranked = whole.choice.ranked._replace(k=k)
    return whole._replace(choice=whole.choice._replace(completion=completion, ranked=ranked))


def _cat(values: Sequence[Any]) -> Any:
    """Return tensors, and tuples of such, one after another; of all else, the first."""
    first: Any = values[0]
    if isinstance(first, Tensor):
        return torch.cat(list(values))
    return type(first)(*map(_cat, zip(*values, strict=True))) if hasattr(first, "_fields") else first
