"""What a trace keeps of a decode: a row per step, and of it all that selecting again needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rws_decode.canvas.end_of_text import Ends
from rws_decode.trace.data import LAYOUT, TraceData, last_commits, last_tokens

PASSED_OVER = 16  # passed-over positions whose values are kept, for each position that a step commits
CHANGED_CANDIDATES = 128  # changes of candidates that are kept, for each committed token of a run
PIECES = 16  # different tokens whose texts are kept, for each committed token of a run


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
    """The per-step arrays of all traces of a batch. rows: the numbers of its prompts, rising."""

    def __init__(self, rows: Sequence[int], length: int, steps: int) -> None:
        self.rows = np.asarray(rows)
        self.logits_dtype, self.calls = "", 0
        self.arrays: dict[str, NDArray[Any]] = {}
        for name, (dtype, axes) in _KEPT.items():
            unknown = -1 if name == "candidate" else np.nan if dtype == "float64" else 0
            self.arrays[name] = np.full((len(rows), steps, length)[: 1 + len(axes)], unknown, dtype)

    def add(self, info: Info) -> None:
        """Keep what one step did."""
        at = np.searchsorted(self.rows, info.rows.cpu().numpy())
        self.logits_dtype, self.calls = info.logits_dtype, self.calls + info.calls
        for name, array in self.arrays.items():
            array[at, info.step] = getattr(info, name).cpu().numpy()

    def row(self, index: int, uncommitted: int = -1) -> dict[str, Any]:
        """Return a row's `steps_run`, its costs, and its arrays, those of its steps that committed something.

        uncommitted: the token that stands at positions which no step committed.
        """
        chosen = self.arrays["chosen"][index]
        run = int(chosen.any(axis=1).sum())
        arrays: dict[str, Any] = {name: array[index, :run].copy() for name, array in self.arrays.items()}
        del arrays["chosen"]
        commit_step, arrays["provisional"] = last_commits(chosen[:run], arrays.pop("masked_again"))
        tokens = last_tokens(arrays["candidate"], commit_step, arrays["edited"])
        tokens = np.where(commit_step < 0, uncommitted, tokens).astype(np.int64)
        costs: dict[str, Any] = {"forwards": int(arrays.pop("forwards").sum())}
        costs["computed_columns"] = int(arrays.pop("computed_columns").sum()) or None
        arrays |= costs | {"steps_run": run, "tokens": tokens, "commit_step": commit_step}
        return arrays | {"logits_dtype": self.logits_dtype}


def thinned(trace: TraceData) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
    """Return the values and candidates that a trace keeps of those it has, and whose candidates it keeps of itself.

    [R, n] each. Candidates of other masked positions are kept where all were computed and few enough change.
    """
    ends = Ends() if trace.missing else Ends(trace.end_of_text, trace.end_ids)
    deferred = ends.waits(torch.from_numpy(trace.candidate.copy())).numpy()
    kept = kept_values(trace.value, trace.eligible, trace.chosen, deferred)
    value = np.where(kept, trace.value, np.nan)
    candidate = np.where(trace.masked | trace.edited, trace.candidate, trace.canvas)
    kept |= trace.chosen | trace.unscaled | trace.edited
    further = changed_candidates(candidate, trace.masked) & ~kept
    if (candidate < 0).any() or further.sum() > CHANGED_CANDIDATES * (trace.commit_step >= 0).sum():
        candidate = np.where(trace.masked & ~kept, -1, candidate)
    return value, candidate, kept


def kept_pieces(trace: TraceData, kept: NDArray[np.bool_]) -> dict[str, str]:
    """Return the pieces of the prompt, the answer and the candidates of a thinned trace.

    kept: bool [R, n], of `thinned`. Where the different candidates are more than `PIECES` for each committed token, and
    more than the positions, only those that are kept of themselves have pieces.
    """
    if not trace.pieces:
        return {}
    candidates = np.unique(trace.candidate)
    if candidates.size > max(trace.length, PIECES * int((trace.commit_step >= 0).sum())):
        candidates = np.unique(trace.candidate[kept])
    prompt = [] if trace.prompt is None else trace.prompt.tolist()
    held = {str(token) for token in {*prompt, *trace.tokens.tolist(), *candidates.tolist()}}
    return {token: piece for token, piece in trace.pieces.items() if token in held}


def kept_values(
    value: NDArray[np.float64], eligible: NDArray[np.bool_], chosen: NDArray[np.bool_], deferred: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return whose ranking values a trace keeps, bool [R, n], of R steps over n positions.

    All arguments: [R, n]. Kept of a step that commits k positions are those k, the best `PASSED_OVER` * k of the other
    eligible ones in the order in which they would be committed (those that are not `deferred` first, larger values
    first, leftmost first), and every one that is level with the last committed. So a selection among those kept chooses
    the same set and counts the same ties (but for ties that `torch.topk` breaks). A value of NaN, not known, is never
    kept.

    >>> value = np.array([[3.0, 1.0, 2.0]])
    >>> kept_values(value, value > 1, value > 2, value > 9).tolist()
    [[True, False, True]]
    """
    ranked = eligible & ~np.isnan(value)
    order = np.lexsort((-np.where(ranked, value, 0.0), deferred, ~ranked), axis=-1)  # stable: the leftmost goes first
    rank = np.argsort(order, axis=-1)
    commits = chosen.sum(axis=1, keepdims=True)
    last = np.take_along_axis(order, np.maximum(commits - 1, 0), axis=1)
    level = np.ones_like(ranked)
    for array in (value, deferred):
        level &= array == np.take_along_axis(array, last, axis=1)
    return ranked & (chosen | level | (rank < (1 + PASSED_OVER) * commits))


def changed_candidates(candidate: NDArray[np.int64], masked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return where a masked position's candidate is not that of the step before, all being new at first; bool [R, n].

    >>> changed_candidates(np.array([[5, 6], [5, 7]]), np.ones((2, 2), dtype=bool)).tolist()
    [[True, True], [False, True]]
    """
    changed = np.ones_like(masked)
    changed[1:] = candidate[1:] != candidate[:-1]
    return masked & changed
