"""What a decode did, step by step: kept, saved, loaded and shown as a table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import InitVar, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rws_decode.common.files import check_trace_file, write_bytes
from rws_decode.common.page import Page, notebook_html, picture
from rws_decode.common.plugins import hook
from rws_decode.trace import checks
from rws_decode.trace.data import LAYOUT, TraceData
from rws_decode.trace.labels import trace_line

if TYPE_CHECKING:
    import pandas

    from rws_decode.predictors.base import MaskPredictor
    from rws_theory.crossings import Crossings


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Trace(TraceData):
    """The record of one decoded row: R steps run over n answer positions. docs/trace-format.md is its page.

    Its section Metadata describes settings, texts, outcome and costs; Columns describes what is kept of each step,
    `factor`, the rewards, `reward_use`, `ties` and what rounding did, [R] each; Rows says which values and candidates
    are kept, in memory as in the file (`whole_candidates`: all candidates).

    Arrays, what happened: `prompt` int64 [p], the prompt's ids, `mask_id` in its gaps, whose masks are the answer's
    positions then; `tokens` int64 [n]; `commit_step` int64 [n], from 0, of the last commit, -1 where the row was
    settled before, or stopped by a callback (the token there is one that ends text, or the mask); `provisional` bool
    [R, n], where a token stands after the step that a later step masks again; `edited` bool [R, n], where the step
    replaced a token by its `candidate`; `candidate` int64 [R, n], the completion, greedy or sampled (committed tokens
    stay), -1 where not kept; `value` float64 [R, n], what positions are ranked by, NaN where not `eligible` or not
    kept; `unscaled` bool [R, n], the positions that confidence at factor 1 would have committed, all False where not
    known.

    Derived from these: `canvas` int64 [R, n], the answer before the step; `masked` bool [R, n]; `eligible` bool [R, n],
    masked positions of the current block; `chosen` bool [R, n], those committed; `masked_again` bool [R, n], those
    whose token the step masked again, and `revisions`, the number of these and of `edited`; `changed` bool [R], whether
    the scale, or the strategy's own order, changed what the step committed; `reward_asked` bool [R].

    Of a run that only a step map tells of (`from_step_map`), what the map cannot tell is None, NaN or -1, and `missing`
    names it. `own_ids`: the ids number the map's texts, and are not those of the model.

    Guarantee: shapes and dtypes as above, arrays read-only, tokens those that were candidates when they were committed,
    at least one in every step run; ValueError otherwise. checked: False for the parts of a decode, which agree.
    """

    checked: InitVar[bool] = True

    def __post_init__(self, checked: bool) -> None:
        if checked:
            checks.check_settings(self)
        for name in ("provisional", "edited"):
            if getattr(self, name) is None:
                self._set(name, np.zeros((self.steps_run, self.length), np.bool_))
        for name in LAYOUT:
            self._set(name, checks.checked_array(self, name))
        if checked:
            checks.check_steps(self)
            checks.check_outcome(self)
        value, candidate, kept = checks.thinned(self)
        self._set("value", value)
        self._set("candidate", candidate)
        object.__setattr__(self, "pieces", checks.kept_pieces(self, kept))

    @classmethod
    def from_step_map(
        cls,
        tokens: Sequence[int] | None,
        steps: Sequence[int],
        *,
        texts: Sequence[str] | None = None,
        prompt: str | None = None,
        prompt_ids: Sequence[int] | None = None,
        model: str | None = None,
        block: int | None = None,
        mask_id: int | None = None,
        masks: Sequence[int] | None = None,
        tokenizer: Any = None,
    ) -> Trace:
        """Return the trace of a run of which only its tokens and the steps that committed them are known.

        docs/extra/step_maps.md describes the arguments, the keys of a line of its file. tokenizer: spells ids that have
        no `texts`; one of transformers, or a predictor's own. What a step map cannot tell, `missing` names, and a
        reader that needs it refuses. ValueError for lengths that differ, steps that leave one out, ids that the
        tokenizer does not have, `masks` that do not follow from the steps, and steps that leave their block.

        >>> trace = Trace.from_step_map([7, 8, 9], [1, 0, 2], texts=["a", " b", " c"], model="m")
        >>> trace
        Trace(step map of m: 3 tokens in 3 steps, GOD 0.67 steps, "a b c")
        >>> trace.forwards is None, trace.missing[-3:]
        (True, ('block', 'mask token', "prompt's tokens"))
        """
        given = {"texts": texts, "prompt": prompt, "prompt_ids": prompt_ids, "model": model, "block": block}
        fields_of = hook("step_map", "Trace.from_step_map")
        return cls(**fields_of(tokens, steps, **given, mask_id=mask_id, masks=masks, tokenizer=tokenizer))

    def _set(self, name: str, array: NDArray[Any] | None) -> None:
        if array is None:  # what a step map does not tell
            return
        array = array.copy() if array.flags.writeable else array
        array.flags.writeable = False
        object.__setattr__(self, name, array)

    def __eq__(self, other: object) -> bool:
        """Compare settings, texts, costs and every array, bit for bit."""
        if not isinstance(other, Trace):
            return NotImplemented
        mine, theirs = (
            {name: None if array is None else array.tobytes() for name, array in each.arrays().items()}
            for each in (self, other)
        )
        return self.metadata() == other.metadata() and mine == theirs

    def __repr__(self) -> str:
        return trace_line(self)

    def _repr_html_(self) -> str | None:
        return notebook_html(self)

    def to_frame(self, words: bool = False) -> pandas.DataFrame:
        """Return the trace's table, the one that `pandas.read_parquet` reads from its file.

        words: whether a column `word` is added, the text of the candidate.
        """
        from rws_decode.trace.file import trace_table  # here and below, so that a decode does not wait for PyArrow

        frame = trace_table(self).to_pandas()
        if words:
            frame.insert(frame.columns.get_loc("candidate") + 1, "word", self.words(frame["candidate"].to_numpy()))
        return frame

    def view(self, other: Trace | None = None, predictor: MaskPredictor | None = None) -> Page:
        """Return an interactive page of the decode, which a notebook shows by itself and `save` writes to a file.

        other, predictor: another run beside it, and what proves why they part (`decode_page`).
        """
        return picture("decode_page", "trace.view()")(self, other, predictor)

    def animate(self, other: Trace | None = None, predictor: MaskPredictor | None = None) -> Any:
        """Return an animated picture of the decode, a GIF, which a notebook shows by itself and `save` writes.

        other, predictor: another run beside it, and what proves why they part (`animate`).
        """
        return picture("animate", "trace.animate()")(self, other, predictor)

    def crossings(self, step: int, i: int, j: int, predictor: MaskPredictor) -> Crossings:
        """Return every factor at which positions i and j change places in a step: `StepLogits.crossings`.

        predictor: of the run. A trace holds no logits; one forward gives them again (`replay.step_logits`).
        """
        return picture("crossings", "trace.crossings()")(self, step, i, j, predictor)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the trace to one Parquet file, atomically, and return the path; equal traces give equal bytes.

        (With one version of pyarrow.) At most 1 KiB per committed token, but for short answers: docs/trace-format.md.
        """
        from rws_decode.trace.file import trace_bytes

        return write_bytes(path, trace_bytes(self))


def load_trace(path: str | os.PathLike[str]) -> Trace:
    """Read a trace that `Trace.save` wrote.

    FileNotFoundError for a missing file; ValueError, naming the file, for one that is truncated, foreign, of another
    version, or whose parts contradict each other. Nothing is unpickled.

    >>> import tempfile
    >>> trace = Trace.from_step_map([7, 8, 9], [1, 0, 2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load_trace(trace.save(Path(folder) / "trace.parquet")) == trace
    True
    """
    from rws_decode.trace.file import read_trace

    check_trace_file(path)
    settings = {field.name for field in fields(Trace)} - set(LAYOUT)
    try:
        given, spells = read_trace(Path(path).read_bytes(), settings)
        trace = Trace(**given)
        if spells and not checks.spelled(trace.text, trace.pieces, trace.tokens.tolist()):
            raise ValueError(f"text is {trace.text!r}: it is not what its tokens spell")
        return trace
    except (ValueError, TypeError, OverflowError, MemoryError) as error:
        raise ValueError(f"{path}: {' '.join(str(error).split())}") from error
