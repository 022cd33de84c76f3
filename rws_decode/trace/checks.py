"""Check a trace: types, shapes, consistent steps and outcome; and list what it keeps of a run."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from rws_decode.canvas.end_of_text import Ends
from rws_decode.canvas.schedule import LONGEST, EndOfText, Padding, block_plan
from rws_decode.settings import Drawing, Kept, Precision, Ranking
from rws_decode.trace.data import LAYOUT, NOT_NEEDED, STEP_MAP_MAY_LACK, TraceData, last_tokens
from rws_theory.checks import one_of, whole

PASSED_OVER = 16  # passed-over positions whose values are kept, for each position that a step commits
CHANGED_CANDIDATES = 128  # changes of candidates that are kept, for each committed token of a run
PIECES = 16  # different tokens whose texts are kept, for each committed token of a run

_COUNTS = {"forwards", "reward_calls", "reward_calls_saved", "reward_tokens", "reward_tokens_saved"}
_COUNTS |= {"mask_id", "offset", "width"}
_CHOICES = {
    "ranking": (*get_args(Ranking), "order"),
    "precision": get_args(Precision),
    "drawing": get_args(Drawing),
    "padding": get_args(Padding),
    "end_of_text": get_args(EndOfText),
    "record": get_args(Kept),
}
_TYPES: dict[str, tuple[type, ...]] = {each.__name__: (each,) for each in (int, bool, str, dict, list)}
_TYPES |= {"float": (float, int), "None": (type(None),)}


def check_settings(trace: TraceData) -> None:
    """Raise ValueError, naming the field, for settings of other types, and for a plan that is none."""
    for name, value in trace.metadata().items():
        if _left_out(trace, name, value):
            continue
        words = TraceData.__annotations__[name].split(" | ")
        kinds = tuple(kind for word in words for kind in _TYPES[word.partition("[")[0]])
        if not isinstance(value, kinds) or isinstance(value, bool) != (kinds == (bool,)):
            raise ValueError(f"{name} is {value!r}: a trace needs {' or '.join(kind.__name__ for kind in kinds)}")
        if name in _COUNTS and not 0 <= value < 2**36:
            raise ValueError(f"{name} is {value}: at least 0 and below 2**36 is needed")
        if name in _CHOICES:
            one_of(name, value, _CHOICES[name])
    if trace.of_step_map:
        for name in ("length", "steps_run", "block"):
            if (value := getattr(trace, name)) is not None:
                whole(name, value, 1, LONGEST)
        return
    if trace.own_ids:
        raise ValueError("own_ids is True: a decode has its model's token ids")
    block_plan(trace.length, trace.steps, trace.block, trace.counts)
    if not 1 <= trace.steps_run <= trace.steps:
        raise ValueError(f"steps_run is {trace.steps_run}: 1 to steps, {trace.steps}, is needed")


def _left_out(trace: TraceData, name: str, value: Any) -> bool:
    """Return whether a field is None as nothing tells it; ValueError where it should be None."""
    if name in trace.lacking and value is not None:
        source = "a step map, whose strategy is null," if trace.of_step_map else "a record of tokens"
        raise ValueError(f"{name} is {value!r}: {source} does not tell it; null is needed")
    return value is None and (name in trace.lacking or (trace.of_step_map and name in STEP_MAP_MAY_LACK))


def spelled(text: str | None, pieces: dict[str, str], tokens: Iterable[int]) -> bool:
    """Return whether a text is what tokens from the first one on spell piece by piece, blanks and special names aside.

    Not every tokenizer's texts are: a character may be made of several tokens.
    """
    rest = None if text is None else "".join(text.split())
    for token in tokens:
        if not rest:
            break
        piece = "".join(str(pieces.get(str(token), "")).split())
        if rest.startswith(piece):
            rest = rest[len(piece) :]
        elif not (piece[0] in "[<" and piece[-1] in "]>"):
            return False
    return rest == ""


def checked_array(trace: TraceData, name: str) -> NDArray[Any] | None:
    """Return an array of the trace with one kind of NaN, None where a step map does not tell it.

    ValueError, naming it, for another dtype or shape.
    """
    if _left_out(trace, name, getattr(trace, name)):
        return None
    array = np.ascontiguousarray(getattr(trace, name))
    dtype, axes = LAYOUT[name]
    shape = tuple({"R": trace.steps_run, "n": trace.length, "p": array.size}[axis] for axis in axes)
    if array.dtype != dtype or array.shape != shape:
        raise ValueError(f"{name} is {array.dtype} {array.shape}: a trace needs {dtype} {shape}")
    return np.where(np.isnan(array), np.nan, array) if dtype == "float64" else array


def check_steps(trace: TraceData) -> None:
    """Raise ValueError where arrays contradict each other."""
    masks = 0 if trace.prompt is None else int((trace.prompt == trace.mask).sum())
    if masks not in (0, trace.length):
        raise ValueError(f"prompt holds {masks} masks: none, or length, {trace.length}, is needed")
    if trace.of_step_map:
        for name in ("value", "factor", "reward_raw", "reward_normalised"):
            if not np.isnan(getattr(trace, name)).all():
                raise ValueError(f"{name} holds numbers: a step map, whose strategy is null, does not tell it")
        if trace.unscaled.any() or trace.provisional.any() or (trace.commit_step < 0).any():
            raise ValueError("a step map, whose strategy is null, tells one commit of each position, and no other")
        if trace.own_ids and {*map(str, trace.tokens.tolist())} - trace.pieces.keys():
            raise ValueError("own_ids is True: pieces must hold the text of every token")
    elif trace.width < trace.offset + (trace.length if masks == 0 else 1) or trace.width < trace.prompt.size:
        raise ValueError(
            f"width is {trace.width}: columns of the prompt and the answer, from {trace.offset} on, are needed"
        )
    committed = trace.commit_step >= 0
    last = np.where(committed, trace.commit_step, trace.steps_run) - 1  # after it no token stands that goes again
    if (trace.provisional & (np.arange(trace.steps_run)[:, None] >= last)).any():
        raise ValueError("provisional must be false from the step before the last commit of a position on")
    if (trace.commit_step >= trace.steps_run).any() or not trace.chosen.any(axis=1).all():
        raise ValueError(f"commit_step must hold every step from 0 to {trace.steps_run - 1}, the steps run")
    if (trace.commit_step < -1).any() or np.unique(trace.tokens[~committed]).size > 1:
        raise ValueError("commit_step must be -1 where a position was not committed, and the tokens there the same")
    if (trace.edited & (trace.masked | trace.masked_again)).any():
        raise ValueError("edited must be false where no token stands before and after the step")
    tokens = last_tokens(trace.candidate, trace.commit_step, trace.edited)
    if not np.array_equal(tokens[committed], trace.tokens[committed]):
        raise ValueError("tokens are not the candidates of the steps that committed them")
    if (trace.candidate[trace.chosen & trace.provisional | trace.edited] < 0).any():
        raise ValueError("candidate must be known where a token is committed that a later step takes away")
    block = np.arange(trace.length) // (trace.block or trace.length)
    if ((trace.masked_again | trace.edited) & (block != block[trace.masked.argmax(axis=1)][:, None])).any():
        raise ValueError("a token is masked again or replaced outside the block of that step")
    if trace.of_step_map:
        return
    if not np.isin(trace.reward_use, range(NOT_NEEDED + 1)).all():
        raise ValueError(f"reward_use holds {trace.reward_use.max()}: 0 to 3 are known")
    unneeded = trace.reward_use == NOT_NEEDED
    for name, missing in (
        ("factor", unneeded),
        ("reward_raw", ~trace.reward_asked),
        ("reward_normalised", ~trace.reward_asked),
    ):
        if not np.array_equal(np.isnan(getattr(trace, name)), missing):
            raise ValueError(f"{name} must be NaN just at the steps where reward_use says that there is none")
    if trace.record != "full":
        if trace.unscaled.any() or not np.isnan(trace.value).all():
            raise ValueError("value or unscaled holds what a record of tokens does not tell")
        return
    if np.isnan(trace.value[trace.chosen & ~unneeded[:, None]]).any():
        raise ValueError("value holds NaN at a committed position")
    known = trace.unscaled.any(axis=1)
    counts = trace.unscaled.sum(axis=1) == trace.chosen.sum(axis=1)
    if (trace.unscaled & ~trace.masked).any() or not (counts[known].all() or trace.strategy.get("counts")):
        raise ValueError("unscaled must hold as many masked positions as a step commits, or none")


def check_outcome(trace: TraceData) -> None:
    """Raise ValueError, naming the field, where a trace's outcome is not what `trace.Trace` describes."""
    final_reward, log_prob = trace.final_reward, trace.log_prob
    for token, piece in trace.pieces.items():
        if not (isinstance(token, str) and token.isascii() and token.isdecimal() and isinstance(piece, str)):
            raise ValueError(f"pieces holds {token!r}: {piece!r}: texts by token id in decimal are needed")
    if final_reward is not None:
        known = set(final_reward) == {"model", "raw", "normalised"} and isinstance(final_reward["model"], str)
        if not known or not all(_finite(final_reward[name]) for name in ("raw", "normalised")):
            raise ValueError(f"final_reward is {final_reward!r}: model, raw and normalised are needed, or None")
    if log_prob is not None and not _finite(log_prob):
        raise ValueError(f"log_prob is {log_prob!r}: a finite number of nats is needed, or None")
    if not all(isinstance(rule, str) for rule in trace.rules_broken or ()):
        raise ValueError("rules_broken must be a list of texts, or None")


def _finite(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer that no float64 holds
        return False


def thinned(trace: TraceData) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
    """Return the values and candidates that a trace keeps, and the positions whose candidates are always kept; [R, n].

    Candidates of other masked positions are kept where all were computed and few enough change.
    """
    kept, value = np.zeros_like(trace.masked), trace.value
    if trace.record == "full":  # else no value is known
        ends = Ends() if trace.of_step_map else Ends(trace.end_of_text, trace.end_ids)
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
    """Return where a masked position's candidate is not that of the step before, all new at first; bool [R, n]."""
    changed = np.ones_like(masked)
    changed[1:] = candidate[1:] != candidate[:-1]
    return masked & changed
