"""What a decode did, step by step: kept, saved, loaded and shown as a table."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from rws_decode.canvas.end_of_text import deferred_positions
from rws_decode.canvas.schedule import block_plan
from rws_decode.common.files import write_bytes
from rws_decode.text.gaps import filled, row_of
from rws_decode.trace.file import read_trace, trace_bytes, trace_table
from rws_decode.trace.record import NOT_ASKED, NOT_NEEDED, REUSED, SCORED
from rws_decode.trace.thinning import CHANGED_CANDIDATES, changed_candidates, kept_values
from rws_theory.orders.deviation import generation_order_deviation

if TYPE_CHECKING:
    import pandas

__all__ = ["Trace", "load"]

# Array fields of a trace: dtype and shape in terms of R steps run, n answer positions, p prompt ids.
_LAYOUT: dict[str, tuple[str, str]] = {
    "prompt": ("int64", "p"),
    "candidate": ("int64", "Rn"),
    "value": ("float64", "Rn"),
    "factor": ("float64", "R"),
    "reward_use": ("int8", "R"),
    "reward_raw": ("float64", "R"),
    "reward_normalised": ("float64", "R"),
    "ties": ("int64", "R"),
    "saturated": ("int64", "R"),
    "inexact": ("bool", "R"),
    "near_ties": ("int64", "R"),
    "near_tokens": ("int64", "R"),
    "tokens": ("int64", "n"),
    "commit_step": ("int64", "n"),
}
_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (float, int),
    "str": (str,),
    "str | None": (str, type(None)),
    "dict[str, Any]": (dict,),
    "list[int]": (list,),
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Trace:
    """The record of one decoded row: R steps run over n answer positions. docs/trace-format.md is its page.

    Settings: length (n), steps (planned, S), block; `ranking`, "order" where the strategy's own values rank;
    `precision`, and `logits_dtype`, the model's; `strategy`, the strategy's description; `predictor` and
    `reward_model`, names (None where no reward was asked), `reward_settings` and `savings`, JSON-ready: its mean, std
    and bounds, and what the decode left out; `mask_id`; `prompt_text` (of a dialogue, its plain text) and `text`, None
    without a tokenizer. `offset` and `width`: of the canvas, the first answer column and the number of columns, padding
    counted, which stood on the side `padding`. `sampling_temperature` and `seed` of Gumbel sampling
    (0: greedy, the seed unused); `cfg`, the scale of classifier-free guidance (0: none); `end_of_text`, the policy, and
    the `end_ids` that it acts on.

    Arrays, what happened: `prompt` int64 [p], the prompt's ids, `mask_id` in its gaps, whose masks are the answer's
    positions then, and whose tokens are the `text`; `tokens` int64 [n]; `commit_step` int64 [n], from 0,
    -1 where the row was settled before, or stopped by a callback (`steps_run`, R, is less than S then, and the token
    there one that ends text, or the mask);
    `candidate` int64 [R, n], the completion, greedy or drawn (committed tokens stay), -1 where not kept; `value`
    float64 [R, n], what positions are ranked by, NaN where not `eligible` or not kept; `factor` float64 [R];
    `reward_use` int8 [R], of the reward: 0 not asked by the strategy, 1 scored, 2 reused (the same text was scored
    before), 3 not needed (every reward selects the same set; `factor` is NaN then, and `value` where it was not
    computed); `reward_raw` and `reward_normalised` float64 [R], NaN where there is none.

    Derived from these: `canvas` int64 [R, n], the answer before the step; `masked` bool [R, n]; `eligible` bool [R, n],
    masked positions of the current block; `chosen` bool [R, n], those committed; `reward_asked` bool [R].

    Not every value and candidate is kept, in memory as in the file: the page's section Rows says which are.
    `whole_candidates` says whether all candidates are there.

    Arrays, what rounding did: `ties`, `saturated`, `near_ties` and `near_tokens` int64 [R] count positions, `inexact`
    bool [R] marks steps. The page's sections Columns and Rounding define them.

    Costs: `forwards`; `reward_calls`, texts scored; `reward_calls_saved`, scores reused or not needed;
    `reward_tokens`, tokens that the reward model ran; `reward_tokens_saved`, tokens that it had cached (0: unknown).

    Guarantee: shapes and dtypes as above, arrays read-only, tokens those that were candidates when they were committed,
    at least one in every step run; ValueError otherwise.
    """

    length: int
    steps: int
    steps_run: int
    block: int
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
    seed: int
    cfg: float
    end_of_text: str
    end_ids: list[int]
    prompt_text: str | None
    text: str | None
    forwards: int
    reward_calls: int
    reward_calls_saved: int
    reward_tokens: int = 0
    reward_tokens_saved: int = 0
    prompt: NDArray[np.int64]
    candidate: NDArray[np.int64]
    value: NDArray[np.float64]
    factor: NDArray[np.float64]
    reward_use: NDArray[np.int8]
    reward_raw: NDArray[np.float64]
    reward_normalised: NDArray[np.float64]
    ties: NDArray[np.int64]
    saturated: NDArray[np.int64]
    inexact: NDArray[np.bool_]
    near_ties: NDArray[np.int64]
    near_tokens: NDArray[np.int64]
    tokens: NDArray[np.int64]
    commit_step: NDArray[np.int64]

    def __post_init__(self) -> None:
        for name, value in self.metadata().items():
            kinds = _TYPES[type(self).__annotations__[name]]
            if not isinstance(value, kinds) or isinstance(value, bool):
                raise ValueError(f"{name} is {value!r}: a trace needs {' or '.join(kind.__name__ for kind in kinds)}")
        block_plan(self.length, self.steps, self.block)
        if not 1 <= self.steps_run <= self.steps:
            raise ValueError(f"steps_run is {self.steps_run}: 1 to steps, {self.steps}, is needed")
        for name, (dtype, axes) in _LAYOUT.items():
            array = np.ascontiguousarray(getattr(self, name))
            shape = tuple({"R": self.steps_run, "n": self.length, "p": array.size}[axis] for axis in axes)
            if array.dtype != dtype or array.shape != shape:
                raise ValueError(f"{name} is {array.dtype} {array.shape}: a trace needs {dtype} {shape}")
            self._set(name, np.where(np.isnan(array), np.nan, array) if dtype == "float64" else array)
        if (masks := int((self.prompt == self.mask_id).sum())) not in (0, self.length):
            raise ValueError(f"prompt holds {masks} masks: none, or length, {self.length}, is needed")
        self._check()
        self._thin()

    def _set(self, name: str, array: NDArray[Any]) -> None:
        array = array.copy() if array.flags.writeable else array
        array.flags.writeable = False
        object.__setattr__(self, name, array)

    def _check(self) -> None:
        """Raise ValueError where arrays contradict each other."""
        committed = self.commit_step >= 0
        if not np.array_equal(np.unique(self.commit_step[committed]), np.arange(self.steps_run)):
            raise ValueError(f"commit_step must hold every step from 0 to {self.steps_run - 1}, the steps run")
        if (self.commit_step < -1).any() or np.unique(self.tokens[~committed]).size > 1:
            raise ValueError("commit_step must be -1 where a position was not committed, and the tokens there the same")
        at = self.candidate[self.commit_step[committed], np.flatnonzero(committed)]
        if not np.array_equal(at, self.tokens[committed]):
            raise ValueError("tokens are not the candidates of the steps that committed them")
        if not np.isin(self.reward_use, (NOT_ASKED, SCORED, REUSED, NOT_NEEDED)).all():
            raise ValueError(f"reward_use holds {self.reward_use.max()}: 0 to 3 are known")
        unneeded = self.reward_use == NOT_NEEDED
        for name, missing in (
            ("factor", unneeded),
            ("reward_raw", ~self.reward_asked),
            ("reward_normalised", ~self.reward_asked),
        ):
            if not np.array_equal(np.isnan(getattr(self, name)), missing):
                raise ValueError(f"{name} must be NaN just at the steps where reward_use says that there is none")
        if np.isnan(self.value[self.chosen & ~unneeded[:, None]]).any():
            raise ValueError("value holds NaN at a committed position")

    def _thin(self) -> None:
        """Drop the values and candidates that a trace does not keep."""
        deferred = deferred_positions(torch.from_numpy(self.candidate.copy()), self.end_of_text, self.end_ids).numpy()
        kept = kept_values(self.value, self.eligible, self.chosen, deferred)
        self._set("value", np.where(kept, self.value, np.nan))
        candidate = np.where(self.masked, self.candidate, self.tokens)
        kept |= self.chosen
        further = changed_candidates(candidate, self.masked) & ~kept
        if (candidate < 0).any() or further.sum() > CHANGED_CANDIDATES * (self.commit_step >= 0).sum():
            candidate = np.where(self.masked & ~kept, -1, candidate)
        self._set("candidate", candidate)

    __hash__ = None  # type: ignore[assignment] - arrays have no hash

    def __eq__(self, other: object) -> bool:
        """Compare settings, texts, costs and every array, bit for bit."""
        if not isinstance(other, Trace):
            return NotImplemented
        mine, theirs = self.arrays(), other.arrays()
        return self.metadata() == other.metadata() and all(mine[n].tobytes() == theirs[n].tobytes() for n in _LAYOUT)

    @cached_property
    def masked(self) -> NDArray[np.bool_]:
        """Return which positions were masked before each step, bool [R, n]."""
        return _frozen((self.commit_step < 0) | (self.commit_step >= np.arange(self.steps_run)[:, None]))

    @cached_property
    def canvas(self) -> NDArray[np.int64]:
        """Return the answer before each step, int64 [R, n]."""
        return _frozen(np.where(self.masked, self.mask_id, self.tokens))

    @cached_property
    def eligible(self) -> NDArray[np.bool_]:
        """Return the masked positions of each step's block, bool [R, n]."""
        plan = block_plan(self.length, self.steps, self.block)[: self.steps_run]
        start = np.array([planned.start for planned in plan])[:, None]
        position = np.arange(self.length)
        return _frozen(self.masked & (position >= start) & (position < start + self.block))

    @cached_property
    def chosen(self) -> NDArray[np.bool_]:
        """Return the positions that each step committed, bool [R, n]."""
        return _frozen(self.commit_step == np.arange(self.steps_run)[:, None])

    @cached_property
    def reward_asked(self) -> NDArray[np.bool_]:
        """Return the steps whose factor came from a reward, scored then or before, bool [R]."""
        return _frozen((self.reward_use == SCORED) | (self.reward_use == REUSED))

    @cached_property
    def whole_candidates(self) -> bool:
        """Return whether every step's whole completion is kept, not the candidates of kept positions alone."""
        return bool((self.candidate >= 0).all())

    @cached_property
    def completed(self) -> NDArray[np.int64]:
        """Return the ids of the prompt with its gaps filled, or with the answer after it."""
        row = row_of(self.prompt.tolist(), self.mask_id, self.length)
        return _frozen(np.array(filled(row, self.tokens.tolist(), self.mask_id)))

    @property
    def god_tokens(self) -> float:
        """Generation Order Deviation counted in tokens: mean |a_i - o_i| over the order of single commits.

        Over committed positions only, numbered from the left, where a run was settled early; so is `god_steps`.
        """
        return float(generation_order_deviation(self.commit_step[self.commit_step >= 0], "tokens"))

    @property
    def god_steps(self) -> float:
        """Generation Order Deviation counted in steps: mean |a_i - o_i| over the steps of the commits."""
        return float(generation_order_deviation(self.commit_step[self.commit_step >= 0], "steps"))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return every array by name, those that are derived left out."""
        return {name: getattr(self, name) for name in _LAYOUT}

    def metadata(self) -> dict[str, Any]:
        """Return everything but the arrays, ready for JSON."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name not in _LAYOUT}

    def to_frame(self) -> pandas.DataFrame:
        """Return the trace's table, the one that `pandas.read_parquet` reads from its file."""
        return trace_table(self).to_pandas()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the trace to one Parquet file, atomically, and return the path; equal traces give equal bytes.

        (With one version of pyarrow.) At most 1 KiB per committed token, but for short answers: docs/trace-format.md.
        """
        return write_bytes(path, trace_bytes(self))


def _frozen(array: Any) -> Any:
    array.flags.writeable = False
    return array


def load(path: str | os.PathLike[str]) -> Trace:
    """Read a trace that `Trace.save` wrote.

    FileNotFoundError for a missing file; ValueError, naming the file, for one that is truncated, foreign, of another
    version, or whose parts contradict each other. Nothing is unpickled.

    >>> import tempfile, torch
    >>> from rws_decode.decode import decode
    >>> from rws_decode.strategies.factors import Confidence
    >>> from rws_decode.predictors import CallablePredictor
    >>> predictor = CallablePredictor(lambda canvas: torch.eye(4)[3 - canvas], mask_id=0)
    >>> from rws_decode.settings import Shape
    >>> (trace,) = decode(predictor, [[2]], Confidence(), Shape(3, 3, 3))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load(trace.save(Path(folder) / "trace.parquet")) == trace
    True
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"no trace at {path}")
    settings = {field.name for field in fields(Trace)} - set(_LAYOUT)
    try:
        return Trace(**read_trace(Path(path).read_bytes(), settings))
    except (ValueError, TypeError, OverflowError, MemoryError) as error:
        raise ValueError(f"{path}: {' '.join(str(error).split())}") from error
