"""The data of a trace: what the decoder recorded, and the arrays that follow from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from rws_decode.text.dialogue import filled, row_of
from rws_theory.orders.deviation import generation_order_deviation
from rws_theory.show import quoted, shortened

# The values of `reward_use`: what became of the reward of a step.
NOT_ASKED, SCORED, REUSED, NOT_NEEDED = range(4)

# What the metadata of a field says: the shape of an array in R steps run, n answer positions and p prompt ids;
# or that it is a setting that came later, which the file's metadata has only where it differs from its default.
_PROMPT, _CELLS, _STEPS, _POSITIONS = ({"axes": axes} for axes in ("p", "Rn", "R", "n"))
_LATER = {"later": True}

# The fields that are None where a step map is all that is known of a run, and those that it may leave out besides.
STEP_MAP_LACKS = frozenset(
    "steps ranking precision logits_dtype strategy reward_settings savings offset width padding sampling_temperature "
    "drawing top_p key_cache seed cfg end_of_text end_ids forwards reward_calls reward_calls_saved reward_tokens "
    "reward_tokens_saved reward_use ties saturated inexact near_ties near_tokens".split()
)
STEP_MAP_MAY_LACK = {"predictor": "model", "block": "block", "mask_id": "mask token", "prompt": "prompt's tokens"}
# Those that are None where a decode recorded its tokens alone (`Options.record`); it has no values either.
TOKENS_LACK = frozenset(("ties", "saturated", "inexact", "near_ties", "near_tokens"))
_TOKENS_MISSING = ("ranking values", "ties", "rounding", "what factor 1 would have committed")
_MISSING = ("strategy", "settings", "candidates", "ranking values", "factors", "rewards", "ties")
_MISSING += ("rounding", "tokens masked again", "forwards", "reward calls")


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class TraceData:
    """The fields of a trace, and what is derived from them; `trace.Trace`, which checks them, says what each holds.

    The types are those of a decode; of a step map, the fields of `STEP_MAP_LACKS` are None (`missing`).
    """

    length: int
    steps: int
    steps_run: int
    block: int
    counts: list[int] | None = field(default=None, metadata=_LATER)
    ranking: str
    precision: str
    logits_dtype: str
    strategy: dict[str, Any]
    predictor: str
    reward_model: str | None
    reward_settings: dict[str, Any] = field(default_factory=dict)
    savings: dict[str, Any] = field(default_factory=dict)
    mask_id: int
    offset: int
    width: int
    padding: str
    sampling_temperature: float
    drawing: str = field(default="completion", metadata=_LATER)
    top_p: float = field(default=1.0, metadata=_LATER)
    top_k: int | None = field(default=None, metadata=_LATER)
    key_cache: str = field(default="none", metadata=_LATER)
    record: str = field(default="full", metadata=_LATER)
    seed: int
    cfg: float
    end_of_text: str
    end_ids: list[int]
    prompt_text: str | None
    text: str | None
    pieces: dict[str, str] = field(default_factory=dict)
    final_reward: dict[str, Any] | None = None
    log_prob: float | None = None
    rules_broken: list[str] | None = None
    own_ids: bool = field(default=False, metadata=_LATER)
    forwards: int
    computed_columns: int | None = field(default=None, metadata=_LATER)
    reward_calls: int
    reward_calls_saved: int
    reward_tokens: int = 0
    reward_tokens_saved: int = 0
    prompt: NDArray[np.int64] = field(metadata=_PROMPT)
    candidate: NDArray[np.int64] = field(metadata=_CELLS)
    value: NDArray[np.float64] = field(metadata=_CELLS)
    unscaled: NDArray[np.bool_] = field(metadata=_CELLS)
    provisional: NDArray[np.bool_] = field(default=None, metadata=_CELLS)  # type: ignore[assignment] - none is masked again
    edited: NDArray[np.bool_] = field(default=None, metadata=_CELLS)  # type: ignore[assignment] - none is replaced
    factor: NDArray[np.float64] = field(metadata=_STEPS)
    reward_use: NDArray[np.int8] = field(metadata=_STEPS)
    reward_raw: NDArray[np.float64] = field(metadata=_STEPS)
    reward_normalised: NDArray[np.float64] = field(metadata=_STEPS)
    ties: NDArray[np.int64] = field(metadata=_STEPS)
    saturated: NDArray[np.int64] = field(metadata=_STEPS)
    inexact: NDArray[np.bool_] = field(metadata=_STEPS)
    near_ties: NDArray[np.int64] = field(metadata=_STEPS)
    near_tokens: NDArray[np.int64] = field(metadata=_STEPS)
    tokens: NDArray[np.int64] = field(metadata=_POSITIONS)
    commit_step: NDArray[np.int64] = field(metadata=_POSITIONS)

    @property
    def missing(self) -> tuple[str, ...]:
        """Return what is not known, in words, of a run of a step map, or of one whose tokens alone were recorded."""
        if not self.of_step_map:
            return () if self.record == "full" else _TOKENS_MISSING
        return (*_MISSING, *(word for name, word in STEP_MAP_MAY_LACK.items() if getattr(self, name) is None))

    @property
    def of_step_map(self) -> bool:
        """Return whether a step map is all that tells of the run."""
        return self.strategy is None

    @property
    def lacking(self) -> frozenset[str]:
        """Return the fields that are None, as nothing tells them; `STEP_MAP_MAY_LACK` may be None besides."""
        return STEP_MAP_LACKS if self.of_step_map else frozenset() if self.record == "full" else TOKENS_LACK

    @property
    def mask(self) -> int:
        """Return the id that stands for a mask in `canvas`: `mask_id`, -1 where a step map does not tell it."""
        return -1 if self.mask_id is None else self.mask_id

    @cached_property
    def masked(self) -> NDArray[np.bool_]:
        """Return which positions were masked before each step, bool [R, n]."""
        masked = (self.commit_step < 0) | (self.commit_step >= np.arange(self.steps_run)[:, None])
        masked[1:] &= ~self.provisional[:-1]
        return _frozen(masked)

    @cached_property
    def canvas(self) -> NDArray[np.int64]:
        """Return the answer before each step, int64 [R, n]: the token of the latest commit, or the mask."""
        steps = np.where(self.chosen | self.edited, np.arange(self.steps_run)[:, None], 0)
        latest = np.maximum.accumulate(np.concatenate([steps[:1] * 0, steps[:-1]]), axis=0)  # before the step
        return _frozen(np.where(self.masked, self.mask, np.take_along_axis(self.candidate, latest, axis=0)))

    @cached_property
    def eligible(self) -> NDArray[np.bool_]:
        """Return the masked positions of each step's block, the first with masks left, bool [R, n].

        All masked ones where a step map does not tell the block.
        """
        block = np.arange(self.length) // (self.block or self.length)
        return _frozen(self.masked & (block == block[self.masked.argmax(axis=1)][:, None]))

    @cached_property
    def chosen(self) -> NDArray[np.bool_]:
        """Return the positions that each step committed, bool [R, n]."""
        chosen = (self.commit_step == np.arange(self.steps_run)[:, None]) | self.provisional
        chosen[1:] &= ~self.provisional[:-1]
        return _frozen(chosen)

    @cached_property
    def masked_again(self) -> NDArray[np.bool_]:
        """Return the positions whose committed token each step masked again, bool [R, n]."""
        again = np.zeros_like(self.provisional)
        again[1:] = self.provisional[:-1] & ~self.provisional[1:]
        return _frozen(again)

    @property
    def revisions(self) -> int | None:
        """Return how many committed tokens were masked again or replaced; None where only a step map is known."""
        return None if self.of_step_map else int((self.masked_again | self.edited).sum())

    @property
    def tokens_per_forward(self) -> float:
        """Return the answer's committed tokens over the forwards of its run; NaN where only a step map is known.

        A token after an end of text counts, for a step committed it; one that was masked again or replaced counts once.
        Every forward of the row counts, those that look ahead too.
        """
        return math.nan if self.of_step_map else int((self.commit_step >= 0).sum()) / self.forwards

    @cached_property
    def changed(self) -> NDArray[np.bool_]:
        """Return the steps that did not commit what confidence at factor 1 would have, bool [R]; False if not known."""
        return _frozen(self.unscaled.any(axis=1) & (self.unscaled != self.chosen).any(axis=1))

    @cached_property
    def reward_asked(self) -> NDArray[np.bool_]:
        """Return the steps whose factor came from a reward, scored then or before, bool [R]."""
        check_known(self, "reward_asked")
        return _frozen((self.reward_use == SCORED) | (self.reward_use == REUSED))

    @cached_property
    def whole_candidates(self) -> bool:
        """Return whether every step's whole completion is kept, not the candidates of kept positions alone."""
        return bool((self.candidate >= 0).all())

    @cached_property
    def completed(self) -> NDArray[np.int64]:
        """Return the ids of the prompt with its gaps filled, or with the answer after it."""
        if self.prompt is None:
            check_known(self, "completed")
        row = row_of(self.prompt.tolist(), self.mask, self.length)
        return _frozen(np.array(filled(row, self.tokens.tolist(), self.mask)))

    @property
    def god_tokens(self) -> float:
        """Generation Order Deviation counted in tokens: mean |a_i - o_i| over the order of single commits.

        Over committed positions only, numbered from the left, where a run was settled early. Of a position that was
        masked again, its last commit counts: the order is that in which the final text came about. So is `god_steps`.
        """
        return float(generation_order_deviation(self.commit_step[self.commit_step >= 0], "tokens"))

    @property
    def god_steps(self) -> float:
        """Generation Order Deviation counted in steps: mean |a_i - o_i| over the steps of the commits."""
        return float(generation_order_deviation(self.commit_step[self.commit_step >= 0], "steps"))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return every array by name, those that are derived left out."""
        return {name: getattr(self, name) for name in LAYOUT}

    def metadata(self) -> dict[str, Any]:
        """Return everything but the arrays, ready for JSON; `UNUSUAL` only where they are not the usual ones."""
        left_out = LAYOUT.keys() | {name for name, usual in UNUSUAL.items() if getattr(self, name) == usual}
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name not in left_out}

    def words(self, ids: Sequence[int] | NDArray[np.int64]) -> list[str]:
        """Return the text of each token by itself; its id in words where the trace has no text, "" for -1, not kept."""
        return ["" if token < 0 else self.pieces.get(str(token), str(token)) for token in map(int, ids)]


# Dtype and axes of each array, and the settings that came later with what is usual.
_TYPES = get_type_hints(TraceData)
LAYOUT: dict[str, tuple[str, str]] = {
    field.name: (np.dtype(get_args(get_args(_TYPES[field.name])[1])[0]).name, field.metadata["axes"])
    for field in fields(TraceData)
    if "axes" in field.metadata
}
UNUSUAL = {field.name: field.default for field in fields(TraceData) if "later" in field.metadata}


def check_traces(**traces: object) -> None:
    """Raise ValueError for what is not one trace, by the argument's name."""
    for name, value in traces.items():
        if not isinstance(value, TraceData):
            raise ValueError(f"{name} is {quoted(value)}: one trace is needed, such as the first, run[0]")


