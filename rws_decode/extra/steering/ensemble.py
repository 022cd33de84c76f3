"""Copies of each prompt's decode in lock-step: stepped, valued and resampled; equal canvases cost one forward."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rws_decode.step.cached_reward import Rewards, Scorer, score_rows
from rws_decode.step.completion import Completion, MaskedLogits
from rws_decode.step.record import Record
from rws_decode.step.step import Decoder, State, forward, run

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Path(NamedTuple):
    """The path of one copy: its canvas and masks after each step, and its rows of the record."""

    ids: list[Tensor]
    masked: list[Tensor]
    record: dict[str, NDArray[Any]]


class Ensemble:
    """K copies of the decode of each of P prompts; slot p K + j is copy j of prompt p.

    decoder: of P K rows; prompts: their ids, P of them; scorer: of texts; rows: the scorer's number of each prompt, P
    of them; rngs: a generator for each prompt, which chooses among its copies. forwards, gradients: int64 [P], canvases
    that the predictor ran for each prompt, and gradients of the reward; equal canvases run once.
    """

    def __init__(
        self,
        decoder: Decoder,
        prompts: Sequence[Sequence[int]],
        copies: int,
        scorer: Scorer,
        rows: Sequence[int],
        rngs: Sequence[np.random.Generator],
    ) -> None:
        self.decoder = replace(decoder, forward=lambda _decoder, _state: self.look(), score=self._score_step)
        self.copies = copies
        self.scorer = scorer
        self.rows = np.array(rows, np.int64)
        self.rngs = rngs
        self.steps = len(decoder.plan)
        self.forwards = np.zeros(len(prompts), np.int64)
        self.gradients = np.zeros(len(prompts), np.int64)
        self._ids = [ids for ids in prompts for _ in range(copies)]
        self.restart()

    def restart(self) -> None:
        """Begin again with masks alone; costs and generators go on."""
        self.state = self.decoder.init(range(len(self._ids)), self._ids)
        self.record = Record.of(self.decoder, self.state)
        self._logits: MaskedLogits | None = None
        self._past: list[State] = []
        self._ancestors: list[Ints] = []

    @property
    def unfinished(self) -> bool:
        """Whether a mask remains."""
        return bool(self.state.masked.any())

    @property
    def prompt(self) -> Ints:
        """Return the prompt of each slot, int64 [P K]."""
        return np.repeat(np.arange(len(self.rngs)), self.copies)

    def step(self) -> None:
        """Run one step of every copy."""
        self.state = run(self.decoder, self.state, [self.record], steps=1)
        self._logits = None
        self._past.append(self.state)
        self._ancestors.append(np.arange(len(self._ids)))

    def look(self) -> MaskedLogits:
        """Return the logits of all masked positions now; a canvas that several copies of a prompt share runs once."""
        if self._logits is None:
            first: dict[tuple[int, bytes], int] = {}
            keys = zip(self.prompt.tolist(), self.state.canvas.ids.cpu().numpy(), strict=True)
            same = [first.setdefault((prompt, ids.tobytes()), slot) for slot, (prompt, ids) in enumerate(keys)]
            alone = torch.zeros(len(same), dtype=torch.bool)
            alone[same] = True
            logits = forward(self.decoder, self.state.of(alone.to(self.state.rows.device)))
            self._logits = spread(logits, (alone.cumsum(0) - 1)[same])
            self.forwards += np.bincount(self.prompt[alone.numpy()], minlength=len(self.forwards))
        return self._logits

    def guide(self, logits: Tensor) -> None:
        """Replace the logits of `look` for the next step. logits: [N, V]."""
        look = self.look()
        self._logits = look._replace(logits=logits, published=logits, off=look.error)

    def values(self) -> Floats:
        """Return the raw reward of each copy's text, its masks filled with their best tokens, float64 [P, K]."""
        tokens = self.state.canvas.ids.gather(1, self.state.canvas.answer)
        if self.unfinished:
            look = self.look()
            tokens = tokens.index_put((look.row, look.position), look.logits.argmax(dim=-1))
        pairs = list(zip(self.rows[self.prompt].tolist(), map(tuple, tokens.tolist()), strict=True))
        texts = list(dict.fromkeys(pairs))
        raw, _ = self.scorer.score([prompt for prompt, _ in texts], [list(answer) for _, answer in texts])
        score_of = dict(zip(texts, raw, strict=True))
        return np.array([score_of[pair] for pair in pairs]).reshape(-1, self.copies)

    def resample(self, ancestors: Ints) -> None:
        """Let every copy go on from an ancestor's state. ancestors: int64 [P, K], copies of the same prompt."""
        slots = (ancestors + self.copies * np.arange(len(ancestors))[:, None]).reshape(-1)
        index = torch.from_numpy(slots).to(self.state.rows.device)
        self.state = self.state._replace(canvas=self.state.canvas.of(index), masked=self.state.masked[index])
        self._logits = None if self._logits is None else spread(self._logits, index)
        if self._ancestors:
            self._ancestors[-1] = self._ancestors[-1][slots]

    def path(self, slot: int) -> Path:
        """Return the path of a slot from the first step on, through its ancestors."""
        copy, line = slot, []
        for ancestors in reversed(self._ancestors):
            copy = int(ancestors[copy])
            line.append(copy)
        line.reverse()
        ids = [state.canvas.ids[row].clone() for state, row in zip(self._past, line, strict=True)]
        masked = [state.masked[row].clone() for state, row in zip(self._past, line, strict=True)]
        record = {name: array[line, np.arange(len(line))] for name, array in self.record.arrays.items()}
        return Path(ids, masked, record)

    def record_of(self, slots: Ints) -> Record:
        """Return the record of the path of one slot of each prompt, with the forwards of all copies."""
        decoder, canvas = self.decoder, self.state.canvas.of(torch.from_numpy(slots))
        record = Record(slots.tolist(), canvas, self.steps, decoder.options, decoder.ends)
        paths = [self.path(slot).record for slot in slots.tolist()]
        record.arrays.update({name: np.stack([path[name] for path in paths]) for name in record.arrays})
        record.arrays["forwards"][:] = 0
        record.arrays["forwards"][:, 0] = self.forwards
        record.logits_dtype, record.calls = self.record.logits_dtype, int(self.forwards.sum())
        return record

    def follow(self, slot: int, path: Path) -> None:
        """Set a slot to the state of a path after as many steps."""
        step = self.state.step - 1
        self.state.canvas.ids[slot], self.state.masked[slot] = path.ids[step], path.masked[step]
        for name, array in path.record.items():
            self.record.arrays[name][slot, step] = array[step]

    def _score_step(self, decoder: Decoder, completion: Completion) -> Rewards | None:
        if not decoder.asks(completion.view.step):
            return None
        prompts = torch.from_numpy(self.rows).to(completion.rows.device)[completion.rows // self.copies]
        return score_rows(self.scorer, prompts, completion.tokens, torch.ones_like(prompts, dtype=torch.bool))


def spread(logits: MaskedLogits, index: Tensor) -> MaskedLogits:
    """Return the logits of other rows, each a copy of one of these. index: int64 [rows], the row that each copies."""
    index = index.to(logits.row.device)
    counts = torch.bincount(logits.row, minlength=int(index.max()) + 1)
    begins = counts.cumsum(0) - counts
    lengths = counts[index]
    row = torch.repeat_interleave(torch.arange(len(index), device=index.device), lengths)
    within = torch.arange(len(row), device=index.device) - (lengths.cumsum(0) - lengths)[row]
    return logits.at(begins[index][row] + within)._replace(row=row)
