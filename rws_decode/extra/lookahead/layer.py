"""The layer around the step of a strategy that evaluates the canvases after hypothetical commits."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from rws_decode.canvas.layout import row_bytes
from rws_decode.step.completion import Completion, MaskedLogits
from rws_decode.step.layers import Count
from rws_decode.step.step import Decoder, Done, State, Step, forward
from rws_decode.strategies.counted import entropies


class Hypotheses:
    """Evaluates a step's canvases with some of their masks filled by the step's candidates (`protocol.Look`).

    The canvases of all rows are one batch, or several whose logits take at most `decoder.memory` bytes each. tokens:
    int64 [b, n], the completed answers.
    """

    def __init__(self, decoder: Decoder, state: State, tokens: Tensor) -> None:
        self._decoder, self._state, self._tokens = decoder, state, tokens
        self.forwards = torch.zeros(len(state.rows), dtype=torch.int64)
        self.calls = 0
        self._answers: dict[tuple[int, bytes], Tensor] = {}

    def seen(self, row: Tensor, chosen: Tensor, scale: Tensor) -> Tensor:
        """Return the entropies of earlier calls, without a forward; NaN for other hypotheses."""
        unknown = torch.full(chosen.shape[1:], torch.nan, dtype=torch.float64, device=chosen.device)
        return torch.stack([self._answers.get(key, unknown) for key in _keys(row, chosen)])

    def __call__(self, row: Tensor, chosen: Tensor, scale: Tensor) -> Tensor:
        """Return the entropies of the positions that H hypotheses leave masked, float64 [H, length], 0 elsewhere."""
        index = torch.searchsorted(self._state.rows, row)
        self.forwards += torch.bincount(index, minlength=len(self.forwards)).cpu()
        open_ = torch.zeros(chosen.shape, dtype=torch.float64, device=chosen.device)
        length, width = chosen.shape[1], self._state.canvas.ids.shape[1]
        size = row_bytes(self._decoder.predictor, length, width, self._decoder.options)
        most = max(1, len(self._state.rows) if size is None else self._decoder.memory // size)
        for part in torch.arange(len(row), device=row.device).split(most):
            after = self._state.at(index[part]).filled(chosen[part], self._tokens[index[part]])
            logits = forward(self._decoder, after)
            self.calls += 1
            if not bool(logits.logits.amax(dim=-1).isfinite().all()):
                name = self._decoder.predictor.name
                raise ValueError(f"predictor {name} gives no finite largest logit after step {after.step}")
            open_[part[logits.row], logits.position] = entropies(logits.logits, scale[part][logits.row])
        self._answers.update(zip(_keys(row, chosen), open_, strict=True))
        return open_


def _keys(row: Tensor, chosen: Tensor) -> list[tuple[int, bytes]]:
    return [(number, places.tobytes()) for number, places in zip(row.tolist(), chosen.cpu().numpy(), strict=True)]


def looking(run: Step) -> Step:
    """Return the step whose strategy can evaluate hypothetical canvases, and which counts their forwards."""

    def step(decoder: Decoder, state: State) -> tuple[State, Done]:
        def complete(_: Decoder, state: State, logits: MaskedLogits) -> Completion:
            completion = decoder.complete(decoder, state, logits)
            look = Hypotheses(decoder, state, completion.tokens)
            return completion._replace(view=completion.view._replace(look=look))

        after, done = run(replace(decoder, complete=complete), state)
        look = done.choice.completion.view.look
        assert isinstance(look, Hypotheses)
        commits, choice = done.choice.completion.commits, done.choice
        if isinstance(commits, Count):  # its rounding is measured afterwards, without a forward
            commits = commits._replace(view=commits.view._replace(look=None), seen=look.seen)
            choice = choice._replace(completion=choice.completion._replace(commits=commits))
        forwards, calls = done.forwards.cpu() + look.forwards, done.calls + look.calls
        return after, done._replace(choice=choice, forwards=forwards, calls=calls)

    return step