def check_known(trace: TraceData, reader: str, *, whole: bool = False) -> None:
    """Raise ValueError for what is no trace, and for one of a step map, naming what the reader would have to guess.

    whole: the reader needs ranking values or what rounding did, which a record of tokens lacks.
    """
    check_traces(trace=trace)
    if whole and trace.missing and not trace.of_step_map:
        raise ValueError(
            f"{reader} needs a whole trace: this one, of record 'tokens', does not tell {shortened(trace.missing)}; "
            "decode again with Options(record='full')"
        )
    if trace.of_step_map:
        raise ValueError(
            f"{reader} needs the trace of a decode: this one is of a step map, which does not tell "
            f"{shortened(trace.missing)}"
        )


def _frozen(array: Any) -> Any:
    array.flags.writeable = False
    return array


def last_commits(chosen: NDArray[np.bool_], again: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return a run's commit steps, int64 [n], the last of each position, and which commits a later step undid.

    chosen, again: bool [R, n], the positions that each step committed and masked again. The first is -1 where a
    position is masked at the end; the second, bool [R, n], is true after each step where such a token stands.
    """
    step = np.arange(len(chosen))[:, None]
    stands = (chosen.astype(np.int64) - again).cumsum(axis=0) > 0
    commit_step = np.where(stands[-1:].any(axis=0), np.where(chosen, step, -1).max(axis=0, initial=-1), -1)
    return commit_step, stands & ((commit_step < 0) | (step < commit_step))


def last_tokens(
    candidate: NDArray[np.int64], commit_step: NDArray[np.int64], edited: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return the token that each position's last commit set, int64 [n], or a later step that replaced it.

    candidate, edited: [R, n]. What it says of positions whose commit step is -1 has no meaning.
    """
    last = np.where(edited, np.arange(len(edited))[:, None], -1).max(axis=0, initial=-1)
    return candidate[np.maximum(commit_step, last), np.arange(len(commit_step))]
