"""What a decode shows while it runs: the step's view that callbacks are given, and streamers of drafts and of text."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from queue import Queue
from typing import Any, Protocol, TextIO, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rws_decode.predictors.base import MaskPredictor, before_end, ends_of

__all__ = [
    "MASK_CHARACTER",
    "DraftIterator",
    "DraftStreamer",
    "Feed",
    "ShowsDrafts",
    "StepCallback",
    "StepView",
    "Streamer",
    "text_tokens",
]

MASK_CHARACTER = "█"


@dataclass(frozen=True, eq=False)
class StepView:
    """One step of a batch, just after its commits; the arrays are copies.

    step: counted from 0 over the `steps` planned; rows: int64 [b], which prompts these rows are, numbered as they were
    given (rows that were settled before are gone); canvas: int64 [b, n], the answers' tokens, `mask_id` where none is
    committed yet; candidate: int64 [b, n], the completion that the step chose from, `mask_id` where it was not computed
    (`savings.Savings.block_only`); chosen: bool [b, n], the positions that this step committed; factor: float64 [b],
    what multiplied the logits, NaN where no reward was needed to know the choice (`savings.Savings.certain`).

    >>> from rws_decode.decode import decode
    >>> from rws_decode.strategies.factors import Confidence
    >>> from rws_decode.predictors import CallablePredictor
    >>> predictor = CallablePredictor(lambda canvas: torch.eye(4)[3 - canvas], mask_id=0)
    >>> views = []
    >>> run = decode(predictor, [[2]], Confidence(), length=3, steps=3, block=3, callback=views.append)
    >>> [(view.cur_step, view.canvas[0].tolist()) for view in views]
    [(3, [3, 0, 0]), (2, [3, 3, 0]), (1, [3, 3, 3])]
    """

    step: int
    steps: int
    mask_id: int
    rows: NDArray[np.int64]
    canvas: NDArray[np.int64]
    candidate: NDArray[np.int64]
    chosen: NDArray[np.bool_]
    factor: NDArray[np.float64]

    @property
    def cur_step(self) -> int:
        """Return how many steps remain, this one included: from `steps` down to 1, as transformers' text diffusion."""
        return self.steps - self.step


StepCallback = Callable[[StepView], bool | None]
"""Called after every step of every batch; what is true ends that batch there."""


class Streamer(Protocol):
    """What transformers' BaseStreamer asks for: `put` is given the prompt's ids, then final tokens; `end` closes."""

    def put(self, value: Tensor) -> None: ...

    def end(self) -> None: ...


@runtime_checkable
class ShowsDrafts(Protocol):
    """A streamer that shows every step too, as transformers' TextDiffusionStreamer does."""

    def put_draft(self, value: Tensor, *, canvas: Tensor, mask_id: int, cur_step: int) -> None:
        """Take the completed answer, int64 [n], and the same with `mask_id` at masked positions; see `StepView`."""
        ...


class DraftStreamer:
    """Shows the answer at every step with a block character for every mask, and its text at the end.

    decode: token ids -> text (`MaskPredictor.decode_answer`, or a tokenizer's `decode`). stream: standard output if
    None. On a terminal each draft is written over the last one; elsewhere, as in a file, each has a line of its own.
    What `put` is given, the prompt and final tokens, is not printed but kept until `end`.

    >>> streamer = DraftStreamer(lambda ids: "".join("abc"[token] for token in ids))
    >>> streamer.put(torch.tensor([2]))
    >>> streamer.put_draft(torch.tensor([0, 1, 1]), canvas=torch.tensor([0, 9, 1]), mask_id=9)
    a█b
    >>> streamer.put(torch.tensor([0, 1, 1])), streamer.end()
    abb
    (None, None)
    """

    def __init__(
        self, decode: Callable[[list[int]], str | None], stream: TextIO | None = None, mask: str = MASK_CHARACTER
    ) -> None:
        self._decode = decode
        self._stream = stream
        self._mask = mask
        self._final: list[int] = []
        self._prompt_seen = False
        self._drawn = False

    def put(self, value: Tensor) -> None:
        """Take the prompt, the first time, and final tokens after that."""
        if self._prompt_seen:
            self._final += _single(value)
        self._prompt_seen = True

    def put_draft(self, value: Tensor, *, canvas: Tensor | None = None, mask_id: int | None = None, **_: Any) -> None:
        """Show the answer with its masks; the whole completion where no canvas is given."""
        ids = _single(value if canvas is None else canvas)
        self._show(draft_text(ids, mask_id, self._decode, self._mask))

    def end(self) -> None:
        """Show the final text, and start anew."""
        self._show(self._decode(self._final) or "", last=True)
        self._final, self._prompt_seen = [], False

    def _show(self, text: str, *, last: bool = False) -> None:
        stream = sys.stdout if self._stream is None else self._stream
        if stream.isatty():
            # Save the cursor before the first draft; go back there and clear before the others.
            stream.write(("\x1b8\x1b[J" if self._drawn else "\x1b7") + text + ("\n" if last else ""))
            self._drawn = not last
        else:
            stream.write(text + "\n")
        stream.flush()


