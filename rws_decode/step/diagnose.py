"""What the trace keeps of a step: what it did, what factor 1 would have done, ties, and what rounding can change."""

from __future__ import annotations

import torch

from rws_decode.canvas.end_of_text import Ends
from rws_decode.settings import Options
from rws_decode.step import rounding
from rws_decode.step.completion import Done
from rws_decode.step.select import cut, dtype_of, rank, select_deferring, select_top
from rws_decode.strategies.protocol import OrderStrategy, abilities_of
from rws_decode.trace.data import NOT_NEEDED
from rws_decode.trace.record import Info


def diagnose(done: Done, order: OrderStrategy | None, options: Options, ends: Ends) -> Info:
    """Return the step's row of the trace: NaN and -1 for what is not known. It changes nothing.

    order: the strategy where it has an order of its own.
    """
    choice, reward = done.choice, done.reward
    completion, scale, (exact, confidence, _, deferred), value, chosen, ties = choice
    eligible, odds = completion.block, options.ranking == "log-odds"
    dtype = dtype_of(options.precision, completion.published)
    # What the scale, or the strategy's own order, changes: confidence at factor 1 would commit these.
    unscaled, plain = chosen, choice.ranked
    if scaled := not bool((done.factor == 1).all()):
        plain = rank(completion, torch.ones_like(scale), options, ends)
    if scaled or order is not None:
        unscaled = cut(completion, plain, plain.value, options, ends).chosen
    inexact = torch.zeros_like(ties, dtype=torch.bool)
    if confidence is not exact and order is None:
        best = select_deferring(select_top, completion.grid(exact), eligible, deferred, choice.ranked.k)
        inexact = (best.chosen != chosen).any(dim=1)
    # What logits that are off by their error would change.
    if order is not None:
        reach = abilities_of(order).sensitivity * completion.error * scale
        low, high = value - reach, value + reach
    else:
        low, high = rounding.value_range(exact, completion.published, completion.error, scale, options.ranking, dtype)
    near = rounding.near_ties(completion.grid(low), completion.grid(high), eligible, chosen, deferred)
    near = near.clamp(min=completion.commits.uncertain(low, high, odds, scale, completion.error))
    saturated = rounding.saturated(exact, dtype) if order is not None or odds else value == 1
    # Count the near-equal candidates that can change this step's result: those that are committed, and those that
    # move other positions. A reward reads every candidate, a drawn or deferred one changes the ranking, and a look
    # fills some in.
    moving = options.sampling_temperature > 0 or ends.defers or completion.view.look is not None
    near_tokens = completion.unsure if reward is not None else completion.unsure & (eligible if moving else chosen)

    masked, rows = completion.view.masked[completion.rows], completion.rows.cpu()
    unknown = torch.full(rows.shape, torch.nan, dtype=torch.float64)
    use = torch.zeros(rows.shape, dtype=torch.int8) if reward is None else reward.use
    factor, ranks, certain = done.factor, completion.grid(value), completion.grid(saturated).sum(dim=1)
    if reward is not None and bool((unneeded := use == NOT_NEEDED).any()):
        there = unneeded.to(chosen.device)
        factor, certain = factor.masked_fill(unneeded, torch.nan), certain.masked_fill(there, -1)
        ranks = ranks.masked_fill(there[:, None], torch.nan)
    return Info(
        step=completion.view.step,
        rows=rows,
        candidate=completion.tokens.masked_fill(masked & ~completion.computed, -1),
        value=ranks,
        chosen=chosen,
        unscaled=unscaled,
        masked_again=done.masked_again,
        edited=done.edited,
        factor=factor,
        reward_raw=unknown if reward is None else reward.raw,
        reward_normalised=unknown if reward is None else reward.normalised,
        reward_use=use,
        ties=ties,
        saturated=certain,
        inexact=inexact,
        near_ties=torch.maximum(near, done.near),
        near_tokens=near_tokens.sum(dim=1),
        forwards=done.forwards.cpu(),
        computed_columns=done.computed_columns.cpu(),
        calls=done.calls,
        logits_dtype=str(completion.view.logits.dtype).removeprefix("torch."),
    )
