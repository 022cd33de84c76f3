"""Diagnose each step for a full record: ties, effects of rounding, and the commits that factor 1 would make."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import torch
from torch import Tensor

from rws_decode.canvas.end_of_text import Ends
from rws_decode.settings import Options
from rws_decode.step import rounding
from rws_decode.step.completion import Choice, Scheduled
from rws_decode.step.select import cut, dtype_of, rank, select_deferring, select_top
from rws_decode.step.step import Done


class Diagnosis(NamedTuple):
    """What a full record says of a step beside its commits: value and unscaled, [b, n], the rest [b], as in a trace."""

    value: Tensor
    unscaled: Tensor
    ties: Tensor
    saturated: Tensor
    inexact: Tensor
    near_ties: Tensor
    near_tokens: Tensor


def diagnosis(options: Options, ends: Ends, done: Done) -> Diagnosis:
    """Return what the trace says of a step, or of several joined ones; it changes nothing."""
    choice = done.choice
    completion, scale, (exact, _, k, deferred), value, chosen, ties, sensitivity = choice
    eligible, odds, ordered = completion.block, options.ranking == "log-odds", sensitivity is not None
    dtype = dtype_of(options.precision, done.dtype)
    # What the scale, or the strategy's own order, changes: confidence at factor 1 would commit these.
    unscaled, plain = chosen, choice.ranked
    if scaled := _scaled(done):
        plain = rank(completion, torch.ones_like(scale), options, ends)
    if scaled or ordered:
        unscaled = cut(completion, plain, plain.value, options, ends).chosen
    inexact = torch.zeros_like(ties, dtype=torch.bool)
    if not ordered and not _exact(options, done):
        best = select_deferring(select_top, completion.grid(exact), eligible, deferred, k)
        inexact = (best.chosen != chosen).any(dim=1)
    # What logits that are off by their error would change.
    error = completion.error
    low, high = ends_of_values = rounding.value_range(exact, completion.published, error, scale, options.ranking, dtype)
    if sensitivity is not None:
        reach = sensitivity * error * scale
        low, high = value - reach, value + reach
    near = rounding.near_ties(completion.grid(low), completion.grid(high), eligible, chosen, deferred)
    near = near.clamp(min=completion.commits.uncertain(*ends_of_values, odds, scale, error))
    saturated = rounding.saturated(exact, dtype) if ordered or odds else value == 1
    # Count the near-equal candidates that can change this step's result: those that are committed, and those that
    # move other positions. A reward reads every candidate, a sampled or deferred one changes the ranking, and a
    # look fills some in.
    moving = options.sampling_temperature > 0 or ends.defers or completion.view.look is not None
    unsure = completion.unsure
    if done.reward is None:
        unsure = unsure & (eligible if moving else chosen)
    certain = completion.grid(saturated).sum(dim=1)
    return Diagnosis(completion.grid(value), unscaled, ties, certain, inexact, near, unsure.sum(dim=1))


def slim(done: Done, options: Options | None) -> tuple[Done, float]:
    """Return a step without the logits that its diagnosis does not read, and the bytes of those that it does.

    options: None where it is not diagnosed. A strategy that counts is asked again: its steps do not wait (inf bytes).
    """
    completion = done.choice.completion
    if options is not None and not isinstance(completion.commits, Scheduled):
        return done, torch.inf
    nothing: Any = None
    logits, published, size = completion.seen, nothing, 0
    off = None if options is None else logits.error
    if options is not None and (_scaled(done) or not _exact(options, done)):
        published, size = completion.published, logits.logits.numel() * logits.logits.element_size()
    logits, view = logits._replace(logits=nothing, published=nothing, off=off), completion.view._replace(logits=nothing)
    completion = completion._replace(seen=logits, view=view, published=published)
    return done._replace(choice=done.choice._replace(completion=completion)), size


def _scaled(done: Done) -> bool:
    return any(factor != 1 for factor in done.factor.tolist())


def _exact(options: Options, done: Done) -> bool:
    """Return whether positions are ranked by exact log-odds."""
    return options.ranking == "log-odds" and dtype_of(options.precision, done.dtype) == torch.float64


def kind(done: Done) -> tuple[bool, ...]:
    """Return what steps that are joined have in common."""
    if not isinstance(done.choice, Choice):
        return (done.reward is None,)
    completion, deferred = done.choice.completion, done.choice.ranked.deferred
    absent = (done.reward, completion.deferred, deferred, completion.published)
    return (*(each is None for each in absent), done.choice.sensitivity is None)


def joined(steps: Sequence[Done]) -> Done:
    """Return steps of one kind as one step of all their rows: for small tensors it takes as long to diagnose."""
    whole = steps[0] if len(steps) == 1 else _cat(steps)
    if len(steps) == 1 or not isinstance(whole.choice, Choice):
        return whole
    parts = [step.choice.completion for step in steps]
    begins = list(accumulate([len(step.rows) for step in steps[:-1]], initial=0))
    row = torch.cat([part.row + begin for part, begin in zip(parts, begins, strict=True)])
    rows = torch.cat([part.seen.row + begin for part, begin in zip(parts, begins, strict=True)])
    k = torch.cat([torch.as_tensor(step.choice.ranked.k, device=row.device).expand(len(step.rows)) for step in steps])
    completion = whole.choice.completion
    completion = completion._replace(row=row, seen=completion.seen._replace(row=rows), commits=Scheduled(k))
    ranked = whole.choice.ranked._replace(k=k)
    return whole._replace(choice=whole.choice._replace(completion=completion, ranked=ranked))


def _cat(values: Sequence[Any]) -> Any:
    """Return tensors, and tuples of such, one after another; of all else, the first."""
    first: Any = values[0]
    if isinstance(first, Tensor):
        return torch.cat(list(values))
    return type(first)(*map(_cat, zip(*values, strict=True))) if hasattr(first, "_fields") else first
