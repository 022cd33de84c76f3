"""Savings: wrappers of a step's forward and score, and of the loop; the step itself does not know them."""

from __future__ import annotations

from dataclasses import replace

import torch

from rws_decode.predictors.base import ends_of
from rws_decode.settings import Savings
from rws_decode.step.cached_reward import Rewards, score_rows
from rws_decode.step.certainty import certain
from rws_decode.step.completion import Completion, Scheduled
from rws_decode.step.forward import MaskedLogits
from rws_decode.step.rounding import at_the_cut
from rws_decode.step.step import Decoder, State, forward, in_block
from rws_decode.strategies.protocol import BoundedFactor, Changing, OrderStrategy, OwnCount, Remembering


def saving(decoder: Decoder, savings: Savings) -> Decoder:
    """Return the decoder with the savings that are on. (`Scorer` reuses scores; `leave_settled` is the loop's.)"""
    exact = decoder.options.ranking == "log-odds" and decoder.options.precision == "float64"
    compares = isinstance(decoder.strategy, Remembering)  # a block's first step is compared with the one before it
    scaled = isinstance(decoder.strategy, BoundedFactor)
    scaled &= not isinstance(decoder.strategy, OrderStrategy | OwnCount | Changing)
    if savings.block_only and decoder.options.sampling_temperature == 0 and not compares:
        decoder = replace(decoder, forward=block_alone)
    if savings.certain and exact and scaled:
        decoder = replace(decoder, score=unless_certain)
    return replace(decoder, memory=savings.memory)


def block_alone(decoder: Decoder, state: State) -> MaskedLogits:
    """Return the logits of the block's masked positions alone where no reward reads the whole completion."""
    if not decoder.asks(state.step):
        state = state._replace(masked=in_block(state, decoder.plan))
    return forward(decoder, state)


def unless_certain(decoder: Decoder, completion: Completion) -> Rewards | None:
    """Score the rows whose commit a reward could change; no other row asks, unless its text has a score already.

    Guarantee: a row that is left out commits the same positions for every reward within the model's bounds
    (`certainty.certain`).
    """
    scorer, strategy = decoder.scorer, decoder.strategy
    if scorer is None or not decoder.asks(completion.view.step):
        return None
    assert isinstance(strategy, BoundedFactor) and isinstance(completion.commits, Scheduled)
    answers = zip(completion.rows.tolist(), completion.tokens.tolist(), strict=True)
    scored = torch.tensor([scorer.reuse and scorer.recall(row, answer) is not None for row, answer in answers])
    unscored = ~scored.to(completion.rows.device)
    contested, seats = at_the_cut(completion.block, completion.deferred, completion.commits.k)
    view, (low, high) = completion.view, strategy.factor_range(*scorer.rewards)
    same = certain(
        view.logits,
        view.candidate,
        completion.row,
        view.position,
        contested & unscored[:, None],
        seats,
        low,
        high,
        completion.error,
    )
    return score_rows(scorer, completion.rows, completion.tokens, ~(same & unscored))


def leave_settled(decoder: Decoder, state: State) -> State:
    """Return the state without the rows whose text is final: an end of text is committed, and all before it.

    No text is final that the strategy may revise.
    """
    ends = ends_of(decoder.predictor)
    if not ends or isinstance(decoder.strategy, Changing):
        return state
    canvas = state.canvas
    ids = canvas.ids.gather(1, canvas.answer)
    ended = torch.isin(ids, torch.tensor(ends, device=ids.device)) & ~state.masked
    first = ended.to(torch.uint8).argmax(dim=1, keepdim=True)
    open_before = state.masked.cumsum(dim=1).gather(1, first)[:, 0]
    stay = ~(ended.any(dim=1) & (open_before == 0))
    return state.of(stay)