class DraftIterator:
    """Gives the drafts of a decode that runs in another thread, one by one, and the final text last.

    decode, mask: as in DraftStreamer. timeout: seconds to wait for the next one, None for ever; `queue.Empty` after
    that. One decode, one iterator.

    >>> streamer = DraftIterator(lambda ids: "".join("abc"[token] for token in ids))
    >>> streamer.put(torch.tensor([2]))
    >>> streamer.put_draft(torch.tensor([0, 1]), canvas=torch.tensor([0, 9]), mask_id=9)
    >>> streamer.put(torch.tensor([0, 1])), streamer.end()
    (None, None)
    >>> list(streamer)
    ['a█', 'ab']
    """

    def __init__(
        self,
        decode: Callable[[list[int]], str | None],
        timeout: float | None = None,
        mask: str = MASK_CHARACTER,
    ) -> None:
        self._decode = decode
        self._timeout = timeout
        self._mask = mask
        self._queue: Queue[str | None] = Queue()
        self._final: list[int] = []
        self._prompt_seen = False

    def put(self, value: Tensor) -> None:
        """Take the prompt, the first time, and final tokens after that."""
        if self._prompt_seen:
            self._final += _single(value)
        self._prompt_seen = True

    def put_draft(self, value: Tensor, *, canvas: Tensor | None = None, mask_id: int | None = None, **_: Any) -> None:
        """Queue the answer with its masks."""
        ids = _single(value if canvas is None else canvas)
        self._queue.put(draft_text(ids, mask_id, self._decode, self._mask))

    def end(self) -> None:
        """Queue the final text, and that there is no more."""
        self._queue.put(self._decode(self._final) or "")
        self._queue.put(None)

    def __iter__(self) -> Iterator[str]:
        """Yield drafts as they come, then the final text."""
        while (text := self._queue.get(timeout=self._timeout)) is not None:
            yield text


def draft_text(
    ids: Sequence[int], mask_id: int | None, decode: Callable[[list[int]], str | None], mask: str = MASK_CHARACTER
) -> str:
    """Return a canvas as text: each run of committed tokens decoded, each masked position one `mask` character.

    Text stops where an end of text is committed, as far as `decode` stops there: what stands after it is left out.

    >>> draft_text([1, 9, 9, 0], 9, lambda ids: "".join("abc"[token] for token in ids))
    'b██a'
    """
    parts: list[str] = []
    run: list[int] = []
    for token in [*ids, mask_id]:
        if token != mask_id:
            run.append(token)
            continue
        if run:
            parts.append(decode(run) or "")
        parts.append(mask)
        run = []
    return "".join(parts[:-1])


class Feed:
    """A callback that gives a decode of one prompt to a streamer: drafts at each step, blocks once they are complete.

    block: tokens per block. Of a block the tokens before the first end of text are put, and nothing after it. `finish`
    puts what is left of a decode that ended before its last block was complete.

    >>> from rws_decode.decode import decode
    >>> from rws_decode.strategies.factors import Confidence
    >>> from rws_decode.predictors import CallablePredictor
    >>> predictor = CallablePredictor(lambda canvas: torch.eye(4)[3 - canvas], mask_id=0, decode=str)
    >>> streamer = DraftStreamer(lambda ids: "".join(map(str, ids)))
    >>> streamer.put(torch.tensor([2]))
    >>> run = decode(predictor, [[2]], Confidence(), length=2, steps=2, block=2, callback=Feed(streamer, predictor, 2))
    3█
    33
    """

    def __init__(self, streamer: Streamer, predictor: MaskPredictor, block: int) -> None:
        self._streamer = streamer
        self._predictor = predictor
        self._block = block
        self._given = 0
        self._over = False

    def __call__(self, view: StepView) -> None:
        """Give the step's draft, and the blocks that it completed."""
        canvas, candidate = (torch.from_numpy(array[0].copy()) for array in (view.canvas, view.candidate))
        if isinstance(self._streamer, ShowsDrafts):
            self._streamer.put_draft(candidate, canvas=canvas, mask_id=view.mask_id, cur_step=view.cur_step)
        for block in canvas[self._given :].split(self._block):
            if bool((block == view.mask_id).any()):
                break
            self._put(block.tolist())

    def finish(self, tokens: Sequence[int]) -> None:
        """Put the committed tokens of the answer that were not put yet. tokens: [n], masks where none is."""
        self._put(tokens[self._given :])

    def _put(self, tokens: Sequence[int]) -> None:
        kept = text_tokens(self._predictor, tokens)
        if kept and not self._over:
            self._streamer.put(torch.tensor(kept))
        self._given += len(tokens)
        self._over = self._over or any(token in ends_of(self._predictor) for token in tokens)


def text_tokens(predictor: MaskPredictor, tokens: Sequence[int]) -> list[int]:
    """Return an answer's committed tokens before its first end of text.

    >>> from rws_decode.predictors import CallablePredictor
    >>> text_tokens(CallablePredictor(lambda canvas: canvas, mask_id=0, end_id=2), [5, 0, 6, 2, 7])
    [5, 6]
    """
    return [token for token in before_end(tokens, ends_of(predictor)) if token != predictor.mask_id]


def _single(value: Tensor) -> list[int]:
    """Return the ids of one sequence, [n] or [1, n]; ValueError for a batch."""
    if value.ndim > 2 or (value.ndim == 2 and len(value) != 1):
        raise ValueError(f"value has shape {tuple(value.shape)}: a streamer shows one prompt at a time")
    return value.flatten().tolist()
