"""A layer around the step for a strategy that replaces committed tokens (`protocol.EditingStrategy`)."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from rws_decode.canvas.batches import current_block
from rws_decode.step.completion import Done
from rws_decode.step.forward import MaskedLogits, parted
from rws_decode.step.select import rank_values
from rws_decode.step.step import Decoder, Run, State, drawn
from rws_decode.strategies.protocol import EditingStrategy


def editing(run: Run) -> Run:
    """Return the step that also replaces tokens of its block, and those of a block that it fills until none changes.

    The trace has the tokens that stand in the end; the step's factor holds for its further forwards.
    """

    def step(decoder: Decoder, state: State) -> tuple[State, Done]:
        strategy, block = decoder.strategy, current_block(state.masked, decoder.plan)
        assert isinstance(strategy, EditingStrategy)
        stands = block & ~state.masked
        seen, of_tokens = parted(decoder.forward(decoder, state._replace(masked=state.masked | stands)), stands)
        after, done = run(replace(decoder, forward=lambda _decoder, _state: seen), state)
        places = after.canvas.answer
        tokens, _, near = _edited(decoder, state, of_tokens, after.canvas.ids.gather(1, places), done.factor)
        near, forwards, calls = torch.maximum(near, done.near), done.forwards.cpu(), done.calls
        going = ~(after.masked & block).any(dim=1)
        for _ in range(strategy.after):
            if not bool(going.any()):
                break
            canvas = after.canvas._replace(ids=after.canvas.ids.scatter(1, places, tokens))
            seen = decoder.forward(decoder, state._replace(canvas=canvas, masked=block).of(going))
            seen = seen._replace(row=going.nonzero()[:, 0][seen.row])
            forwards, calls = forwards + going.cpu(), calls + 1
            tokens, changed, more = _edited(decoder, state, seen, tokens, done.factor)
            near, going = torch.maximum(near, more), changed.any(dim=1)
        completion = done.choice.completion
        completion = completion._replace(tokens=torch.where(block & ~after.masked, tokens, completion.tokens))
        after = after._replace(canvas=after.canvas._replace(ids=after.canvas.ids.scatter(1, places, tokens)))
        done = done._replace(choice=done.choice._replace(completion=completion), near=near)
        return after, done._replace(edited=stands & (tokens != completion.before), forwards=forwards, calls=calls)

    return step


def _edited(
    decoder: Decoder, state: State, seen: MaskedLogits, tokens: Tensor, factor: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the answers with tokens replaced by what a forward says, int64 [b, n]; where; and how many nearly, [b].

    seen: the logits at M tokens; factor: float64 [b], of the step.
    """
    strategy = decoder.strategy
    assert isinstance(strategy, EditingStrategy)
    at, near = (seen.row, seen.position), torch.zeros_like(state.rows)
    nowhere = torch.zeros_like(state.masked)
    if not len(seen.row):
        return tokens, nowhere, near
    token, lead = drawn(decoder, state.step, state.rows[seen.row], seen.logits)
    scale = factor.to(tokens.device)[seen.row]
    log_odds, reach = rank_values(seen.published, token, scale), 2 * scale * seen.error
    other = token != tokens[at]
    low, replaces, high = (strategy.edits(log_odds + by) & other for by in (-reach, 0, reach))
    unsure = (low != high) | (strategy.edits(log_odds + reach) & (lead <= 2 * seen.error))
    changed = nowhere.index_put(at, replaces)
    tokens = tokens.index_put(at, torch.where(replaces, token, tokens[at]))
    return tokens, changed, near.index_add(0, seen.row, unsure.long())
