"""The layer around the step of a strategy that reads the logits of earlier steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from rws_decode.step.completion import Completion, MaskedLogits
from rws_decode.step.step import Decoder, Done, State, Step
from rws_decode.strategies.protocol import MaskedPositions, abilities_of


class Memory(NamedTuple):
    """The logits of earlier steps, by the prompts' numbers, the last first."""

    steps: tuple[MaskedLogits, ...] = ()

    def of(self, rows: Tensor) -> Memory:
        """Return the memory itself, as the prompts' numbers index its positions."""
        return self


def remembering(run: Step) -> Step:
    """Return the step whose strategy reads the logits of as many earlier steps as its abilities declare."""

    def step(decoder: Decoder, state: State) -> tuple[State, Done]:
        logits, steps = decoder.forward(decoder, state), abilities_of(decoder.strategy).memory
        past = state.beside.get("memory", Memory()).steps

        def complete(_: Decoder, state: State, logits: MaskedLogits) -> Completion:
            completion = decoder.complete(decoder, state, logits)
            view = completion.view
            return completion._replace(view=view._replace(before=_before(past, view)))

        after, done = run(replace(decoder, forward=lambda _decoder, _state: logits, complete=complete), state)
        steps_kept = (logits._replace(row=state.rows[logits.row], published=logits.logits), *past)[:steps]
        return after._replace(beside={**after.beside, "memory": Memory(steps_kept)}), done

    return step


def _before(past: Sequence[MaskedLogits], view: MaskedPositions) -> tuple[Tensor, ...]:
    """Return the logits of the view's positions one step before, two steps, ..., as far as all rows have them."""
    key = view.row * view.length + view.position
    logits = []
    for row, position, values, *_ in past:
        keys = row * view.length + position
        index = torch.searchsorted(keys, key).clamp(max=max(len(keys) - 1, 0))
        if not len(keys) or not bool((keys[index] == key).all()):
            break
        logits.append(values[index])
    return tuple(logits)
