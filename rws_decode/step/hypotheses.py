"""A layer around the step for a `protocol.LookingStrategy`: what the canvas would be after commits not yet made."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from rws_decode.canvas.batches import logit_bytes
from rws_decode.predictors.base import computes_at
from rws_decode.step.completion import Completion, Done
from rws_decode.step.forward import MaskedLogits
from rws_decode.step.step import Decoder, Run, State, forward
from rws_decode.strategies.counted import entropies


class Hypotheses:
    """Looks at a step's canvases with some of their masks filled by the step's candidates (`protocol.Look`).

    The hypotheses of all rows stand in one batch, or in several whose logits take at most `decoder.memory` bytes each,
    beside those of the step. Guidance, forbidden tokens and end-of-text policy are those of the decode. ValueError
    names the predictor that gives no finite largest logit.

    tokens: int64 [b, n], the completed answers; waits: bool [N], as in `protocol.Look`.
    """

    def __init__(self, decoder: Decoder, state: State, tokens: Tensor, waits: Tensor) -> None:
        self._decoder, self._state, self._tokens = decoder, state, tokens
        self.commits = decoder.plan[state.step].commits
        self.waits = waits
        self.forwards = torch.zeros(len(state.rows), dtype=torch.int64)
        self.calls = 0

    def __call__(self, row: Tensor, chosen: Tensor, scale: Tensor) -> Tensor:
        """Return the entropy of what each of H hypotheses leaves masked, float64 [H, length], 0 elsewhere."""
        index = torch.searchsorted(self._state.rows, row)
        self.forwards += torch.bincount(index, minlength=len(self.forwards)).cpu()
        open_ = torch.zeros(chosen.shape, dtype=torch.float64, device=chosen.device)
        for part in torch.arange(len(row), device=row.device).split(self._most()):
            after = self._after(index[part], chosen[part])
            seen = forward(self._decoder, after)
            self.calls += 1
            if not bool(seen.logits.amax(dim=-1).isfinite().all()):
                name = self._decoder.predictor.name
                raise ValueError(f"predictor {name} gives no finite largest logit after step {after.step}")
            open_[part[seen.row], seen.position] = entropies(seen.logits, scale[part][seen.row])
        return open_

    def _after(self, index: Tensor, chosen: Tensor) -> State:
        """Return the state of some rows with the chosen positions filled."""
        state = self._state.at(index)
        before = state.canvas.ids.gather(1, state.canvas.answer)
        answer = torch.where(chosen, self._tokens[index], before)
        canvas = state.canvas._replace(ids=state.canvas.ids.scatter(1, state.canvas.answer, answer))
        return state._replace(canvas=canvas, masked=state.masked & ~chosen)

    def _most(self) -> int:
        """Return how many hypotheses stand in one batch."""
        predictor, options, (_, width) = self._decoder.predictor, self._decoder.options, self._state.canvas.ids.shape
        if predictor.vocab_size is None:
            return max(1, len(self._state.rows))
        row = logit_bytes(
            self._state.masked.shape[1],
            predictor.vocab_size,
            width=0 if computes_at(predictor) else width,
            guided=options.cfg != 0,
            published=options.ranking == "topk",
        )
        return max(1, self._decoder.memory // row)


def looking(run: Run) -> Run:
    """Return the step whose strategy can look at what the canvas would be, and which counts the forwards of that."""

    def step(decoder: Decoder, state: State) -> tuple[State, Done]:
        def complete(_: Decoder, state: State, seen: MaskedLogits) -> Completion:
            completion = decoder.complete(decoder, state, seen)
            waits = completion.deferred[completion.block]
            look = Hypotheses(decoder, state, completion.tokens, waits)
            return completion._replace(view=completion.view._replace(look=look))

        after, done = run(replace(decoder, complete=complete), state)
        look = done.choice.completion.view.look
        assert look is not None
        return after, done._replace(forwards=done.forwards.cpu() + look.forwards, calls=done.calls + look.calls)

    return step
