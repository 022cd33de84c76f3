"""The layer around the step of a strategy that sees the logits of steps before."""

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
    """What the steps before saw, by the prompts' numbers, the last first."""

    steps: tuple[MaskedLogits, ...] = ()

    def of(self, rows: Tensor) -> Memory:
        """Return the same: positions are found by their prompts' numbers."""
        return self


def remembering(run: Step) -> Step:
    """Return the step whose strategy sees the logits of steps before, as many as it asks for."""

    def step(decoder: Decoder, state: State) -> tuple[State, Done]:
        seen, steps = decoder.forward(decoder, state), abilities_of(decoder.strategy).memory
        past = state.beside.get("memory", Memory()).steps

        def complete(_: Decoder, state: State, seen: MaskedLogits) -> Completion:
            completion = decoder.complete(decoder, state, seen)
            view = completion.view
            return completion._replace(view=view._replace(before=_before(past, view)))

        after, done = run(replace(decoder, forward=lambda _decoder, _state: seen, complete=complete), state)
        kept = (seen._replace(row=state.rows[seen.row], published=seen.logits), *past)[:steps]
        return after._replace(beside={**after.beside, "memory": Memory(kept)}), done

    return step


def _before(past: Sequence[MaskedLogits], view: MaskedPositions) -> tuple[Tensor, ...]:
    """Return the logits that the view's positions had one step before, two steps, ..., as far as all rows had them."""
    key = view.row * view.length + view.position
    logits = []
    for row, position, values, *_ in past:
        keys = row * view.length + position
        at = torch.searchsorted(keys, key).clamp(max=max(len(keys) - 1, 0))
        if not len(keys) or not bool((keys[at] == key).all()):
            break
        logits.append(values[at])
    return tuple(logits)
