"""Show a decode while it runs: streamers of drafts and of text."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Protocol, TextIO, runtime_checkable
from unicodedata import east_asian_width

import torch
from torch import Tensor

from rws_decode.predictors.base import MaskPredictor, before_end, ends_of
from rws_decode.step.callback import StepView
from rws_decode.trace.trace import Trace
from rws_theory.show import escaped

MASK_CHARACTER = "█"


class Streamer(Protocol):
    """The interface of transformers' BaseStreamer: `put` takes the prompt's ids, then final tokens; `end` closes."""

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
    None. On a terminal each draft replaces the last one, cut to the height of the screen; elsewhere, as in a file, each
    has a line of its own. Final tokens are printed at `end`. `draw` and `erase` show any text in the same way.
    """

    def __init__(self, decode: Callable[[list[int]], str | None], stream: TextIO | None = None) -> None:
        self._decode, self._stream = decode, stream
        self._final: list[int] = []
        self._prompt_seen = False
        self._rows = 0  # of the screen, taken by the last draft

    def put(self, value: Tensor) -> None:
        """Take the prompt, the first time, and final tokens after that."""
        if self._prompt_seen:
            self._final += _single(value)
        self._prompt_seen = True

    def put_draft(self, value: Tensor, *, canvas: Tensor | None = None, mask_id: int | None = None, **_: Any) -> None:
        """Show the answer with its masks; the whole completion if no canvas is given."""
        self.draw(draft_text(_single(value if canvas is None else canvas), mask_id, self._decode))

    def end(self) -> None:
        """Show the final text, and start anew."""
        self.draw(self._decode(self._final) or "", last=True)
        self._final, self._prompt_seen = [], False

    def draw(self, text: str, *, last: bool = False) -> None:
        """Show a text over the last one; the last is whole, and nothing is shown over it."""
        stream, text = sys.stdout if self._stream is None else self._stream, escaped(text)
        if stream.isatty():
            width, height = shutil.get_terminal_size()
            rows = _rows(text, width)
            shown = text if last or len(rows) < height else "".join(rows[-max(height - 1, 1) :])
            stream.write(self._back() + shown + ("\n" if last else ""))
            self._rows = 0 if last else len(_rows(shown, width))
        else:
            stream.write(text + "\n")
        stream.flush()

    def erase(self) -> None:
        """Take the last draft off the terminal."""
        stream = sys.stdout if self._stream is None else self._stream
        if stream.isatty():
            stream.write(self._back())
            stream.flush()
            self._rows = 0

    def _back(self) -> str:
        """Return the control codes that move the cursor to where the last draft began, and clear from there on."""
        up = f"\x1b[{self._rows - 1}A" if self._rows > 1 else ""
        return f"\r{up}\x1b[J" if self._rows else ""


def _rows(text: str, width: int) -> list[str]:
    """Return the rows of a screen that a text takes; East Asian characters are two columns wide."""
    rows = [""]
    room = width
    for character in text:
        cells = 2 if east_asian_width(character) in "WF" else 1
        if character == "\n" or cells > room:
            rows.append("")
            room = width
        if character != "\n":
            rows[-1] += character
            room -= cells
    return rows


def draft_text(ids: Sequence[int], mask_id: int | None, decode: Callable[[list[int]], str | None]) -> str:
    """Return a canvas as text: each run of committed tokens decoded, each masked position one block character.

    Blanks separate masks from words if `decode` puts blanks between words. If `decode` stops at an end of text, the
    rest of its run is left out.
    """
    runs = [(masked, list(run)) for masked, run in groupby(ids, key=lambda token: token == mask_id)]
    parts = [MASK_CHARACTER * len(run) if masked else decode(run) or "" for masked, run in runs]
    word = next((token for token in ids if token != mask_id and decode([token])), None)
    spaced = word is not None and decode([word, word]) == f"{decode([word])} {decode([word])}"
    return (" " if spaced else "").join(part for part in parts if part)


def play(trace: Trace, stream: TextIO | None = None, seconds: float = 0.3) -> None:
    """Show the answer of a trace step by step; on a terminal each step replaces the last.

    stream: standard output if None. seconds: for which a terminal shows a step.
    """
    screen = DraftStreamer(lambda ids: None, stream)
    blank = "" if any(piece[:1].isspace() or piece[-1:].isspace() for piece in trace.pieces.values()) else " "
    for step in range(trace.steps_run + 1):
        masked = trace.masked[step] if step < trace.steps_run else trace.commit_step < 0
        tokens = trace.canvas[step] if step < trace.steps_run else trace.tokens
        words = zip(masked.tolist(), trace.words(tokens), strict=True)
        last = step == trace.steps_run
        screen.draw(blank.join(MASK_CHARACTER if hidden else word for hidden, word in words), last=last)
        if not last and (sys.stdout if stream is None else stream).isatty():
            time.sleep(seconds)


@dataclass
class Feed:
    """A callback that gives a decode of one prompt to a streamer: a draft at each step, blocks once they are complete.

    block: tokens per block. Tokens before the first end of text are put, and nothing after it. `finish` puts the rest
    of a decode that ended before its last block was complete.
    """

    streamer: Streamer
    predictor: MaskPredictor
    block: int
    _count: int = field(default=0, init=False)
    _over: bool = field(default=False, init=False)

    def __call__(self, view: StepView) -> None:
        """Give the step's draft, and the blocks that it completed."""
        canvas, candidate = (torch.from_numpy(array[0].copy()) for array in (view.canvas, view.candidate))
        if isinstance(self.streamer, ShowsDrafts):
            self.streamer.put_draft(candidate, canvas=canvas, mask_id=view.mask_id, cur_step=view.cur_step)
        for block in canvas[self._count :].split(self.block):
            if bool((block == view.mask_id).any()):
                break
            self._put(block.tolist())

    def finish(self, tokens: Sequence[int]) -> None:
        """Put the committed tokens of the answer that were not put yet. tokens: [n], with masks."""
        self._put(tokens[self._count :])

    def _put(self, tokens: Sequence[int]) -> None:
        ends, mask_id = ends_of(self.predictor), self.predictor.mask_id
        text = [token for token in before_end(tokens, ends) if token != mask_id]
        if text and not self._over:
            self.streamer.put(torch.tensor(text))
        self._count += len(tokens)
        self._over = self._over or any(token in ends for token in tokens)


def _single(value: Tensor) -> list[int]:
    """Return the ids of one sequence, [n] or [1, n]; ValueError for a batch."""
    if value.ndim > 2 or (value.ndim == 2 and len(value) != 1):
        raise ValueError(f"value has shape {tuple(value.shape)}: a streamer shows one prompt at a time")
    return value.flatten().tolist()
