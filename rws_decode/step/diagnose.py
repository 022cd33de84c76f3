"""What the trace keeps of a step: what it did, what factor 1 would have done, ties, and what rounding can change."""

from __future__ import annotations

import torch

from rws_decode.canvas.end_of_text import Ends
from rws_decode.settings import Options
from rws_decode.step import rounding
from rws_decode.step.completion import Done
from rws_decode.step.select import cut, dtype_of, rank, select_deferring, select_top
from rws_decode.strategies.protocol import OrderStrategy, Strategy, abilities_of
from rws_decode.trace.data import NOT_NEEDED
from rws_decode.trace.record import Info


def diagnose(done: Done, strategy: Strategy, options: Options, ends: Ends, *, asked: bool) -> Info:
    """Return the step's row of the trace: NaN and -1 for what is not known. It changes nothing.

    asked: whether the reward was asked at the step.
    """
    choice, reward = done.choice, done.reward
    completion, scale, (exact, confidence, _, deferred), value, chosen, ties = choice
    eligible, odds, ordered = completion.block, options.ranking == "log-odds", isinstance(strategy, OrderStrategy)
    dtype = dtype_of(options.precision, completion.published)
    # What the scale, or the strategy's own order, changes: confidence at factor 1 would commit these.
    unscaled, plain = chosen, choice.ranked
    if scaled := not bool((scale == 1).all()):
        plain = rank(completion, torch.ones_like(scale), options, ends)
    if scaled or ordered:
        unscaled = cut(completion, plain, plain.value, options, ends).chosen
    inexact = torch.zeros_like(ties, dtype=torch.bool)
    if confidence is not exact and not ordered:
        best = select_deferring(select_top, completion.grid(exact), eligible, deferred, choice.ranked.k)
        inexact = (best.chosen != chosen).any(dim=1)
    # What logits that are off by their error would change.
    if isinstance(strategy, OrderStrategy):
        reach = abilities_of(strategy).sensitivity * completion.error * scale
        low, high = value - reach, value + reach
    else:
        low, high = rounding.value_range(exact, completion.published, completion.error, scale, options.ranking, dtype)
    near = rounding.near_ties(completion.grid(low), completion.grid(high), eligible, chosen, deferred)
    near = near.clamp(min=completion.commits.uncertain(low, high, odds, scale, completion.error))
    saturated = rounding.saturated(exact, dtype) if ordered or odds else value == 1
    # Count the near-equal candidates that can change this step's result: those that are committed, and those that
    # move other positions. A reward reads every candidate, a drawn or deferred one changes the ranking, and a look
    # fills some in.
    moving = options.sampling_temperature > 0 or ends.defers or abilities_of(strategy).hypotheses > 0
    near_tokens = completion.unsure if asked else completion.unsure & (eligible if moving else chosen)

    masked, rows = completion.view.masked[completion.rows], completion.rows.cpu()
    unknown = torch.full((len(rows),), torch.nan, dtype=torch.float64)
    use = torch.zeros(len(rows), dtype=torch.int8) if reward is None else reward.use
    unneeded = use == NOT_NEEDED
    there = unneeded.to(chosen.device)
    return Info(
        step=completion.view.step,
        rows=rows,
        candidate=completion.tokens.masked_fill(masked & ~completion.computed, -1),
        value=completion.grid(value).masked_fill(there[:, None], torch.nan),
        chosen=chosen,
        unscaled=unscaled,
        masked_again=done.masked_again,
        edited=done.edited,
        factor=done.factor.masked_fill(unneeded, torch.nan),
        reward_raw=unknown if reward is None else reward.raw,
        reward_normalised=unknown if reward is None else reward.normalised,
        reward_use=use,
        ties=ties,
        saturated=completion.grid(saturated).sum(dim=1).masked_fill(there, -1),
        inexact=inexact,
        near_ties=torch.maximum(near, done.near),
        near_tokens=near_tokens.sum(dim=1),
        forwards=done.forwards.cpu(),
        computed_columns=done.computed_columns.cpu(),
        calls=done.calls,
        logits_dtype=str(completion.view.logits.dtype).removeprefix("torch."),
    )
